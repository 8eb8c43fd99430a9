"""Sequences of element-wise operators become one, exact to LiteRT, and only where nobody else reads what lies between
them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.compiler.kernels.portable.elementwise import fused_elementwise
from mote.ir.ops.elementwise.activations import Clamp, LeakyRelu
from mote.ir.ops.elementwise.binary_unscaled import Pow
from mote.ir.ops.elementwise.fused_elementwise import PARTS
from tests.helpers.idioms import BYTES, HALVES, REALS, functions, kinds, quant, same
from tests.helpers.network import SCALE, Net
from tests.helpers.support import check, exact_on, needs_litert


@needs_litert
def test_functions_of_bytes_are_tables() -> None:
    model = functions("int8", BYTES)
    assert kinds(model) == ["TABLE"] * len(BYTES)
    compiled = check(model)
    assert any(s.name == "fuse tables" and "LOGISTIC" in s.detail and s.exact for s in compiled.savings)


@needs_litert
def test_functions_of_real_numbers_are_formulas() -> None:
    model = functions("float32", REALS)
    assert kinds(model) == ["FORMULA"] * len(REALS)
    compiled = check(model)
    assert any(s.name == "fuse functions" and "TANH" in s.detail and s.exact for s in compiled.savings)
    exact_on("cortex-m4", model)


def test_all_parts_of_formulas_have_expressions() -> None:
    known = {*fused_elementwise.SIGNS, *fused_elementwise.EXPRESSIONS, *fused_elementwise.PAIRS, Clamp, LeakyRelu, Pow}
    assert {*PARTS} == known


@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize("seen", ["output", "reader", "channels", "shape"])
def test_what_others_see_is_computed(dtype: str, seen: str) -> None:
    """A tensor inside that is read elsewhere or is an output, a constant for each channel, a repeated factor."""
    net = Net(dtype=dtype)
    x = net.input(1, 4, 3, 2)
    share = net.op("LOGISTIC", [x], quant=quant(net, *HALVES))
    outputs = [net.op("MUL", [x, share])]
    if seen == "output":
        outputs.append(share)
    if seen == "reader":
        outputs.append(net.op("SOFTMAX", [share], quant=quant(net, *HALVES), beta=1.0))
    if seen == "channels":
        values = net.writer.const("two", np.ones(2, net.dtype), *([SCALE] if dtype == "int8" else []))
        outputs = [net.op("MUL", [net.op("ADD", [share, values]), x])]
    if seen == "shape":
        outputs = [
            net.op("MUL", [net.op("LOGISTIC", [net.input(1, 1, 3, 2)], quant=quant(net, *HALVES)), x], (1, 4, 3, 2))
        ]
    found = kinds(net.finish(*outputs))
    assert "TABLE" not in found and "FORMULA" not in found


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_random_functions_of_bytes(data: st.DataObject) -> None:
    """Sums, products and functions of what there is so far, of which some may be outputs."""
    net = Net(data.draw(st.integers(0, 1000)))
    made = [net.input(1, 256)]
    for _ in range(data.draw(st.integers(2, 7))):
        kind = data.draw(st.sampled_from(["ADD", "SUB", "MUL", "ABS", "RELU", "LOGISTIC", "QUANTIZE"]))
        given_ = [data.draw(st.sampled_from(made)) for _ in range(2 if kind in ("ADD", "SUB", "MUL") else 1)]
        made.append(net.op(kind, given_, quant=HALVES if kind == "LOGISTIC" else None))
    outputs = {made[-1], *data.draw(st.sets(st.sampled_from(made[1:]), max_size=2))}
    after = same(net.finish(*sorted(outputs)), np.arange(-128, 128).astype(np.int8).reshape(1, 256))
    assert len(after.ops) <= len(made) - 1 and (len(outputs) > 1 or len(after.ops) == 1)
