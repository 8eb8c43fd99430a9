"""Several models that all run on each input, in one arena and one schedule."""

from __future__ import annotations

import ctypes
import json
import shutil
import wave
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

import mote
from mote.base.errors import BudgetError, MoteError
from mote.bench.execute import reference
from mote.compiler.several import CompiledModels
from mote.ir.graph.tensor import Array
from mote.ui.cli import main
from tests.compiler.emit.c.test_project import FLAGS, compiler_or_skip, run
from tests.helpers.network import Net
from tests.helpers.support import needs_litert, soaked
from tests.ir.ops.control.test_state import WAKE_WORDS, sounds, wake_word

INPUT = (1, 6, 5, 3)
QUANT = (0.05, -7)
SPOKEN = {"alexa": "Alexa", "hey_jarvis": "Hey Jarvis", "hey_mycroft": "Hey Mycroft", "okay_nabu": "Okay Nabu"}
RATE = 16_000


def net(path: Path, seed: int, *shape: int, scale: float = QUANT[0]) -> Path:
    """A model of a few layers: the larger the seed, the larger its arena."""
    made = Net(seed)
    x = made.input(*(shape or INPUT), quant=(scale, QUANT[1]))
    y = made.fully_connected(made.mean(made.conv(made.conv(x, 4 * seed + 4), 8)), 5)
    path.write_bytes(made.finish(y))
    return path


@pytest.fixture
def nets(tmp_path: Path) -> list[Path]:
    return [net(tmp_path / f"{name}.tflite", seed) for seed, name in enumerate(("small", "medium", "large"))]


class Joint:
    """The functions of `mote_models.c`, compiled for this computer."""

    def __init__(self, several: CompiledModels, folder: Path) -> None:
        several.write(folder)
        run([compiler_or_skip("gcc"), *FLAGS, "-shared", "-fPIC", "mote_models.c", "-o", "models.so"], folder)
        self.library = ctypes.CDLL(str(folder / "models.so"))
        self.models = several.models
        for name in ("mote_models_input", *(f"{m.name}_output" for m in self.models)):
            getattr(self.library, name).restype = ctypes.POINTER(ctypes.c_int8)
        assert not self.library.mote_models_input(), "a pointer before init"
        assert self.call("step") == self.call("run") == 1, "MOTE_NOT_READY"
        assert self.call("init") == 0

    def call(self, function: str) -> int:
        return int(getattr(self.library, f"mote_models_{function}")())

    def feed(self, values: Array) -> None:
        data = values.astype(np.int8).tobytes()
        ctypes.memmove(self.library.mote_models_input(), data, len(data))

    def outputs(self) -> list[bytes]:
        """The outputs of every model, all of them after the run."""
        sizes = [m.plan.graph.tensors[m.plan.graph.outputs[0]].nbytes for m in self.models]
        pointers = [getattr(self.library, f"{m.name}_output")() for m in self.models]
        assert len({ctypes.addressof(p.contents) for p in pointers}) == len(pointers)
        return [ctypes.string_at(p, size) for p, size in zip(pointers, sizes, strict=True)]


def judged(several: CompiledModels, cases: Sequence[Array]) -> list[list[bytes]]:
    """The outputs of every model alone, by LiteRT, for each input."""
    oracles = [(reference.litert(m.data), m.source.inputs[0], m.source.outputs[0]) for m in several.models]
    return [[_answer(oracle({read: case}), written) for oracle, read, written in oracles] for case in cases]


def _answer(values: Mapping[int, Array] | None, tensor: int) -> bytes:
    assert values is not None
    return values[tensor].tobytes()


@needs_litert
@pytest.mark.parametrize("form", soaked(["usual", "least", "single"], ["usual"]))
def test_all_models_run_on_each_input(form: str, nets: list[Path], tmp_path: Path) -> None:
    how = {"least_ram": form == "least", "single_file": form == "single"}
    several = mote.compile_several(nets, running="together", target="cortex-m4", **how)
    joint, rng = Joint(several, tmp_path / "c"), np.random.default_rng(3)
    cases = [rng.integers(-128, 128, INPUT).astype(np.int8) for _ in range(4)]
    assert several.arena == max(m.plan.arena for m in several.models)
    assert several.edges == INPUT[1] * INPUT[2] * INPUT[3] + 6 + 3 * 8
    for case, want in zip(cases, judged(several, cases), strict=True):
        joint.feed(case)
        assert joint.call("run") == 0 and joint.outputs() == want
        steps = 1
        while (status := joint.call("step")) == 4:  # MOTE_BUSY: the input is still there
            steps += 1
        assert status == 0 and joint.outputs() == want
        assert steps == sum(len(m.plan.steps) for m in several.models), "a step is one step of one model"
    assert len({out for want in judged(several, cases) for out in want}) == 3 * len(cases), "these outputs say nothing"


def test_a_model_that_waits_does_not_stop_the_others(tmp_path: Path) -> None:
    """Streams with windows of different heights: each status says which are full, and those have outputs."""
    heights = {"low": 5, "tall": 8}
    models = [window(tmp_path / f"{name}.tflite", height) for name, height in heights.items()]
    several = mote.compile_several(models, running="together", stream=1)
    assert [m.plan.graph.warm_up for m in several.models] == list(heights.values())
    joint = Joint(several, tmp_path / "c")
    assert joint.library.low_status() == joint.library.tall_status() == 1, "MOTE_NOT_READY"
    for _ in range(2):
        ends = []
        for _ in range(9):
            joint.feed(np.full((1, 1, 4, 3), 40))
            ends.append((joint.call("run"), joint.library.low_status(), joint.library.tall_status()))
        assert ends == [(5, 5, 5)] * 4 + [(5, 0, 5)] * 3 + [(0, 0, 0)] * 2, "MOTE_WAITING, then MOTE_OK"
        assert joint.call("reset") == 0


def window(path: Path, height: int) -> Path:
    """A model over a window of so many rows."""
    made = Net(2)
    rows = made.conv(made.input(1, height, 4, 3, quant=QUANT), 4, (3, 3), padding="VALID")
    path.write_bytes(made.finish(made.flat(made.conv(rows, 5, (height - 2, 2), padding="VALID"))))
    return path


@needs_litert
def test_wake_words_listen_at_once(tmp_path: Path) -> None:
    """Two streams, each with a state of its own, after a reset too."""
    several = mote.compile_several([wake_word(name) for name in ("hey_jarvis", "alexa")], running="together")
    cases = sounds(several.models[0], 24)
    joint, want = Joint(several, tmp_path), judged(several, cases)
    for _ in range(2):
        heard = []
        for case in cases:
            joint.feed(case)
            assert joint.call("run") == 0
            heard.append(joint.outputs())
        assert heard == want
        assert joint.call("reset") == 0


def speech(folder: Path) -> Array:
    """Four wake words, one after another, spoken by a synthesizer."""
    espeak, file = compiler_or_skip("espeak-ng"), folder / "words.wav"
    parts = [np.zeros(RATE // 2, np.int16)]
    for text in SPOKEN.values():
        run([espeak, "-v", "en+f3", "-s", "160", "-p", "60", "-w", str(file), text], folder)
        with wave.open(str(file)) as sound:
            rate, data = sound.getframerate(), sound.readframes(sound.getnframes())
        samples = np.frombuffer(data, np.int16) * 0.7
        times = np.arange(int(samples.size * RATE / rate)) * rate / RATE
        parts += [np.interp(times, np.arange(samples.size), samples).astype(np.int16), np.zeros(RATE, np.int16)]
    return np.concatenate(parts)


def frames(samples: Array) -> list[Array]:
    """The features of the wake words' front end, three at a time, quantized."""
    front = pytest.importorskip("pymicro_features").MicroFrontend()
    data, rows = samples.tobytes(), []
    while len(data) >= 2 * RATE // 100:
        step = front.process_samples(data[: 2 * RATE // 100])
        data = data[2 * step.samples_read :]
        rows += [step.features] if step.features else []
    quantized = np.clip(np.round(np.array(rows) / 0.10196078568696976 - 128), -128, 127).astype(np.int8)
    return [quantized[None, i : i + 3] for i in range(0, len(rows) - 2, 3)]


@pytest.mark.slow
@needs_litert
@pytest.mark.parametrize("optimize", ["speed", "size"])
def test_every_wake_word_is_heard_in_speech(optimize: str, tmp_path: Path) -> None:
    """Four models over one stream of speech: bit for bit as each alone in LiteRT, and each one hears its own word."""
    models = [wake_word(name) for name in WAKE_WORDS]
    several = mote.compile_several(models, running="together", target="cortex-m4", optimize=optimize)
    cases = frames(speech(tmp_path))
    joint = Joint(several, tmp_path / "c")
    heard = []
    for case in cases:
        joint.feed(case)
        assert joint.call("run") == 0
        heard.append(joint.outputs())
    assert heard == judged(several, cases)
    for m, scores in zip(several.models, zip(*heard, strict=True), strict=True):
        loudest = max(range(len(scores)), key=lambda i: scores[i])
        assert scores[loudest][0] > 128, f"{m.name} is not heard"
        place = list(SPOKEN).index(m.name)
        assert len(cases) * place / 4 < loudest < len(cases) * (place + 1.2) / 4, f"{m.name} hears another word"


@pytest.mark.slow
def test_the_example_and_the_self_test(nets: list[Path], tmp_path: Path) -> None:
    cc = compiler_or_skip("gcc")
    several = mote.compile_several(nets[:2], running="together", target="cortex-m4")
    several.write(tmp_path / "c")
    run([cc, *FLAGS, "-I.", "example/main.c", "mote_models.c", "-o", "example/main"], tmp_path / "c")
    assert run(["example/main"], tmp_path / "c").splitlines() == list(several.project.example.lines)
    assert len(several.project.example.lines) % 2 == 0
    test = ["-DMOTE_SELFTEST", "selftest/selftest.c", "mote_models.c", "-o", "selftest/selftest"]
    run([cc, *FLAGS, "-I.", *test], tmp_path / "c")
    assert run(["selftest/selftest"], tmp_path / "c") == "small: ok\nmedium: ok\n" * 2


def test_inputs_must_be_the_same(nets: list[Path], tmp_path: Path) -> None:
    wide = net(tmp_path / "wide.tflite", 1, 1, 6, 6, 3)
    louder = net(tmp_path / "louder.tflite", 1, scale=0.1)
    for other in (wide, louder):
        with pytest.raises(MoteError, match=f"'{other.stem}' takes int8 .* but 'small' .* cannot have the same input"):
            mote.compile_several([nets[0], other], running="together")
    with pytest.raises(MoteError, match="take the input whole"):
        mote.compile_several(nets, running="together", input="rows")
    with pytest.raises(MoteError, match="not one of apart, turns, together"):
        mote.compile_several(nets, running="at once")


def test_input_and_outputs_are_counted(nets: list[Path]) -> None:
    """A budget holds what all need together; each model spends what the others leave."""
    several = mote.compile_several(nets, running="together", least_ram=True)
    need = several.arena + several.static + several.edges
    mote.compile_several(nets, running="together", ram=need)
    with pytest.raises(BudgetError, match="of RAM"):
        mote.compile_several(nets, running="together", ram=need - 1)


@pytest.mark.slow
def test_command(nets: list[Path], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    command = ["compile", *map(str, nets[:2]), "--run-together", "-t", "cortex-m4", "-o", str(tmp_path / "c")]
    assert main([*command, "--json"]) == 0
    described = json.loads(capsys.readouterr().out)
    assert described["running"] == "together" and described["ram"]["edges"] == 112
    if shutil.which("arm-none-eabi-gcc"):
        assert described["flash"]["code"] < described["flash"]["code_apart"]


def test_the_report_says_what_all_need_together(
    nets: list[Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["compile", *map(str, nets), "--run-together", "-o", str(tmp_path / "c")]) == 0
    assert "shared; counters and states" in (shown := capsys.readouterr().out)
    assert "input and outputs 120 bytes" in shown
