"""Block-wise quantized constants, against LiteRT with the float32 numbers that they stand for: its reference kernels
know them in EMBEDDING_LOOKUP only, its default ones round the inputs of FULLY_CONNECTED to 8 bits."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

import mote
from mote.base.errors import MoteError, UnsupportedError
from mote.bench.evaluation.verify import verify
from mote.bench.execute import batch
from mote.bench.execute.stimuli import stimuli
from mote.compiler.line import compile
from mote.frontends import tflite
from mote.frontends.tflite.writer import NO_TENSOR, BlockwiseQuantization, Writer
from mote.ir.graph.tensor import Array
from mote.ir.ops.matrix.blockwise import UNKNOWN_BLOCKS, dequantized_blocks
from mote.optimize.compress.quantize.post_training import post_training
from tests.helpers.support import check, check_numpy, emulated, needs_litert

LIMITS = {"int8": 127, "int4": 7, "int2": 1}


@dataclass(frozen=True)
class Config:
    dtype: str = "int4"
    rows: int = 8
    size: int = 32
    blocks: int = 2
    batch: tuple[int, ...] = (2,)
    bias: bool = True
    activation: str = "NONE"
    half: bool = True
    keep: bool = False

    @property
    def depth(self) -> int:
        return self.size * self.blocks


MANY = (
    Config(),
    Config("int8", 5, 4, 3, activation="RELU"),
    Config("int2", 3, 8, 1, bias=False),
    Config("int4", 7, 5, 3, (1,), activation="RELU6", half=False),
    Config("int4", 1, 1, 6, (1, 3), keep=True),
    Config("int8", 4, 7, 2, (2, 2), activation="RELU_N1_TO_1", keep=True),
)


def constant(w: Writer, i: int, c: Config, expanded: bool = False) -> int:
    """Integers with scales of blocks, or the float32 numbers."""
    rng, most = np.random.default_rng(i), LIMITS[c.dtype]
    codes = rng.integers(-most - 1, most + 1, (c.rows, c.depth)).astype(np.int8)
    scales = (rng.uniform(0.5, 1.5, (c.rows, c.blocks)) / most).astype(np.float16 if c.half else np.float32)
    held = w.const(f"s{i}", scales)
    if expanded:
        return w.const(f"k{i}", dequantized_blocks(codes, scales.astype(np.float32)))
    return w.const(
        f"k{i}", codes, dtype="" if c.dtype == "int8" else c.dtype, blocks=BlockwiseQuantization(held, c.size)
    )


def add_layer(w: Writer, i: int, c: Config, expanded: bool = False) -> None:
    x = w.input(f"x{i}", (*c.batch, c.depth), "float32")
    k = constant(w, i, c, expanded)
    b = w.const(f"b{i}", np.random.default_rng(i).normal(size=c.rows).astype(np.float32)) if c.bias else NO_TENSOR
    y = w.tensor(f"y{i}", (*c.batch, c.rows), "float32")
    options = {"fused_activation_function": c.activation, "keep_num_dims": c.keep}
    w.op("FULLY_CONNECTED", [x, k, b], [y], **options)
    w.output(y)


def add_lookup(w: Writer, i: int, c: Config) -> None:
    x, y = w.input(f"x{i}", (3,), "int32"), w.tensor(f"y{i}", (3, c.depth), "float32")
    w.op("EMBEDDING_LOOKUP", [x, constant(w, i, c)], [y])
    w.output(y)


def layers(*configs: Config, expanded: bool = False) -> bytes:
    w = Writer("layers")
    for i, c in enumerate(configs):
        add_layer(w, i, c, expanded)
    return w.finish()


def lookups(*configs: Config) -> bytes:
    w = Writer("lookups")
    for i, c in enumerate(configs):
        add_lookup(w, i, c)
    return w.finish()


def add_every(w: Writer, first: int) -> None:
    """A layer for every kernel."""
    for i, dtype in enumerate(("int4", "int8")):
        add_layer(w, first + 2 * i, Config(dtype, 3, 5, 2))
        add_lookup(w, first + 2 * i + 1, Config(dtype, 3, 5, 2))


def every_kernel() -> bytes:
    w = Writer("blocks")
    add_every(w, 0)
    return w.finish()


@needs_litert
def test_layers() -> None:
    model, wide = layers(*MANY), layers(*MANY, expanded=True)
    check_numpy(tflite.parse(model, "model"), wide)
    compiled = compile(model)
    families = {step.kernel.family for step in compiled.plan.steps}
    assert families == {"fully_connected_blockwise", "fully_connected_blockwise4"}
    result = verify(compiled, 3, sanitize=True)
    assert result.passed and UNKNOWN_BLOCKS in result.reference


@needs_litert
@pytest.mark.parametrize("activation", ["NONE", "RELU"])
def test_what_litert_rounds(activation: str) -> None:
    """Its default kernels, which take int4 with float16 scales alone, differ by what 8 bits of inputs make."""
    from ai_edge_litert.interpreter import Interpreter

    model = layers(Config(activation=activation))
    x = np.random.default_rng(0).normal(size=(2, 64)).astype(np.float32)
    interpreter = Interpreter(model_content=model)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    theirs = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    graph = tflite.parse(model, "model")
    ours = graph.evaluate({graph.inputs[0]: x})[graph.outputs[0]]
    assert np.abs(ours - theirs).max() < 0.02 * np.abs(ours).max()


@needs_litert
def test_lookups() -> None:
    check(lookups(*(replace(c, half=True, rows=9) for c in MANY if c.dtype != "int8" and c.size % 4 == 0)))


def test_lookups_that_litert_lacks() -> None:
    compiled = compile(lookups(*(c for c in MANY if c.dtype == "int8" or not c.half)))
    assert {step.kernel.family for step in compiled.plan.steps} == {"lookup_blockwise", "lookup_blockwise4"}
    result = verify(compiled, 3, sanitize=True)
    assert result.passed and UNKNOWN_BLOCKS in result.reference


def test_rows_outside_of_the_table_are_zeros() -> None:
    graph = tflite.parse(lookups(Config()), "model")
    y = graph.evaluate({graph.inputs[0]: np.array([-1, 8, 7], np.int32)})[graph.outputs[0]]
    assert not y[:2].any() and y[2].any()


def test_four_bits_are_half_a_byte_in_flash() -> None:
    c = Config(rows=64, blocks=4)
    sizes = {dtype: compile(layers(replace(c, dtype=dtype))).project.constants for dtype in ("int4", "int8")}
    assert sizes["int8"] - sizes["int4"] == c.rows * c.depth // 2
    assert sizes["int4"] < compile(layers(c, expanded=True)).project.constants / 6


def test_many_samples_at_once() -> None:
    graph = tflite.parse(layers(Config(batch=(1,)), Config(batch=(1, 3), keep=True), Config(batch=(2,))), "model")
    cases = stimuli(graph, 5, 0)
    (found,) = batch.evaluate(graph, cases)
    for number, case in enumerate(cases):
        for t, value in graph.evaluate(case).items():
            if t in graph.outputs:
                np.testing.assert_allclose(found[t][number].reshape(value.shape), value, rtol=1e-6)


def test_a_stream() -> None:
    """Vector by vector, the same as all of them together."""
    compiled = compile(layers(Config(batch=(1, 3), keep=True)), stream=1)
    assert {step.kernel.family for step in compiled.plan.steps} == {"fully_connected_blockwise4"}
    assert verify(compiled, 5).passed


@pytest.mark.slow
def test_on_a_core() -> None:
    assert verify(compile(every_kernel(), target=emulated("cortex-m4")), 2).passed


def test_convert() -> None:
    """The constants are written as they were read."""
    model = every_kernel()
    written = mote.convert(model)
    assert written.check is None and UNKNOWN_BLOCKS in written.notes[0]
    graph, again = tflite.parse(model, "model"), tflite.parse(written.data, "written")
    assert [type(op) for op in graph.ops] == [type(op) for op in again.ops]
    (case,) = stimuli(graph, 1, 0)
    values = graph.evaluate(case), again.evaluate(dict(zip(again.inputs, case.values(), strict=True)))
    for ours, theirs in zip(graph.outputs, again.outputs, strict=True):
        np.testing.assert_array_equal(values[0][ours], values[1][theirs])
    assert len(written.data) < 1.2 * len(model)


def test_such_models_are_quantized_already() -> None:
    for model in (layers(Config()), lookups(Config())):
        with pytest.raises(MoteError, match="quantized already"):
            post_training(model, random_calibration=True)


def odd(values: Array, scales: Array, size: int = 4, kind: str = "FULLY_CONNECTED", points: int = NO_TENSOR) -> bytes:
    w = Writer("odd")
    zeros = w.const("z", np.full((3, 2), points, np.int32)) if points != NO_TENSOR else NO_TENSOR
    x = w.input("x", (1, 8), "float32")
    k = w.const("k", values, blocks=BlockwiseQuantization(w.const("s", scales), size, zeros))
    y = w.tensor("y", (1, 3), "float32")
    inputs, options = ([x, k], {}) if kind == "FULLY_CONNECTED" else ([x, k], {"adj_y": True})
    w.op(kind, inputs, [y], **options)
    w.output(y)
    return w.finish()


CODES, SCALES = np.ones((3, 8), np.int8), np.ones((3, 2), np.float32)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (odd(CODES, SCALES, kind="BATCH_MATMUL"), "only FULLY_CONNECTED and EMBEDDING_LOOKUP take such constants"),
        (odd(CODES, SCALES, 3), "6 scales of blocks of 3 do not fit its shape"),
        (odd(CODES, np.ones((3, 1), np.float32)), "3 scales of blocks of 4 do not fit"),
        (odd(CODES, SCALES, 0), "blocks of 0 do not fit"),
        (odd(CODES, -SCALES), "a scale of a block is negative"),
        (odd(CODES, np.inf * SCALES), "a scale of a block is negative, infinite"),
        (odd(CODES, SCALES, points=1), "zero points of blocks other than 0"),
        (odd(CODES.astype(np.int16), SCALES), "not a constant matrix of int8"),
    ],
)
def test_what_is_refused(model: bytes, reason: str) -> None:
    with pytest.raises(UnsupportedError, match=f"'k' is block-wise quantized: .*{reason}.*a scale for each channel"):
        tflite.parse(model, "model")


def test_zero_points_of_zero() -> None:
    assert tflite.parse(odd(CODES, SCALES, points=0), "model").ops


def test_scales_that_are_not_there() -> None:
    w = Writer("odd")
    x, y = w.input("x", (1, 8), "float32"), w.tensor("y", (1, 3), "float32")
    w.op("FULLY_CONNECTED", [x, w.const("k", CODES, blocks=BlockwiseQuantization(x, 4))], [y])
    w.output(y)
    with pytest.raises(MoteError, match="no float constant as the scales of its blocks"):
        tflite.parse(w.finish(), "model")
