"""Operators on elements, means, pools and softmax as ONNX Runtime computes them: its results, those of NumPy and those
of every kernel are the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest

from mote.compiler.kernels.contract import Call
from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType, Rounding
from mote.ir.ops.common import Axis
from mote.ir.ops.elementwise.quantize import Quantize
from mote.ir.ops.matrix.batch_matmul import BatchMatmul
from mote.ir.ops.onnxruntime_rounding import EvenAdd, EvenAveragePool, EvenMean, EvenMul, EvenSoftmax
from tests.compiler.kernels.c_harness import Case, Program, call_row_by_row, check_cases, int8_inputs
from tests.compiler.kernels.even import quantization
from tests.helpers.offered import DSP, PORTABLE, offered
from tests.helpers.onnx_models import Operators
from tests.helpers.support import emulated, exact_on_x86

CODES = np.arange(-128, 128).astype(np.int8)


@dataclass(frozen=True)
class Scales:
    """Of two inputs and the output."""

    scale: tuple[float, float, float]
    zero: tuple[int, int, int]

    def tensor(self, i: int, shape: Shape) -> Tensor:
        return Tensor(i, "xyz"[i], shape, DType.INT8, quantization(self.scale[i], self.zero[i]))


def scales(count: int, seed: int = 0) -> Iterator[Scales]:
    """Random ones, all the same, and powers of two."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        scale = np.float32(rng.uniform(0.01, 0.1, 3))
        scale = {1: scale[:1].repeat(3), 2: np.exp2(np.round(np.log2(scale)))}.get(i % 4, scale)
        first, second, last = scale.astype(np.float32).astype(float).tolist()
        zeros = rng.integers(-128, 128, 3).tolist() if i % 4 else [-128, -128, -128]
        yield Scales((first, second, last), (zeros[0], zeros[1], zeros[2]))


def graph(kind: type[Op], s: Scales, inputs: list[Shape], output: Shape, **attributes: Any) -> Graph:
    ids = list(range(len(inputs)))
    op = kind(inputs=tuple(ids), outputs=(2,), name="op", index=0, **attributes)
    tensors = {i: s.tensor(i, shape) for i, shape in zip([*ids, 2], [*inputs, output], strict=True)}
    g = Graph("even", tensors, (op,), tuple(ids), (2,))
    assert op.shapes(g) == [output] and not op.unsupported(g), op.unsupported(g)
    return g


def signed(value: Array, unsigned: bool) -> Array:
    """Of the runtime's bytes those that Mote has."""
    return (value ^ np.uint8(128)).view(np.int8) if unsigned else value


def asked(operators: Operators, kind: str, s: Scales, unsigned: bool, given: list[Array], **attributes: Any) -> Array:
    """What ONNX Runtime gives for an operator of com.microsoft with (value, scale, zero point) operands."""
    base = 128 * unsigned
    of = np.uint8 if unsigned else np.int8
    scaled = [(np.float32(s.scale[i]), np.array(s.zero[i] + base, of)) for i in (0, 1, 2)]
    values = [value ^ np.int8(-128) if unsigned else value for value in given]
    operands: list[Array] = []
    for i, value in enumerate(values):
        operands += [value.view(of), *scaled[i]]
    return signed(operators.run(kind, [*operands, *scaled[2]], len(values), **attributes), unsigned)


@exact_on_x86
@pytest.mark.parametrize("unsigned", [False, True])
def test_onnx_runtime(unsigned: bool) -> None:
    """All 65,536 pairs of values, and random images."""
    operators, rng = Operators(), np.random.default_rng(1)
    a, b = (np.ascontiguousarray(m) for m in np.meshgrid(CODES, CODES, indexing="ij"))
    x = rng.integers(-128, 128, (1, 3, 7, 6)).astype(np.int8)
    last = x.transpose(0, 2, 3, 1)
    for s in scales(6, seed=3):
        for kind, op in (("QLinearAdd", EvenAdd), ("QLinearMul", EvenMul)):
            g = graph(op, s, [a.shape, b.shape], a.shape, unsigned=unsigned)
            (found,) = g.ops[0].evaluate(g, [a, b])
            assert np.array_equal(found, asked(operators, kind, s, unsigned, [a, b])), (kind, s)
        for pads, whole in ((0, False), (1, False), (1, True)):
            axes = {"vertical": Axis(3, 2, 1, pads, pads), "horizontal": Axis(2, 1, 1, pads, pads)}
            space = tuple(axis.size(n) for axis, n in zip(axes.values(), (7, 6), strict=True))
            g = graph(EvenAveragePool, s, [last.shape], (1, *space, 3), unsigned=unsigned, count=6 * whole, **axes)
            window = {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [pads] * 4, "count_include_pad": int(whole)}
            want = asked(operators, "QLinearAveragePool", s, unsigned, [x], **window)
            (found,) = g.ops[0].evaluate(g, [last])
            assert np.array_equal(found.transpose(0, 3, 1, 2), want), s
        g = graph(EvenMean, s, [last.shape], (1, 1, 1, 3), axes=(1, 2), keep_dims=True)
        want = asked(operators, "QLinearGlobalAveragePool", s, unsigned, [x], channels_last=0)
        assert np.array_equal(g.ops[0].evaluate(g, [last])[0].transpose(0, 3, 1, 2), want), s
        g = graph(EvenSoftmax, s, [(40, 12)], (40, 12))
        vectors = rng.integers(-128, 128, (40, 12)).astype(np.int8)
        want = asked(operators, "QLinearSoftmax", s, unsigned, [vectors], opset=13, axis=-1)
        assert np.array_equal(g.ops[0].evaluate(g, [vectors])[0], want), s


def layers(count: int) -> Iterator[Graph]:
    for i, s in enumerate(scales(count, seed=5)):
        yield graph(EvenMean, s, [(1, 5, 4, 7)], (1, 1, 1, 7), axes=(1, 2), keep_dims=True)
        three = {"vertical": Axis(3, 2, 1, 1, 1), "horizontal": Axis(2)}
        yield graph(
            EvenAveragePool, s, [(1, 6, 5, 3)], (1, 3, 4, 3), unsigned=i % 2 == 0, count=6 * (i % 3 == 0), **three
        )
        yield graph(EvenSoftmax, s, [(5, 9)], (5, 9))


def test_kernels_of_one_operand() -> None:
    cases = [Case(g, g.ops[0], k, i + 1) for i, g in enumerate(layers(6)) for k in offered(g, g.ops[0], PORTABLE)]
    assert {case.kernel.family for case in cases} == {"mean_even", "pool_even", "softmax_even"}
    check_cases(cases, Program())


def pairs(count: int) -> Iterator[Graph]:
    """All pairs of values in one tensor, a vector that is repeated, and products of matrices."""
    for i, s in enumerate(scales(count, seed=7)):
        for shapes in ([(256, 256), (256, 256)], [(6, 4, 5), (5,)], [(5,), (6, 4, 5)]):
            output = max(shapes, key=len)
            yield graph(EvenAdd, s, shapes, output, unsigned=i % 2 == 0, turned=i % 3 == 0)
            yield graph(EvenMul, s, shapes, output, unsigned=i % 2 == 0)
        yield graph(BatchMatmul, s, [(2, 5, 9), (2, 9, 6)], (2, 5, 6), rounding=Rounding.EVEN)


def inputs(g: Graph, seed: int) -> list[Array]:
    if g.tensors[0].shape == (256, 256):
        return [np.ascontiguousarray(m) for m in np.meshgrid(CODES, CODES, indexing="ij")]
    return int8_inputs(g.ops[0], g, seed)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(("core", "features", "count"), [("host", PORTABLE, 6), ("cortex-m4", DSP, 2)])
def test_kernels_of_two_operands(core: str, features: frozenset[str], count: int) -> None:
    program, wanted, seen = Program(core if core == "host" else emulated(core)), [], set()
    for seed, g in enumerate(pairs(count)):
        op, given = g.ops[0], inputs(g, seed + 1)
        (expected,) = op.evaluate(g, given)
        for kernel in offered(g, op, features):
            seen.add(kernel.family)
            if kernel.entry.call is Call.ROWS:
                call_row_by_row(program, g, op, kernel, given)
            else:
                blocks = [program.block(v.nbytes, v) for v in given]
                out = program.block(expected.nbytes)
                program.say(
                    f"mote_{kernel.name}({program.params(kernel)}, {', '.join(blocks)}, {out}, {kernel.entry.units});"
                )
                program.write(out, expected.nbytes)
            wanted.append((kernel.name, expected))
    assert {"mul_even", "batch_matmul_even"} <= seen and seen & {"add", "add4", "add_even"}
    got = np.frombuffer(program.run(), np.int8)
    for name, expected in wanted:
        result, got = got[: expected.size], got[expected.size :]
        assert np.array_equal(result, expected.reshape(-1)), name
    assert not got.size


def quantizing() -> Graph:
    """Real numbers to codes."""
    op = Quantize(inputs=(0,), outputs=(1,), name="q", index=0, rounding=Rounding.EVEN)
    tensors = {
        0: Tensor(0, "x", (3, 7), DType.FLOAT32),
        1: Tensor(1, "y", (3, 7), DType.INT8, quantization(0.1, 3)),
    }
    return Graph("quantize", tensors, (op,), (0,), (1,))


def test_quantize() -> None:
    """Halves, what is beside them, and numbers beyond all codes; by a division, or multiplied as PyTorch does."""
    program, wanted = Program(), []
    steps = np.concatenate([np.arange(-300, 300) / 2, [1e30, -1e30, np.inf, -np.inf]]).astype(np.float32)
    kinds = ((DType.INT8, 3, 0.25), (DType.UINT8, 128, 0.1), (DType.INT16, 0, 0.3))
    for (dtype, zero, scale), times in product(kinds, (False, True)):
        x = np.concatenate([steps * np.float32(scale) * np.float32(f) for f in (1, 1 + 1e-7, 1 - 1e-7)])
        factor = 1 / scale if times else None
        op = Quantize(inputs=(0,), outputs=(1,), name="q", index=0, rounding=Rounding.EVEN, factor=factor)
        tensors = {
            0: Tensor(0, "x", x.shape, DType.FLOAT32),
            1: Tensor(1, "y", x.shape, dtype, quantization(scale, zero)),
        }
        g = Graph("quantize", tensors, (op,), (0,), (1,))
        (kernel,) = offered(g, op)
        (expected,) = op.evaluate(g, [x])
        block, out = program.block(x.nbytes, x), program.block(expected.nbytes)
        program.say(f"mote_{kernel.name}({program.params(kernel)}, {block}, {out}, {kernel.entry.units});")
        program.write(out, expected.nbytes)
        wanted.append(expected)
    assert program.run() == b"".join(w.tobytes() for w in wanted)
