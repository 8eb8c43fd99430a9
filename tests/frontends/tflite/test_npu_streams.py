"""Files that Vela has compiled: command streams of an Ethos-U that are checked before anything uses them."""

from __future__ import annotations

import random
from contextlib import suppress

import numpy as np
import pytest

import mote
from mote.base.errors import MoteError
from mote.frontends import load
from mote.hardware.npu.check import check
from mote.ir.graph import Graph
from mote.ir.ops.control.ethos_u import NpuStream
from tests.hardware.npu.compiled import MODELS, compiled_file
from tests.hardware.npu.mutate import mutant
from tests.helpers.npu_files import BYTES, SCRATCH, copying, npu_file
from tests.helpers.support import examples


def outputs(graph: Graph, *inputs: np.ndarray) -> np.ndarray:
    known = dict(zip(graph.inputs, inputs, strict=True))
    for op in graph.ops:
        known |= op.stored(graph, op.evaluate(graph, graph.arguments(op, known)))
    return known[graph.outputs[0]]


def test_a_stream_is_an_operator() -> None:
    graph = load(npu_file(copying((0, 2 * BYTES), (2 * BYTES, BYTES))))
    (op,) = graph.ops
    assert isinstance(op, NpuStream) and op.scratch == SCRATCH and op.places == (0, BYTES) and op.fast == 0
    assert op.stream.config.name == "ethos-u55-128"
    x = np.arange(BYTES, dtype=np.int8)[None] - 9
    np.testing.assert_array_equal(outputs(graph, x), x)


def test_tensors_lie_where_the_file_says() -> None:
    graph = load(npu_file(copying((BYTES, 0)), (3 * BYTES, BYTES, 0), inputs=2))
    x, y = (np.full((1, BYTES), i, np.int8) for i in (1, 2))
    np.testing.assert_array_equal(outputs(graph, x, y), y)


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        (npu_file(copying((0, SCRATCH))), "its command stream is refused: DMA_START at byte"),
        (npu_file(copying((0, BYTES), bytes_=SCRATCH)), "its command stream is refused: DMA_START at byte"),
        (npu_file(b"COP1" + bytes(12)), "action 0 is none that the driver knows"),
        (npu_file(b"nothing of the kind!"), "a payload begins with COP1 or COP2"),
        (npu_file(copying((0, BYTES)), arena=False), "the file does not say where 'x0' lies"),
        (npu_file(copying((0, BYTES)), (0, SCRATCH - BYTES + 1)), "'y' does not lie in the working memory"),
        (npu_file(copying((0, BYTES)), (-7, BYTES)), "the file does not say where 'x0' lies"),
    ],
)
def test_bad_streams_are_refused(file: bytes, reason: str) -> None:
    with pytest.raises(MoteError, match=reason):
        load(file)


def test_a_stream_is_for_one_accelerator() -> None:
    file = npu_file(copying((0, BYTES)))
    assert mote.compile(file, target="corstone-300").plan.steps[0].kernel.name == "ethos-u-stream"
    for target, has in (("cortex-m4", "has no Ethos-U"), ("corstone-300-u55-256", "has ethos-u55-256")):
        with pytest.raises(MoteError, match=f"is for ethos-u55-128, and the target {target} {has}") as raised:
            mote.compile(file, target=target)
        assert "--backend ethos-u" in raised.value.remedy


@pytest.mark.parametrize(
    ("core", "options"),
    [
        ("ethos-u55-128", ()),
        ("ethos-u55-128", ("--system-config", "Ethos_U55_High_End_Embedded", "--memory-mode", "Sram_Only")),
        ("ethos-u65-256", ("--system-config", "Ethos_U65_High_End", "--memory-mode", "Dedicated_Sram")),
    ],
)
def test_a_file_of_vela_computes_what_the_model_does(core: str, options: tuple[str, ...]) -> None:
    plain, ours = load(MODELS / "digits.tflite"), load(compiled_file("digits", core, *options))
    (op,) = ours.ops
    assert isinstance(op, NpuStream) and op.fast > 0 if "u65" in core else op.fast == 0
    assert 1 <= op.macs(ours) / sum(op.macs(plain) for op in plain.ops) < 1.1
    images = np.load(MODELS / "digits_samples.npz")
    x = images[images.files[0]][:1].astype(np.int8).reshape(plain.tensors[plain.inputs[0]].shape)
    got, want = outputs(ours, x), outputs(plain, x)
    assert np.abs(got.astype(int) - want.astype(int)).max() <= 1


def test_the_operator_of_vela_is_within_its_memory() -> None:
    graph = load(compiled_file("keywords", "ethos-u55-128"))
    (op,) = graph.ops
    assert isinstance(op, NpuStream)
    touched = check(op.stream, (graph.tensors[op.inputs[-1]].nbytes, op.scratch, op.fast), (False, True, True))
    assert touched.written(1)[1] <= op.scratch and touched.written(0) == (0, 0)


@pytest.mark.parametrize("target", ["corstone-300"])
def test_a_file_runs_on_the_core_and_its_simulated_accelerator(target: str) -> None:
    """The tensors are copied to their places, and from there, also where the job is begun and polled."""
    result = mote.verify(mote.compile(npu_file(copying((0, BYTES)), layers=1), target=target), 2)
    assert result.exact and "numpy" in result.reference


def test_damaged_streams_are_refused_or_run_inside_of_their_memory() -> None:
    """Never another error: neither while the file is read, nor when the functional model executes what was taken."""
    chance, taken = random.Random(0), 0
    payload, x = copying((0, 2 * BYTES), (2 * BYTES, BYTES)), np.zeros((1, BYTES), np.int8)
    for _ in range(examples(5_000, 200)):
        try:
            graph = load(npu_file(mutant(payload, chance)))
        except MoteError as error:
            assert "the `.tflite` file that vela was given" in str(error)
            continue
        taken += 1
        with suppress(MoteError):
            assert outputs(graph, x).shape == x.shape
    assert taken > 20
