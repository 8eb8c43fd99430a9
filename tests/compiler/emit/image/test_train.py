"""Images train in the runtime as their graphs do in NumPy: all bits of integers, and real numbers as C gives them."""

from __future__ import annotations

import ctypes
import math
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from mote import MoteError
from mote.bench.evaluation.images import load_image, verify_image
from mote.bench.measure.runner import bench
from mote.compiler.emit.image.format import Feature, TrainingRole
from mote.compiler.emit.image.kernels import ANY
from mote.compiler.emit.image.reader import read
from mote.compiler.emit.image.stock_kernels import minimal
from mote.compiler.lower.program import Form
from mote.compiler.packer import pack
from mote.compiler.passes.training.backward import training_graph
from mote.compiler.passes.training.integer_backward import IntegerSgd, integer_training_graph
from mote.compiler.passes.training.labelled import label_values
from mote.compiler.passes.training.loss import Loss
from mote.compiler.passes.training.optimizers import Adam, Sgd
from mote.compiler.settings import make_settings
from mote.deploy.runtime import runtime
from mote.deploy.update.sources import mac_files
from mote.hardware import targets
from mote.hardware.toolchain import Mode
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import StateRole
from mote.ui.cli import main
from tests.compiler.emit.c.test_weights import FLASH
from tests.compiler.emit.image.c_runtime import BAD_STATE, BUSY, OK, UNSUPPORTED, WAITING
from tests.compiler.emit.image.image_models import DIGITS
from tests.compiler.emit.image.trainer import Trainer
from tests.compiler.kernels.learned_layers import Layer, Learners
from tests.compiler.kernels.test_learned_operands import BIASES, TO_EVEN, WHOLE
from tests.compiler.passes.training.test_backward import cases, constants, network
from tests.compiler.passes.training.test_in_c import CURVE
from tests.compiler.passes.training.test_integer_backward import REGRESSION
from tests.frontends.features.postprocess.scored import streamed
from tests.helpers.support import emulated


def agree(made: Array, wanted: Array) -> None:
    """All bits of integers; C adds real numbers up in single precision."""
    bound = CURVE if wanted.dtype.kind == "f" else 0
    np.testing.assert_allclose(made, wanted, rtol=bound, atol=bound * float(np.abs(wanted).max(initial=0)))


def labels(*values: int) -> tuple[ctypes.Array[ctypes.c_int32], ctypes.c_size_t]:
    return (ctypes.c_int32 * len(values))(*values), ctypes.c_size_t(len(values))


def learns(trainer: Trainer, samples: Sequence[tuple[dict[int, Array], Array]]) -> None:
    """Samples one by one, with an inference between that learns nothing."""
    for number, (x, right) in enumerate(samples):
        if number == 2:
            before = trainer.interpreter.save()
            trainer.give(x)
            assert trainer.call("invoke") == OK and trainer.interpreter.save()[16:] == before[16:]
        trainer.give(x)
        if Loss.MEAN_SQUARED_ERROR in trainer.graph.name:
            raw = np.ascontiguousarray(right).tobytes()
            assert trainer.call("train_target", raw, ctypes.c_size_t(len(raw) - 4)) == BAD_STATE
            assert trainer.call("train_target", raw, ctypes.c_size_t(len(raw))) == OK
        else:
            assert trainer.call("set_labels", *labels(*right.tolist())) == OK and trainer.call("invoke") == OK
        for got, wanted in zip(
            trainer.outputs(), trainer.evaluated({**x, **label_values(trainer.graph, right)}), strict=True
        ):
            agree(got, wanted)
    for state, place, got in trainer.kept():
        agree(got, trainer.states[state.before])
        if place.role is StateRole.LOSS:
            assert trainer.loss == got[0]
    assert trainer.call("train_end") == OK


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("loss", [Loss.SOFTMAX_CROSS_ENTROPY, Loss.MEAN_SQUARED_ERROR])
def test_float_models_learn(loss: Loss) -> None:
    """All layers: a batch of three with a label each, or with what the outputs should be."""
    classes = loss is Loss.SOFTMAX_CROSS_ENTROPY
    model = network(softmax=classes)
    optimizer = Sgd(learning_rate=0.02, momentum=0.9) if classes else Adam(learning_rate=0.01, accumulate=2)
    trainer = Trainer.of(replace(training_graph(model, constants(model), loss, optimizer), name=loss))
    assert trainer.begin(optimizer.learning_rate) == OK
    learns(trainer, cases(model, classes, 6))


def test_int8_models_learn_numbers() -> None:
    """Targets are as many bytes as values."""
    model = REGRESSION.model()
    given, learned = REGRESSION.samples(model, 6), {i for op in model.ops for i in op.inputs[1:]}
    graph = integer_training_graph(model, learned, REGRESSION.loss, IntegerSgd(0.02), given)
    trainer = Trainer.of(replace(graph, name=REGRESSION.loss))
    assert trainer.begin(0.02) == OK
    learns(trainer, [(dict(x), target) for x, target in zip(given.inputs, given.labels, strict=True)])


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("layers", [(*BIASES, *WHOLE), TO_EVEN])
def test_layers_with_learned_operands(layers: Sequence[Layer]) -> None:
    """Int8 layers of every kind, whole and by rows, with biases and weights at the ends of their ranges."""
    learners = Learners(layers)
    graph, given = learners.graph(), [learners.case(i) for i in range(4)]
    wanted = streamed(graph, given)
    for options in ({"optimize": "speed"}, {"least_ram": True}):
        trainer = Trainer.of(graph, **options)
        forms = {i.form for i in trainer.program.instructions if i.kernel and "learned" in i.kernel.name}
        assert forms - {Form.EACH} == ({Form.WHOLE} if "optimize" in options else {Form.WHOLE, Form.ROW}), options
        for case, outputs in zip(given, wanted, strict=True):
            trainer.give(case)
            assert trainer.call("invoke") == OK
            for got, want in zip(trainer.outputs(), outputs, strict=True):
                np.testing.assert_array_equal(got, want)


def packed_digits(train: str) -> Trainer:
    image = pack(DIGITS, make_settings("host", train=train), runtime=ANY)
    return Trainer.loaded(image.plan.graph, image.program, image.data, image.records)


@pytest.mark.parametrize("train", ["last:rate=0.05", "prototype:classes=4", "bayes:classes=4"])
def test_quantized_models_learn(train: str) -> None:
    """Outputs, and all that is kept, are those of NumPy."""
    trainer, rng = packed_digits(train), np.random.default_rng(5)
    graph = trainer.graph
    (given,) = graph.inputs
    assert trainer.begin(0.05) == OK
    for number in range(7):
        x = {given: rng.integers(-128, 128, graph.tensors[given].shape).astype(np.int8)}
        trainer.give(x)
        right = np.array([number % 4], np.int32)
        assert trainer.call("train", 11) == trainer.call("train", -1) == BAD_STATE
        assert trainer.call("train", int(right[0])) == OK
        for got, wanted in zip(trainer.outputs(), trainer.evaluated({**x, **label_values(graph, right)}), strict=True):
            agree(got, wanted)
    for state, place, got in trainer.kept():
        agree(got, trainer.states[state.before])
        if place.role is StateRole.COUNT:
            assert trainer.call("learned_samples") == got[0] == 2, "of the third class"
    assert trainer.call("train_target", bytes(4), ctypes.c_size_t(4)) == UNSUPPORTED


def test_rows_are_learned_as_they_come() -> None:
    image = pack(DIGITS, make_settings("host", train="last", input="rows"), runtime=ANY)
    graph, rng = image.plan.graph, np.random.default_rng(1)
    trainer = Trainer.loaded(graph, image.program, image.data, image.records)
    for number in range(3):
        x = rng.integers(-128, 128, graph.tensors[graph.inputs[0]].shape).astype(np.int8)
        assert trainer.call("set_labels", *labels(number)) == OK
        assert trainer.call("push", x.tobytes(), ctypes.c_size_t(8)) == OK
        wanted = trainer.evaluated({graph.inputs[0]: x, **label_values(graph, np.array([number], np.int32))})
        np.testing.assert_array_equal(trainer.outputs()[0], wanted[0])
    assert trainer.call("train", 3) == WAITING, "there are no rows"
    for state, _, got in trainer.kept():
        np.testing.assert_array_equal(got, trainer.states[state.before])


def test_sessions() -> None:
    """What begins anew and what stays; calls at the wrong time; a rate that is too high."""
    model = network()
    trainer = Trainer.of(
        training_graph(model, constants(model), Loss.SOFTMAX_CROSS_ENTROPY, Sgd(learning_rate=0.02, momentum=0.9))
    )
    shipped = trainer.interpreter.save()[16:]
    ((x, right),) = cases(model, True, 1)
    for rate in (0.0, -1.0, math.inf, math.nan):
        assert trainer.begin(rate) == BAD_STATE
    assert trainer.begin(0.05) == OK
    assert trainer.call("train", 1) == BAD_STATE, "there are three positions"
    assert trainer.call("set_labels", *labels(-1, -1, -1)) == BAD_STATE
    assert trainer.call("set_labels", *labels(0, 5, 0)) == BAD_STATE
    assert trainer.call("set_labels", None, ctypes.c_size_t(3)) == BAD_STATE
    trainer.give(x)
    assert trainer.call("step") == BUSY and trainer.call("set_labels", *labels(0, 1, 2)) == BUSY
    assert trainer.begin(0.1) == BUSY and trainer.call("train_end") == BUSY and trainer.call("invoke") == OK
    assert trainer.call("set_labels", *labels(*right.tolist())) == OK
    trainer.give(x)
    assert trainer.call("invoke") == OK and trainer.loss > 0
    learned = {id(place): got for _, place, got in trainer.kept()}
    assert trainer.begin(0.25) == OK and trainer.loss == 0
    for _, place, got in trainer.kept():
        if place.role is StateRole.LEARNED:
            np.testing.assert_array_equal(got, learned[id(place)])
        else:
            np.testing.assert_array_equal(got, np.float32(0.25) if place.role is StateRole.RATE else place.data)
    assert trainer.begin(1e30) == OK
    for _ in range(3):
        trainer.give(x)
        assert trainer.call("set_labels", *labels(*right.tolist())) == OK and trainer.call("invoke") == OK
    assert trainer.call("train_end") == BAD_STATE, "weights are no numbers any more"
    assert trainer.call("reset") == OK and trainer.interpreter.save()[16:] == shipped


def test_images_say_what_states_are_for() -> None:
    image = pack(DIGITS, target="host", train="prototype:classes=4")
    found = read(image.data)
    assert Feature.TRAINS in found.features and len(found.learned) == 2
    (label,) = (state for state in found.initial if state["role"] == TrainingRole.LABEL)
    assert (label["bytes"], label["high"], label["fill"]) == (4, 3, 0xFF)
    ends = [state["at"] + state["bytes"] for state in found.initial]
    assert all(end <= state["at"] for end, state in zip(ends, found.initial[1:], strict=False))
    assert Feature.TRAINS not in read(pack(DIGITS, target="host").data).features


def test_commands_say_what_is_learned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`mote verify` compares what an inference computes with the model that learns, too."""
    image, key = str(tmp_path / "digits.mote"), str(tmp_path / "private.pem")
    shutil.copy(DIGITS, tmp_path)
    pytest.importorskip("cryptography")
    assert main(["pack", str(tmp_path / "digits.tflite"), "-o", image, "--train", "prototype:classes=3"]) == 0
    assert "a record of what was learned takes 336 bytes" in capsys.readouterr().out
    assert main(["dump", image]) == 0
    assert "learned: 2 tensors, 300 bytes; a record of them takes 336" in capsys.readouterr().out
    assert main(["sign", "--new-key", key]) == 0 and main(["sign", image, "--key", key]) == 0
    capsys.readouterr()
    assert main(["verify-image", image, "--key", str(tmp_path / "private.pub.pem")]) == 0
    assert "covers its weights as they are shipped" in capsys.readouterr().out
    assert verify_image(load_image(image, target="host"), 2).exact


def test_runtimes_for_models_that_learn() -> None:
    made = runtime([DIGITS], target="host", train="last")
    assert {"learned_dense_s8", "conv_step_s8", "bias_step_s32"} <= {kernel.name for kernel in made.manifest.kernels}
    assert {"mote_train.c", "mote_train.h", "mote_hmac.c"} <= made.files.keys()
    assert pack(DIGITS, target="host", train="last", runtime=made.manifest).record_bytes == 396
    with pytest.raises(MoteError, match=r"no kernel '.*', nor another one that computes CROSS_ENTROPY_STEP"):
        pack(DIGITS, target="host", train="last", runtime=minimal(targets.load("host")))
    with pytest.raises(MoteError, match="'minimal' is a set of kernels for any"):
        runtime("minimal", target="host", train="last")


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("target", ["cortex-m0plus", "cortex-m4", "cortex-m55", "rv32imc"])
def test_the_stock_runtime_trains_on_all_cores(target: str) -> None:
    """Biases and weights of all kinds of layers: its records are those of today's kernels."""
    data = DIGITS.replace(".tflite", "_train.npz")
    assert pack(DIGITS, target=target, train="biases,0,1,4[0:8]", train_data=data).record_bytes > 0


def test_a_core_learns_and_saves(tmp_path: Path) -> None:
    """Every inference on an emulated Cortex-M4 learns, saves, is reset and loads; outputs are those of NumPy."""
    image, path = pack(DIGITS, target=emulated("cortex-m4"), train="last:rate=0.05"), tmp_path / "digits.mote"
    image.write(path)
    made = load_image(path, target="cortex-m4").firmware
    source = made.files["digits.c"]
    assert source.count("return mote_invoke(&model);") == 1
    learning = (
        f"{LEARNING.replace('FLASH', FLASH)}{source.replace('return mote_invoke(&model);', 'return learned(&model);')}"
    )
    device = replace(made, files={**made.files, **mac_files(), "digits.c": learning})
    device = replace(device, sources=[*device.sources, "mote_hmac.c", "mote_sha512.c"])
    graph, rng, states = image.plan.graph, np.random.default_rng(9), dict[int, Array]()
    shape = graph.tensors[graph.inputs[0]].shape
    given = [{graph.inputs[0]: rng.integers(-128, 128, shape).astype(np.int8)} for _ in range(6)]
    raw = [[x.tobytes() for x in case.values()] for case in given]
    printed = bench(device, tmp_path).execute(Mode.MEASURE, raw).outputs
    for number, (case, got) in enumerate(zip(given, printed, strict=True)):
        known = graph.evaluate({**states, **case, **label_values(graph, np.array([number % 10], np.int32))})
        kept = graph.carried(known)
        states = {s.before: kept[s.before] for s in graph.states if s.role is StateRole.LEARNED}
        assert got[0] == known[graph.outputs[0]].tobytes(), number


LEARNING = """
#include "mote_hmac.h"
#include "mote_train.h"
FLASH
/* Learns the next class, saves that, forgets all and loads it. */
static mote_status learned(mote_interpreter_t *it) {
    static int32_t turn;
    static mote_hmac_t hmac;
    const mote_mac_t mac = mote_hmac(&hmac, (const uint8_t *)"a key of this device", 20);
    mote_status status = mote_train(it, turn++ % 10);
    status = status == MOTE_OK ? mote_save_weights(it, &records, &mac) : status;
    status = status == MOTE_OK ? mote_reset(it) : status;
    status = status == MOTE_OK ? mote_load_weights(it, &records, &mac) : status;
    return status == MOTE_OK && mote_saved_weights(it, &records, &mac) != (uint32_t)turn ? MOTE_WRONG : status;
}
"""
