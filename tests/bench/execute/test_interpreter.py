"""`mote.Interpreter`: images on this computer, against the reference, with the calls of LiteRT's interpreter."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from mote import MoteError
from mote.bench.execute.host_runtime import RuntimeStatus
from mote.bench.execute.interpreter import Interpreter
from mote.bench.execute.stimuli import stimuli
from mote.compiler.emit.image.kernels import ANY
from mote.compiler.emit.image.sources import runtime_files
from mote.compiler.packer import pack
from mote.compiler.settings import make_settings
from mote.ir.graph.tensor import Array
from tests.compiler.emit.image.image_models import DIGITS, MODES, image
from tests.helpers.network import Net
from tests.helpers.support import needs_litert

KEYWORDS = str(Path(DIGITS).with_name("keywords.tflite"))


def loaded(mode: str) -> Interpreter:
    return Interpreter.of(image(mode).data, image(mode).records, mode)


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("mode", MODES)
def test_every_mode_computes_what_the_reference_does(mode: str) -> None:
    """Rows, running sums, rings, states, control flow, several memories, rows that are pushed."""
    found, graph = loaded(mode), image(mode).plan.graph
    states: dict[int, Array] = {}
    compared = 0
    for case in stimuli(graph, 8, seed=1):
        values = graph.evaluate({**states, **case})
        states = graph.carried(values)
        for details, t in zip(found.get_input_details(), graph.inputs, strict=True):
            found.set_tensor(details["index"], case[t])
        found.invoke()
        for details, t in zip(found.get_output_details(), graph.outputs, strict=True):
            if not found.waiting:
                got = found.get_tensor(details["index"])
                np.testing.assert_array_equal(got, values[t].reshape(got.shape))
                compared += 1
    assert compared > 4


@needs_litert
@pytest.mark.parametrize("path", [DIGITS, KEYWORDS])
def test_a_model_file_gives_what_litert_gives(path: str) -> None:
    from ai_edge_litert.interpreter import Interpreter as LiteRT
    from ai_edge_litert.interpreter import OpResolverType

    ours = Interpreter(path)
    theirs = LiteRT(path, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    for found in (ours, theirs):
        found.allocate_tensors()
    (x,), (want_x,) = ours.get_input_details(), theirs.get_input_details()
    (y,), (want_y,) = ours.get_output_details(), theirs.get_output_details()
    for mine, wanted in ((x, want_x), (y, want_y)):
        assert mine["name"] == wanted["name"] and mine["dtype"] == wanted["dtype"]
        assert mine["quantization"] == wanted["quantization"]
        np.testing.assert_array_equal(mine["shape"], wanted["shape"])
        np.testing.assert_array_equal(
            mine["quantization_parameters"]["scales"], wanted["quantization_parameters"]["scales"]
        )
    rng = np.random.default_rng(0)
    for _ in range(10):
        value = rng.integers(-128, 128, x["shape"]).astype(x["dtype"])
        for found, details in ((ours, x), (theirs, want_x)):
            found.set_tensor(details["index"], value)
            found.invoke()
        np.testing.assert_array_equal(ours.get_tensor(y["index"]), theirs.get_tensor(want_y["index"]))
        ours.invoke()  # the inputs stay as they were given
        np.testing.assert_array_equal(ours.get_tensor(y["index"]), theirs.get_tensor(want_y["index"]))


@needs_litert
def test_an_input_is_resized_as_in_litert() -> None:
    from ai_edge_litert.interpreter import Interpreter as LiteRT
    from ai_edge_litert.interpreter import OpResolverType

    net = Net()
    data = net.finish(net.conv(net.input(1, 8, 8, 3), 4, stride=2))
    theirs = LiteRT(model_content=data, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    found = Interpreter(model_content=data), theirs
    value = np.random.default_rng(0).integers(-128, 128, (2, 10, 6, 3), np.int8)
    results = []
    for one in found:
        (x,), (y,) = one.get_input_details(), one.get_output_details()
        one.resize_tensor_input(x["index"], value.shape)
        one.allocate_tensors()
        one.set_tensor(x["index"], value)
        one.invoke()
        results.append(one.get_tensor(y["index"]))
    np.testing.assert_array_equal(*results)
    ours = found[0]
    ours.resize_tensor_input(0, (1, 8, 8, 3))
    with pytest.raises(MoteError, match=r"call allocate_tensors\(\)"):
        ours.invoke()
    ours.allocate_tensors()
    assert ours.get_output_details()[0]["shape"].tolist() == [1, 4, 4, 4]
    with pytest.raises(MoteError, match="an image has the shapes that it was packed for"):
        loaded("whole").resize_tensor_input(0, (1, 2))


def test_an_image_of_the_stock_runtime_is_loaded_from_a_file(tmp_path: Path) -> None:
    made = pack(DIGITS, target="cortex-m4")
    made.write(tmp_path / "digits.mote")
    (x,) = Interpreter(DIGITS).get_input_details()
    value = np.arange(np.prod(x["shape"])).reshape(x["shape"]).astype(np.int8)
    outputs = []
    for given in (tmp_path / "digits.mote", made.data, DIGITS):
        found = Interpreter(given)
        run = found.get_signature_runner()
        outputs.append(run(**{x["name"]: value}))
    (name,) = Interpreter(made.data).get_signature_list()["serving_default"]["outputs"]
    np.testing.assert_array_equal(outputs[0][name], outputs[2][name])
    np.testing.assert_array_equal(outputs[1][name], outputs[2][name])


def test_pieces_of_an_inference_are_steps() -> None:
    found, whole = loaded("steps"), loaded("whole")
    value = np.full(found.get_input_details()[0]["shape"], 7, np.int8)
    steps = 1
    for one in (found, whole):
        one.set_tensor(0, value)
    whole.invoke()
    while found.step():
        steps += 1
    assert steps > len(image("steps").plan.works)
    np.testing.assert_array_equal(found.get_tensor(1), whole.get_tensor(1))


def test_rows_are_pushed_as_they_come() -> None:
    found, whole = loaded("pushed"), loaded("whole")
    value = np.random.default_rng(2).integers(-128, 128, found.get_input_details()[0]["shape"]).astype(np.int8)
    whole.set_tensor(0, value)
    whole.invoke()
    done = [found.push_rows(row) for row in value[0]]
    assert done[-1] and not any(done[:-1])
    np.testing.assert_array_equal(found.get_tensor(1), whole.get_tensor(1))
    with pytest.raises(MoteError, match="no number of rows"):
        found.push_rows(value.reshape(-1)[:3])
    with pytest.raises(MoteError, match="given whole"):
        whole.push_rows(value)


def test_states_are_saved_restored_and_forgotten() -> None:
    found, other = loaded("stream"), loaded("stream")
    cases = [case[image("stream").plan.graph.inputs[0]] for case in stimuli(image("stream").plan.graph, 10, seed=3)]
    for value in cases[:6]:
        found.set_tensor(0, value)
        found.invoke()
    other.restore(found.save())
    for value in cases[6:]:
        for one in (found, other):
            one.set_tensor(0, value)
            one.invoke()
        np.testing.assert_array_equal(found.get_tensor(1), other.get_tensor(1))
    with pytest.raises(MoteError):
        other.restore(b"\0" * len(found.save()))
    found.reset_all_variables()
    found.invoke()
    assert found.waiting


@pytest.mark.slow
def test_interpreters_run_at_once() -> None:
    graph = image("whole").plan.graph
    cases = [case[graph.inputs[0]] for case in stimuli(graph, 6, seed=4)]
    wrong: list[int] = []

    def work(value: Array) -> None:
        found = loaded("whole")
        want = graph.evaluate({graph.inputs[0]: value})[graph.outputs[0]]
        for _ in range(20):
            found.set_tensor(0, value)
            found.invoke()
            wrong.extend([1] if not np.array_equal(found.get_tensor(1), want) else [])

    threads = [threading.Thread(target=work, args=(value,)) for value in cases]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_what_is_wrong_is_said_in_words(tmp_path: Path) -> None:
    found = loaded("whole")
    with pytest.raises(MoteError, match=r"int16 .* the model takes int8"):
        found.set_tensor(0, np.zeros(found.get_input_details()[0]["shape"], np.int16))
    with pytest.raises(MoteError, match="index 5"):
        found.get_tensor(5)
    with pytest.raises(MoteError, match="packed already"):
        Interpreter(image("whole").data, target="host")
    with pytest.raises(MoteError, match="either"):
        Interpreter()
    damaged = bytearray(image("whole").data)
    damaged[700] ^= 1
    with pytest.raises(MoteError, match="damaged"):
        Interpreter(bytes(damaged))
    made = pack(DIGITS, make_settings("cortex-m4"), runtime=ANY)
    with pytest.raises(MoteError, match="the stock runtime has no kernel '"):
        Interpreter(made.data)


def test_statuses_are_those_of_the_header() -> None:
    header = runtime_files()["mote_runtime.h"]
    for status in RuntimeStatus:
        assert f"MOTE_{status.name} = {status.value}," in header
