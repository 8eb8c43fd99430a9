"""QUANTIZE and DEQUANTIZE against LiteRT: ties, neighbours of ties, values far outside."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.api import reference
from mote.errors import UnsupportedError
from mote.frontends import tflite
from network import FLOAT, Net
from support import check, check_numpy, examples, needs_litert
from tflite_writer import Writer

SIZE = 2048


@st.composite
def quants(draw: st.DrawFn) -> tuple[float, int]:
    """Scales around what float inputs from -1 to 1 need, and powers of two, which give ties."""
    exponent = draw(st.floats(-9, 2))
    scale = draw(st.sampled_from([2.0**exponent, 2.0 ** round(exponent)]))
    return float(np.float32(scale)), draw(st.sampled_from([-128, 0, 127]) | st.integers(-128, 127))


def model(layers: list[tuple[float, int]], size: int = SIZE) -> bytes:
    """float32 -> int8 -> float32 for each quantization."""
    net, outputs = Net(dtype="float32"), []
    for quant in layers:
        q = net.op("QUANTIZE", [net.input(size)], quant=quant)
        outputs += [q, net.op("DEQUANTIZE", [q])]
    return net.finish(*outputs)


@needs_litert
@given(st.lists(quants(), min_size=15, max_size=15))
@settings(max_examples=examples(5), deadline=None)
def test_random_quantizations(layers: list[tuple[float, int]]) -> None:
    """The generated C on random floats, and on a ramp that meets ties where the scale is a power of two."""
    check(model(layers, 2049), inputs=6)


def edges(scale: float) -> np.ndarray:
    """Ties, their neighbours, values far outside (but inside int32, where LiteRT still clamps)."""
    ties = ((np.arange(-300, 300) + 0.5) * np.float64(scale)).astype(np.float32)
    up, down = (np.nextafter(ties, np.float32(to)) for to in (np.inf, -np.inf))
    far = np.array([1e6, -1e6, 2e9, -2e9, 0.0, -0.0, 1e-40], np.float64) * scale
    found = np.concatenate([ties, up, down, far]).astype(np.float32)
    return np.pad(found, (0, SIZE - len(found)))


@needs_litert
@given(quants())
@settings(max_examples=100, deadline=None)
def test_ties(quant: tuple[float, int]) -> None:
    """NumPy against LiteRT. A division, not a multiplication by the inverse: at ties that shows."""
    data = model([quant])
    graph = tflite.parse(data, "model")
    case = {graph.inputs[0]: edges(quant[0])}
    want = reference.litert(data)(case)
    for tensor, got in graph.evaluate(case).items():
        assert np.array_equal(got, want[tensor])


@needs_litert
@pytest.mark.parametrize("scale", [0.05, 0.0078125, 0.3])
def test_ties_in_c(scale: float) -> None:
    """The same edges through the generated code: they are a constant, to which nothing is added."""
    net = Net(dtype="float32")
    nothing = net.op("MUL", [net.input(SIZE), net.writer.const("zero", np.float32(0))])
    values = net.op("ADD", [nothing, net.writer.const("edges", edges(scale))])
    check(net.finish(net.op("QUANTIZE", [values], quant=(scale, 3))), inputs=2)


@needs_litert
def test_every_int8() -> None:
    net = Net()
    model = net.finish(net.op("DEQUANTIZE", [net.input(256, quant=(0.0371, -9))], quant=FLOAT))
    check_numpy(tflite.parse(model, "model"), model, inputs=6)


@pytest.mark.parametrize(
    ("kind", "dtypes", "scale", "reason"),
    [
        ("QUANTIZE", ("float32", "uint8"), 0.1, "float32 to uint8 is not supported"),
        ("QUANTIZE", ("float32", "int16"), 0.1, "float32 to int16 is not supported"),
        ("QUANTIZE", ("uint8", "int16"), 0.1, "uint8 input with int16 output is not supported"),
        ("QUANTIZE", ("int8", "uint8"), [0.1, 0.2], "no per-tensor quantization"),
        ("QUANTIZE", ("float32", "int8"), [0.1, 0.2], "no per-tensor quantization"),
        ("DEQUANTIZE", ("uint8", "float32"), 0.1, "uint8 to float32 is not supported"),
        ("DEQUANTIZE", ("int16", "float32"), 0.1, "int16 to float32 is not supported"),
        ("DEQUANTIZE", ("int8", "float32"), [0.1, 0.2], "no per-tensor quantization"),
    ],
)
def test_unsupported(kind: str, dtypes: tuple[str, str], scale: float | list[float], reason: str) -> None:
    w = Writer("unsupported")
    x, y = (
        w.tensor(name, (2,), dtype, None if dtype == "float32" else scale)
        for name, dtype in zip("xy", dtypes, strict=True)
    )
    w._inputs.append(x)
    w.op(kind, [x], [y])
    w.output(y)
    with pytest.raises(UnsupportedError, match=reason):
        tflite.parse(w.finish(), "model")


@needs_litert
@given(
    st.lists(
        st.tuples(quants(), quants(), st.sampled_from(["int8", "uint8"]), st.sampled_from(["int8", "uint8"])),
        min_size=8,
        max_size=8,
    )
)
@settings(max_examples=examples(3), deadline=None)
def test_between_bytes(layers: list[tuple[tuple[float, int], tuple[float, int], str, str]]) -> None:
    """Every byte, from scale to scale and from int8 to uint8 and back."""
    w = Writer("bytes")
    for i, (given_, wanted, first, second) in enumerate(layers):
        zeros = [q[1] + (128 if dtype == "uint8" else 0) for q, dtype in ((given_, first), (wanted, second))]
        x = w.input(f"x{i}", (256,), first, given_[0], zeros[0])
        y = w.tensor(f"y{i}", (256,), second, wanted[0], zeros[1])
        w.op("QUANTIZE", [x], [y])
        w.output(y)
    check(w.finish(), inputs=6)
