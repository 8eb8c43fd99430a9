"""Every way to run a model, every tensor against LiteRT: on the host under sanitizers and on emulated cores."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import mcunet_v2
from mote.bench.evaluation.verify import verify
from mote.compiler.compiled import Compiled
from mote.compiler.line import compile
from tests.helpers.network import Net
from tests.helpers.support import emulated, needs_litert, soaked

pytestmark = needs_litert
MODELS = Path(__file__).parents[2] / "models"
LEAST, PUSHED = {"least_ram": True}, {"input": "rows"}
MODES: dict[str, dict[str, Any]] = {
    "least": LEAST,
    "pushed": PUSHED,
    "budget": {},
    "least, speed": LEAST | {"optimize": "speed"},
    "pushed, size": PUSHED | {"optimize": "size"},
    "row steps": {"step": "row"},
    "pushed row steps": PUSHED | {"step": "row"},
    "red zones": LEAST | {"red_zones": True},
    "pushed red zones": PUSHED | {"red_zones": True},
}
BUDGETS = {"digits": 900, "keywords": 6000, "small": 7000}
"""Bytes between those of the least plan and those of the plan by layers."""
TARGETS = ["host", "cortex-m4", "cortex-m0plus", "rv32imc"]


@cache
def model(name: str, dtype: str = "int8") -> bytes:
    path = MODELS / f"{name}.tflite"
    return path.read_bytes() if path.exists() else mcunet_v2.build(mcunet_v2.SMALL, dtype=dtype)


def compiled_as(name: str, mode: str, target: str) -> Compiled:
    """The model in a mode, which it is really in."""
    options = MODES[mode] | ({"ram": BUDGETS[name]} if mode == "budget" else {})
    compiled = compile(model(name), target=target, **options)
    plan = compiled.plan
    assert not plan.layered
    assert plan.pushed == (options.get("input") == "rows")
    assert plan.ram <= options.get("ram", plan.ram)
    assert (plan.zone > 0) == ("red_zones" in options)
    return compiled


def exact(compiled: Compiled, inputs: int = 2) -> None:
    result = verify(compiled, inputs, sanitize=compiled.settings.target.name == "host")
    assert result.reference == "LiteRT BUILTIN_REF" and result.tensors > 0
    assert result.passed, result.mismatches


def cases() -> list[tuple[str, str, str]]:
    """Every mode on the host, on a core with DSP instructions and on one or two others; every model on each of them."""
    names = list(BUDGETS)
    return [
        (target, mode, names[(i + t) % len(names)])
        for t, target in enumerate(TARGETS)
        for i, mode in enumerate(MODES)
        if t < 2 or (i + t) % 2
    ]


def usual() -> list[tuple[str, str, str]]:
    """Every mode on one target, every target with two of them or more."""
    turns = {mode: TARGETS[i % len(TARGETS)] for i, mode in enumerate(MODES)}
    return [case for case in cases() if case[0] in ("host", turns[case[1]])]


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(("target", "mode", "name"), soaked(cases(), usual()))
def test_every_mode(target: str, mode: str, name: str) -> None:
    exact(compiled_as(name, mode, emulated(target)), 4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "options"), [("host", LEAST), pytest.param("cortex-m4", PUSHED, marks=pytest.mark.slow)]
)
def test_work_done_twice(target: str, options: dict[str, Any]) -> None:
    """Less RAM, more work than once and no more than allowed, the same values."""
    built = mcunet_v2.build(mcunet_v2.TINY if target == "host" else mcunet_v2.SMALL)
    once = compile(built, target=target, **options)
    twice = compile(built, target=emulated(target), recompute=30.0, **options)
    assert twice.plan.ram < once.plan.ram
    assert once.macs < twice.macs <= 1.3 * once.macs
    exact(twice)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "options"), [("host", LEAST), ("host", PUSHED), ("cortex-m4", PUSHED), ("rv32imc", {"step": "row"})]
)
def test_float_model(target: str, options: dict[str, Any]) -> None:
    compiled = compile(model("small", "float32"), target=emulated(target), **options)
    assert not compiled.plan.layered
    exact(compiled)


def several_outputs(net: Net) -> bytes:
    """One of them is read again inside, one is the first to be there."""
    a = net.conv(net.input(1, 12, 9, 3), 6)
    b = net.conv(a, 4, stride=2)
    return net.finish(net.pool(a, 2, "MAX_POOL_2D"), b, net.conv(net.conv(b, 8), 5))


def concatenation(net: Net) -> bytes:
    """Channels side by side, then rows one below the other, from branches of different reach."""
    x = net.input(1, 10, 7, 4)
    same = net.quants[x]
    side = net.concatenate(3, net.conv(x, 5, quant=same), x, net.conv(net.conv(x, 3), 2, kernel=5, quant=same))
    return net.finish(net.conv(net.concatenate(1, side, net.conv(side, 11, quant=same)), 6, stride=2))


def resized(net: Net) -> bytes:
    x = net.conv(net.input(1, 8, 6, 3), 5)
    up = net.conv(net.resize(x, 16, 12), 4, stride=2)
    return net.finish(net.conv(net.resize(net.add(up, net.conv(x, 4)), 5, 13, "RESIZE_NEAREST_NEIGHBOR"), 3))


def transposed(net: Net) -> bytes:
    x = net.input(1, 12, 8, 3)
    return net.finish(net.add(net.transpose_conv(net.conv(x, 7, stride=2), 4), net.conv(x, 4)))


def padded(net: Net) -> bytes:
    """Rows, columns and channels of padding before layers that cannot take it in."""
    x = net.pad(net.conv(net.input(1, 7, 6, 3), 5), (0, 0), (2, 3), (0, 2), (0, 0))
    return net.finish(net.conv(net.pad(net.pool(x, 2, "MAX_POOL_2D"), (0, 0), (1, 0), (0, 0), (1, 2)), 4))


def two_images(net: Net) -> bytes:
    """Windows do not reach from one image into the other."""
    x = net.conv(net.conv(net.input(2, 9, 8, 3), 6), 8, stride=2)
    return net.finish(net.pool(net.conv(x, 5, kernel=1)))


def tall(net: Net) -> bytes:
    """More rows than are scheduled one by one."""
    x = net.conv(net.input(1, 300, 1, 3), 4)
    return net.finish(net.conv(net.conv(x, 5), 3, stride=4))


NETS = [several_outputs, concatenation, resized, transposed, padded, two_images, tall]
WAYS = [(net, mode, "int8") for net in NETS for mode in ("least", "pushed")]
WAYS += [(net, "pushed", "float32") for net in (concatenation, resized, transposed)]


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(("build", "mode", "dtype"), soaked(WAYS, [way for way in WAYS if way[1] == "pushed"]))
def test_every_kind_of_rows(build: Callable[[Net], bytes], mode: str, dtype: str) -> None:
    compiled = compile(build(Net(dtype=dtype)), **MODES[mode])
    assert not compiled.plan.layered
    exact(compiled, 4)


def test_an_output_that_is_a_view_counts_as_compared() -> None:
    """No step computes it: it is the bytes of what the convolution has left."""
    net = Net()
    result = verify(compile(net.finish(net.flat(net.conv(net.input(1, 6, 5, 3), 4)))), 2)
    assert result.exact and result.tensors == 2
