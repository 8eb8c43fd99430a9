"""A GRU unrolled over time, with the operators that converters make of one, compiled and compared with LiteRT."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from mote.compiler.line import compile
from mote.frontends.tflite.writer import Writer
from tests.helpers.support import check, exact_on, needs_litert

pytestmark = needs_litert

SUMS, STATE, SHARE = (1 / 16, 0), (1 / 128, 0), (1 / 256, -128)
"""Scale and zero point: before an activation, of tanh and what is made of it, of the logistic function."""


@dataclass
class Gru:
    """h = z * h + (1 - z) * tanh(..), the reset gate after the matrix, as Keras has it."""

    dtype: str
    inputs: int
    units: int
    w: Writer = field(default_factory=lambda: Writer("gru"))
    count: int = 0

    def quant(self, how: tuple[float, int]) -> dict[str, object]:
        return {"scale": how[0], "zero_point": how[1]} if self.dtype == "int8" else {}

    def made(self, shape: tuple[int, ...], how: tuple[float, int]) -> int:
        self.count += 1
        return self.w.tensor(f"t{self.count}", shape, self.dtype, **self.quant(how))

    def op(self, kind: str, reads: list[int], how: tuple[float, int], **options: object) -> int:
        out = self.made((1, self.units), how)
        self.w.op(kind, reads, [out], **options)
        return out

    def dense(self, x: int, kernel: int, bias: int) -> list[int]:
        """The three gates' shares of a matrix."""
        y = self.made((1, 3 * self.units), SUMS)
        self.w.op("FULLY_CONNECTED", [x, kernel, bias], [y])
        parts = [self.made((1, self.units), SUMS) for _ in range(3)]
        self.w.op("SPLIT", [self.axis, y], parts, num_splits=3)
        return parts

    def matrix(self, name: str, depth: int, scale: float) -> tuple[int, int]:
        rng = np.random.default_rng(depth)
        real = rng.normal(size=(3 * self.units, depth)) * 2 / depth**0.5
        bias = rng.normal(size=3 * self.units) * 0.3
        if self.dtype == "float32":
            return self.w.const(name, real.astype(np.float32)), self.w.const(f"{name}_bias", bias.astype(np.float32))
        step = float(np.abs(real).max() / 127)
        kernel = self.w.const(name, np.round(real / step).astype(np.int8), scale=step)
        return kernel, self.w.const(f"{name}_bias", np.round(bias / step / scale).astype(np.int32), scale=step * scale)

    def model(self, time: int) -> bytes:
        w = self.w
        x = w.input("x", (1, time, self.inputs), self.dtype, **self.quant((1 / 64, 3)))
        by_time = self.made((time, 1, self.inputs), (1 / 64, 3))
        w.op("TRANSPOSE", [x, w.const("order", np.int32([1, 0, 2]))], [by_time])
        steps = [self.made((1, self.inputs), (1 / 64, 3)) for _ in range(time)]
        w.op("UNPACK", [by_time], steps, num=time, axis=0)
        self.axis = w.const("axis", np.int32(1))
        kernel, recurrent = self.matrix("kernel", self.inputs, 1 / 64), self.matrix("recurrent", self.units, 1 / 128)
        one = self.one()
        h = self.op("FILL", [w.const("dims", np.int32([1, self.units])), self.zero()], STATE)
        states = []
        for step in steps:
            h = self.cell(self.dense(step, *kernel), self.dense(h, *recurrent), h, one)
            states.append(h)
        packed = self.made((time, 1, self.units), STATE)
        w.op("PACK", states, [packed], values_count=time)
        y = self.made((1, time, self.units), STATE)
        w.op("TRANSPOSE", [packed, w.const("back", np.int32([1, 0, 2]))], [y])
        w.output(y, h)
        return w.finish()

    def one(self) -> int:
        return self.w.const("one", np.int8(127) if self.dtype == "int8" else np.float32(1), **self.quant((1 / 127, 0)))

    def zero(self) -> int:
        return self.w.const("zero", np.array(0, self.dtype), **self.quant(STATE))

    def cell(self, new: list[int], old: list[int], h: int, one: int) -> int:
        z = self.op("LOGISTIC", [self.op("ADD", [new[0], old[0]], SUMS)], SHARE)
        r = self.op("LOGISTIC", [self.op("ADD", [new[1], old[1]], SUMS)], SHARE)
        reset = self.op("MUL", [r, old[2]], SUMS)
        c = self.op("TANH", [self.op("ADD", [new[2], reset], SUMS)], STATE)
        kept = self.op("MUL", [z, h], STATE)
        added = self.op("MUL", [self.op("SUB", [one, z], SHARE), c], STATE)
        return self.op("ADD", [kept, added], STATE)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_unrolled(dtype: str) -> None:
    check(Gru(dtype, 10, 12).model(12))


@pytest.mark.slow
def test_on_cortex_m4() -> None:
    exact_on("cortex-m4", Gru("int8", 16, 16).model(5))


def test_state_of_zeros_is_folded() -> None:
    """Nor is there a product with it."""
    kinds = [op.kind for op in compile(Gru("int8", 4, 4).model(2)).plan.graph.ops]
    assert "FILL" not in kinds and "CONSTANT" not in kinds
    assert kinds.count("FULLY_CONNECTED") == 3
