"""Preprocessing compiled before a model: pushed samples give what NumPy and the reference give, in clips, overlapping
windows and streams."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import MoteError
from mote.bench.evaluation.verify import verify
from mote.bench.execute.host_library import HostModel
from mote.compiler.compiled import Compiled
from mote.compiler.kernels import library
from mote.compiler.line import compile
from mote.compiler.subject import model_steps
from mote.frontends.data.dataset import dataset
from mote.frontends.features.attaching import attached
from mote.frontends.features.pipeline import preprocessing
from mote.frontends.features.steps import STEPS
from mote.frontends.tflite.writer import Writer
from mote.ir.graph.tensor import Array
from mote.ir.ops.control.custom import DEFINITIONS
from mote.optimize.compress.quantize.post_training import post_training
from mote.ui.api.register import load_plugins
from tests.helpers.network import Net
from tests.helpers.support import emulated, examples, needs_litert

PLUGIN = str(Path(__file__).parents[3] / "examples" / "custom_step" / "plugin.py")
STEPS_OF_LEVELS = "audio,frame-level(64),mean(800,30),std(900,20)"
OK, WAITING = 0, 5


@pytest.fixture(autouse=True, scope="module")
def plugin() -> Iterator[None]:
    """The step of the example, for these tests only."""
    load_plugins([PLUGIN])
    yield
    DEFINITIONS.clear()
    library._added.clear()
    del STEPS["frame-level"]


def windowed(rows: int = 6) -> bytes:
    """A network over windows of two features: a convolution in time, and a dense layer."""
    net = Net(1)
    x = net.conv(net.input(1, rows, 2, 1), 4, kernel=(3, 2), padding="VALID")
    return net.finish(net.fully_connected(net.flat(x), 3))


def sound(samples: int, channels: int = 1, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    return rng.normal(0, 2500, (samples, channels)).clip(-32768, 32767).astype(np.int16)


def pushed(compiled: Compiled, samples: Array, sizes: list[int]) -> list[Array]:
    """The outputs after each call of push that ended an inference, of calls with so many samples in turn."""
    host, graph = HostModel(compiled), compiled.plan.graph
    library_ = host.begin()
    push, output = (getattr(library_, f"{compiled.name}_{f}") for f in ("push", "output"))
    push.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    output.restype = ctypes.POINTER(ctypes.c_int8)
    assert getattr(library_, f"{compiled.name}_init")() == OK
    made, at, turn = [], 0, 0
    while at < len(samples):
        chunk = np.ascontiguousarray(samples[at : at + sizes[turn % len(sizes)]])
        status = push(chunk.ctypes.data, len(chunk))
        assert status in (OK, WAITING)
        if status == OK:
            size = graph.tensors[graph.outputs[0]].size
            made.append(np.array(output()[:size], np.int8))
        at, turn = at + len(chunk), turn + 1
    return made


def expected(compiled: Compiled, samples: Array) -> list[Array]:
    """The outputs of NumPy for each inference, from the one on that has all of its window."""
    graph = compiled.plan.graph
    front = compiled.prepared.front
    assert front is not None
    states: dict[int, Array] = {}
    results = []
    for n in range(len(samples) // front.samples):
        piece = samples[n * front.samples : (n + 1) * front.samples]
        values = graph.evaluate({**states, front.raw.id: piece.reshape(front.raw.shape)})
        states = graph.carried(values)
        results.append(values[graph.outputs[0]].reshape(-1))
    return results[max(graph.warm_up - 1, 0) :]


@pytest.mark.quick_cases(1)
@needs_litert
@pytest.mark.parametrize("target", ["host", "cortex-m4"])
@pytest.mark.parametrize(
    "options",
    [
        {"preprocess": STEPS_OF_LEVELS},
        {"preprocess": STEPS_OF_LEVELS.replace("audio", "audio(channels=2)"), "instances": True},
        {"preprocess": STEPS_OF_LEVELS + ",slide=2"},
        {"preprocess": STEPS_OF_LEVELS, "stream": 1, "caller_arena": True},
    ],
    ids=["clip", "two channels", "slide", "stream"],
)
def test_all_tensors(target: str, options: dict[str, object]) -> None:
    compiled = compile(windowed(), target="host" if target == "host" else emulated(target), **options)
    result = verify(compiled, 2, sanitize=target == "host")
    assert result.exact and "NumPy preprocessing, then LiteRT" in result.reference, result.mismatches


@settings(max_examples=examples(25), deadline=None)
@given(
    st.sampled_from([{}, {"stream": 1}, {"preprocess": STEPS_OF_LEVELS + ",slide=2"}]),
    st.lists(st.integers(1, 130), min_size=1, max_size=6),
)
def test_any_number_of_samples(options: dict[str, object], sizes: list[int]) -> None:
    """Inferences end where their last sample comes, however samples are handed over; fewer than an inference takes."""
    compiled = compile(windowed(), **{"target": "host", "preprocess": STEPS_OF_LEVELS, **options})
    samples = sound(1700)
    front = compiled.prepared.front
    assert front is not None
    most = [min(size, front.samples) for size in sizes]
    made, wanted = pushed(compiled, samples, most), expected(compiled, samples)
    assert len(made) == len(wanted) > 0
    np.testing.assert_array_equal(made, wanted)


def test_several_inferences_in_a_call() -> None:
    """The outputs are those of the last one that has ended."""
    compiled = compile(windowed(), target="host", preprocess=STEPS_OF_LEVELS)
    samples = sound(6 * 64 * 4 + 17)
    np.testing.assert_array_equal(pushed(compiled, samples, [len(samples)]), expected(compiled, samples)[-1:])


def test_a_clip_takes_little_memory() -> None:
    compiled = compile(windowed(), target="host", preprocess=STEPS_OF_LEVELS)
    assert compiled.plan.arena < 6 * 64 * 2


def test_the_length_of_a_clip() -> None:
    compiled = compile(windowed(), target="host", preprocess=STEPS_OF_LEVELS.replace("audio", "audio,length=384"))
    assert compiled.project.options.samples == 384
    samples = sound(384 * 3)
    np.testing.assert_array_equal(pushed(compiled, samples, [100]), expected(compiled, samples))


@pytest.mark.parametrize(
    ("steps", "rate"),
    [
        ("audio(8000),mfcc(frame=128,hop=64,filters=8,count=2)", 8000),
        ("mfcc(frame=128,hop=64,filters=8,count=2,rate=8000)", 8000),
        ("decimate(2,taps=1),mfcc(frame=128,hop=64,filters=8,count=2,rate=8000)", 16000),
        ("frame-level(64)", 16000),
    ],
)
def test_samples_a_second(steps: str, rate: int) -> None:
    """The sensor's rate, else the one that a step states of the samples that it gets."""
    front = attached(compile(windowed(), target="host").source, steps)
    assert (preprocessing(steps).rate, front.sensor.rate) == (rate, rate)
    assert front.period == front.samples / rate


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ("scale=2", "does not say what is measured"),
        ("audio,shape(7)", "'shape\\(7\\)' runs in Python only"),
        ("audio(channels=5)", "its steps give samples of 5, of which the model's 1x6x2x1 cannot be made"),
        ("audio,length=500,frame-level(64)", "other steps or the clip's length cut rows of 4"),
        ("audio,length=320,frame-level(64)", "gives 5 rows of features, and the model takes 6"),
        ("audio,frame-level(64),slide=7", "slide=7: the model's input of 1x6x2x1 has 6 rows"),
        ("audio,scale=2,frame-level(64)", "comes after scale"),
        ("audio(rate=0)", "rate=0 cannot be"),
        ("motion(range=0)", "a range of 0 cannot be"),
        ("audio,slide=0", "slide=0 cannot be"),
    ],
)
def test_steps_that_cannot_be_compiled(steps: str, said: str) -> None:
    with pytest.raises(MoteError, match=said) as error:
        compile(windowed(), target="host", preprocess=steps)
    assert "preprocess" in error.value.where


def float_model() -> bytes:
    net = Net(1, dtype="float32")
    x = net.conv(net.input(1, 6, 2, 1), 4, kernel=(3, 2), padding="VALID")
    return net.finish(net.fully_connected(net.flat(x), 3))


def test_steps_in_the_metadata(tmp_path: Path) -> None:
    """What calibration data was made by is stored by the quantizer, compiled, and can be left out."""
    sounds = (np.stack([sound(384, seed=i)[:, 0] for i in range(8)]) / 32768).astype(np.float32)
    data = dataset(sounds, preprocess=STEPS_OF_LEVELS)
    assert data.inputs["x"].shape == (8, 6, 2) if "x" in data.inputs else True
    path = tmp_path / "levels.tflite"
    path.write_bytes(post_training(float_model(), data).data)
    assert model_steps(path) == STEPS_OF_LEVELS
    compiled = compile(path, target="host")
    assert compiled.project.options.samples == 384 and compiled.settings.preprocess == STEPS_OF_LEVELS
    features = compile(path, target="host", preprocess="none")
    assert features.plan.graph.tensors[features.plan.graph.inputs[0]].shape == (1, 6, 2, 1)


def test_features_of_data_are_those_before_the_model() -> None:
    """Data in Python and compiled preprocessing give the same input, bit for bit."""
    compiled = compile(windowed(), target="host", preprocess=STEPS_OF_LEVELS)
    front = compiled.prepared.front
    assert front is not None
    samples = sound(384)
    data = dataset(samples[None, :, 0] / np.float32(32768), preprocess=STEPS_OF_LEVELS, several=False)
    (case,) = data.cases(compiled.source)
    (features,) = case.values()
    made = front.graph.evaluate({front.raw.id: samples.reshape(front.raw.shape)})[front.graph.outputs[0]]
    np.testing.assert_array_equal(features.reshape(-1), made.reshape(-1))


def test_metadata_names_no_code(tmp_path: Path) -> None:
    w = Writer("net")
    x = w.input("x", (1, 4), "int8", 0.1, 0)
    y = w.tensor("y", (1, 4), "int8", 0.1, 0)
    w.op("RELU", [x], [y])
    w.output(y)
    w.note("MOTE_PREPROCESS", b"evil.py:run")
    compiled = compile(w.finish(), target="host")
    assert not compiled.settings.preprocess and any("no list of steps" in text for text in compiled.warnings)
