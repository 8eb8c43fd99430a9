"""RequantShift of PULP's dialect: codes are those of integer arithmetic, fused with layers or alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mote import frontends
from mote.base.errors import MoteError
from mote.bench.evaluation.verify import verify
from mote.bench.execute.reference import as_in_file, numpy
from mote.compiler.line import compile
from mote.frontends import source_of
from mote.frontends.onnx.reference import reference
from mote.ir.graph.tensor import Array
from tests.frontends.onnx.qonnx_models import SIDES
from tests.helpers.onnx_models import Net, onnx


class Shifted(Net):
    """A network in integers, in float32 tensors, as quantlib exports it: attributes are tensors."""

    def __init__(self, seed: int = 0, domain: str = "PACTOps") -> None:
        super().__init__(seed, opset=10)
        self.domain = domain
        self.shifts: list[tuple[str, str, Array, Array, int, float, bool]] = []

    def real(self, value: Any) -> str:  # type: ignore[override]
        return self.const(np.asarray(value, np.float32))

    def integers(self, *shape: int) -> str:
        return self.real(self.rng.integers(-128, 128, shape))

    def shift(
        self,
        x: str,
        mul: Any,
        add: Any,
        bits: int,
        *,
        levels: float = 256,
        signed: bool = False,
        name: str = "n_levels_out",
    ) -> str:
        given = {"div": 2.0**bits, name: float(levels), "signed": float(signed)}
        tensors = {
            key: onnx.numpy_helper.from_array(np.array([value], np.float32), key) for key, value in given.items()
        }
        y = self.op("RequantShift", x, self.real(mul), self.real(add), domain=self.domain, **tensors)
        self.shifts.append(
            (
                x,
                y,
                np.asarray(mul, np.int64),
                np.asarray(add, np.int64),
                bits,
                int(levels) if levels < 1e9 else 0,
                signed,
            )
        )
        return y

    def channels(self, x: str, count: int, about: int, bits: int, rank: int = 4, **options: Any) -> str:
        """A multiplier and an offset for each channel; one multiplier is 0, and some are negative."""
        shape = (count, *[1] * (rank - 2))
        mul = self.rng.integers(about // 2, about, shape) * self.rng.choice([-1, 1, 1], shape)
        mul[-1] = 0
        return self.shift(x, mul, self.rng.integers(-20, 100, shape) << bits, bits, **options)

    def finished(self, *results: str) -> bytes:
        for result in results:
            self.output(result)
        graph = onnx.helper.make_graph(self.nodes, "net", self.inputs, self.outputs, self.initializers)
        opsets = [
            onnx.helper.make_opsetid(*each) for each in {"": self.opset, "PACTOps": 1, "ai.onnx.contrib": 1}.items()
        ]
        return bytes(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())


def network(seed: int, domain: str = "PACTOps") -> tuple[Shifted, bytes]:
    net = Shifted(seed, domain)
    x = net.channels(net.op("Conv", net.input(1, 3, 8, 8), net.integers(6, 3, 3, 3), **SIDES), 6, 200, 16)
    deep = net.op("Conv", x, net.integers(6, 1, 3, 3), group=6, **SIDES)
    x = first = net.channels(deep, 6, 40, 13, signed=True, name="n_levels")
    x = net.channels(net.op("Conv", x, net.integers(6, 6, 1, 1), kernel_shape=[1, 1]), 6, 6, 9, levels=16, signed=True)
    both = net.op("Add", net.shift(x, 8, 3, 2, signed=True), first)
    x = net.op("MaxPool", net.shift(both, 1, 0, 1, signed=True), kernel_shape=[2, 2], strides=[2, 2])
    bias = net.real(net.rng.integers(-5000, 5000, 5))
    last = net.op("Gemm", net.op("Flatten", x), net.integers(5, 96), bias, transB=1)
    return net, net.finished(net.channels(last, 5, 40, 14, 2, levels=250))


def integers(x: Array, mul: Array, add: Array, bits: int, levels: float, signed: bool) -> Array:
    """Deeploy's arithmetic: its kernels add half of the divisor."""
    codes = (x.astype(np.int64) * mul + add + (1 << bits >> 1)) >> bits
    return np.asarray(np.clip(codes, *((-(levels // 2), levels // 2 - 1) if signed else (0, levels - 1))))


@pytest.mark.parametrize("domain", ("PACTOps", "", "ai.onnx.contrib"))
def test_codes_are_those_of_integers(domain: str) -> None:
    """Of every RequantShift, in Mote and as ONNX Runtime runs them."""
    for seed in range(3):
        net, model = network(seed, domain)
        graph = frontends.read(source_of(model)).graph()
        named = {t.name: t for t in graph.tensors.values() if t.data is None and not t.inner}
        given = np.random.default_rng(seed).integers(-128, 128, (1, 3, 8, 8)).astype(np.float32)
        values = as_in_file(numpy(graph), graph)({graph.inputs[0]: given.transpose(0, 2, 3, 1)})
        names = [name for shift in net.shifts for name in shift[:2]]
        runtime = reference(source_of(model), names)
        assert values is not None and not isinstance(runtime, str)
        theirs, seen = runtime[1]({net.inputs[0].name: given}), 0
        for x, y, mul, add, bits, levels, signed in net.shifts:
            want = integers(theirs[x], mul, add, bits, levels, signed)
            assert np.array_equal(theirs[y], want) and len(np.unique(want)) > 1, y
            if y in named:
                seen += 1
                assert np.array_equal(values[named[y].id].reshape(-1), want.reshape(-1)), y
        assert seen >= 5


def test_layers_are_integers() -> None:
    _, model = network(3)
    compiled = compile(model, target="host")
    kinds = [type(op).__name__ for op in compiled.plan.graph.ops]
    assert kinds.count("AffineConv2D") == kinds.count("AffineDepthwiseConv2D") == 1, kinds
    assert kinds.count("AffineFullyConnected") == 1 and "LookupTable" in kinds, kinds
    result = verify(compiled, 3)
    assert "PULP's quantizers" in result.reference and result.passed, result.mismatches


def refused(net: Shifted, result: str, reason: str) -> None:
    with pytest.raises(MoteError, match=f"RequantShift '.*': {reason}"):
        compile(net.finished(result))


def test_others_are_refused() -> None:
    net = Shifted()
    refused(net, net.shift(net.input(1, 4), 1, 0, 31), "divides by 2147483648, which is no power of two up to")
    net = Shifted()
    refused(net, net.shift(net.input(1, 4), 1, 0, 3, levels=1), "has 1 levels")
    net = Shifted()
    refused(
        net, net.shift(net.input(1, 4), [1, 2, 3], 0, 3), r"a multiplier and an offset of \(3,\) and \(\) do not fit"
    )
    net = Shifted()
    refused(
        net, net.shift(net.input(1, 4), 1, 0, 3, levels=float("inf")), "the attribute n_levels_out must be one integer"
    )
    net = Shifted()
    average = net.op("GlobalAveragePool", net.input(1, 4, 3, 3))
    refused(net, net.shift(average, 1, 0, 3), "its input is not known to be integers: GlobalAveragePool .* may divide")
    net = Shifted()
    refused(net, net.shift(net.input(1, 4), 1, 0, 3, levels=1 << 17), "has 131072 levels, 16 bits have fewer")
