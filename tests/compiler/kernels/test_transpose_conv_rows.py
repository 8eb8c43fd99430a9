"""Transposed convolutions by kernels of ordinary ones against NumPy: the portable twins under the sanitizers, and on
emulated cores."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mote.compiler.kernels import catalogue
from mote.compiler.kernels.contract import Refusal, View
from mote.frontends import tflite
from mote.ir.graph import Graph
from mote.ir.ops.windows.transpose_conv import TransposeConv
from tests.compiler.kernels.c_harness import Case, Program, check_cases
from tests.helpers.support import batch, emulated, examples
from tests.ir.ops.windows.test_transpose_conv import model

Config = dict[str, Any]
KERNELS = {
    k.name.removeprefix("transpose_conv_rows_"): k for k in catalogue.KERNELS if k.costs == "transpose_conv_rows"
}
CORES = {
    "fpu": "cortex-m4",
    "helium": "cortex-m55",
    "armv6m": "cortex-m0plus",
    "armv7m": "cortex-m3",
}


@st.composite
def configs(draw: st.DrawFn) -> Config:
    taps = draw(st.tuples(st.integers(1, 5), st.integers(1, 5)))
    stride = (draw(st.sampled_from([1, 2, 2])), draw(st.sampled_from([1, 2, 2, 3])))
    kernel = tuple(max(k, s) if draw(st.integers(0, 4)) else k for k, s in zip(taps, stride, strict=True))
    padding = draw(st.sampled_from(["SAME", "VALID"]))
    least = kernel if padding == "VALID" else (1, 1)
    return {
        "dtype": "int8",
        "batch": draw(st.sampled_from([1, 1, 2])),
        "size": [draw(st.integers(n, n + 11)) for n in least],
        "channels": draw(
            st.sampled_from([(16, 16), (16, 4), (8, 12), (32, 8), (12, 8), (4, 4), (20, 8), (3, 4), (16, 5)])
        ),
        "kernel": kernel,
        "stride": stride,
        "padding": padding,
        "activation": draw(st.sampled_from(["NONE", "NONE", "RELU"])),
        "per_channel": draw(st.booleans()),
        "bias": draw(st.booleans()),
        "gain": draw(st.sampled_from([0.3, 1.0])),
        "zeros": draw(st.sampled_from([(-128, -128), (5, -128), (-3, 7)])),
        "seed": draw(st.integers(0, 1 << 30)),
    }


def cases(chosen: list[Config], names: list[str]) -> list[Case]:
    found = []
    for config in chosen:
        graph = read(config)
        for name in names:
            kernel = KERNELS[name].bind(View(graph, graph.ops))
            if not isinstance(kernel, Refusal):
                found.append(Case(graph, graph.ops[0], kernel, config["seed"]))
    return found


def read(config: Config) -> Graph:
    graph = tflite.parse(model([config]), "layer")
    assert isinstance(graph.ops[0], TransposeConv)
    return graph


BATCH = batch(configs(), 10, 10)
TRIES = settings(max_examples=examples(3, 1), deadline=None, suppress_health_check=list(HealthCheck))


@given(BATCH)
@TRIES
def test_portable_twins(chosen: list[Config]) -> None:
    check_cases(cases(chosen, list(KERNELS)), Program())


@pytest.mark.parametrize(("name", "core"), CORES.items())
@given(BATCH)
@TRIES
def test_on_cores(name: str, core: str, chosen: list[Config]) -> None:
    check_cases(cases(chosen, [name]), Program(emulated(core)))


PLAIN: Config = {
    "dtype": "int8", "batch": 1, "size": [8, 8], "channels": (16, 16), "kernel": (3, 3), "stride": (2, 2),
    "padding": "SAME", "activation": "NONE", "per_channel": True, "bias": True, "gain": 0.5, "zeros": (5, -128),
    "seed": 3,
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"kernel": (1, 3)}, "no input"),
        ({"kernel": (3, 1)}, "no input"),
        ({"kernel": (3, 3), "stride": (3, 2)}, "strides of 2 rows"),
        ({"size": [7, 7], "channels": (5, 3)}, "four bytes"),
        ({"gain": 1e-9}, "no kernel"),
    ],
)
def test_what_it_is_not_for(changes: Config, why: str) -> None:
    graph = read(PLAIN | changes)
    refused = KERNELS["fpu"].bind(View(graph, graph.ops))
    assert isinstance(refused, Refusal) and why in refused.why
