"""Layers against the limits of cores: the table of docs/measure/layers.md, and the lock on what layers take."""

from __future__ import annotations

from collections import defaultdict

import pytest

import layers
from layer_models import layers as layer_models
from mote.frontends import read as read_source
from mote.frontends import source_of
from tests.helpers.support import emulated

COMPILERS, FIGURES = layers.load()
CHUNK = 12
"""Cases that are one test."""


def chunks() -> list[list[layers.Case]]:
    """All cases, those of a core together."""
    of_cores = defaultdict(list)
    for case in layers.cases():
        of_cores[case[1]].append(case)
    return [found[n : n + CHUNK] for found in of_cores.values() for n in range(0, len(found), CHUNK)]


@pytest.mark.slow
@pytest.mark.parametrize("chunk", chunks(), ids=lambda chunk: f"{chunk[0][1]}-{chunk[0][0]}")
def test_no_layer_has_become_slower(chunk: list[layers.Case]) -> None:
    core = emulated(chunk[0][1])
    if layers.compiler(core) != COMPILERS[core]:
        pytest.skip(f"{layers.RECORD.name} is for {COMPILERS[core]}, here is {layers.compiler(core)}")
    worse = [
        line for case in chunk for line in layers.slower(case, FIGURES.get(layers.key(case)), layers.measure(case))
    ]
    assert not worse, "\n".join([*worse, f"if that is on purpose: {layers.UPDATE}"])


@pytest.mark.parametrize("name", ["conv1x1_12-8_6x6", "dw3x3_s1_8_8x8", "softmax_12"])
def test_some_layers_on_a_cortex_m4(name: str) -> None:
    test_no_layer_has_become_slower([(name, "cortex-m4", layers.SPEED)])


def test_a_slower_layer_is_found() -> None:
    case, before = ("x", "cortex-m4", "speed"), layers.Figures(1000, 2000, 2000)
    assert layers.slower(case, before, layers.Figures(1020, 2040, 9000)) == []
    assert layers.slower(case, before, layers.Figures(1021, 2041, 2000)) == [
        "x cortex-m4 speed: instructions 1,000 -> 1,021 (+2.1%)",
        "x cortex-m4 speed: cycles 2,000 -> 2,041 (+2.0%)",
    ]
    assert "is not in layers.json" in layers.slower(case, None, before)[0]


def test_the_record_has_every_case_and_the_page_is_made_of_it() -> None:
    assert set(FIGURES) >= set(map(layers.key, layers.cases()))
    assert layers.RECORD.read_text() == layers.text(COMPILERS, FIGURES)
    page = layers.PAGE.path.read_text()
    assert page == layers.PAGE.with_table(layers.tables(FIGURES))


def test_products_are_those_of_the_models() -> None:
    """What a count is divided by, where a model's operators know it."""
    for layer in layer_models():
        if layer.limit in layers.ELEMENTS or layer.name.startswith(("lstm", "gru")):
            continue
        graph = read_source(source_of(layer.build())).graph()
        counted = sum(op.macs(graph) for op in graph.ops)
        assert layer.work == counted, layer.name


def test_every_kind_of_layer_is_there() -> None:
    models = layer_models()
    assert len(models) >= 120
    assert {layer.dtype for layer in models} == {"int8", "int16", "float32"}
    for layer in models:
        for core in layers.CORES:
            assert layers.limit(layer, core) > 0, layer.name
