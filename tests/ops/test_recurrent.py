"""Models of recurrent operators, from the file to C, over many steps against LiteRT; and whether they forget."""

from __future__ import annotations

import pytest
import test_lstm
import test_svdf
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.api.compiler import compile
from mote.api.verifier import verify
from support import emulated, examples, needs_litert

STEPS = 30


@needs_litert
@given(st.lists(test_svdf.configs(), min_size=2, max_size=3))
@settings(max_examples=examples(6), deadline=None)
def test_svdf_models(layers: list[test_svdf.Config]) -> None:
    assert verify(compile(test_svdf.model(*layers)), STEPS, sanitize=True).passed


@needs_litert
@given(st.lists(test_lstm.any_kind(), min_size=2, max_size=2))
@settings(max_examples=examples(6), deadline=None)
def test_lstm_models(layers: list[test_lstm.Config]) -> None:
    assert verify(compile(test_lstm.model(*layers)), STEPS, sanitize=True).passed


@needs_litert
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m0plus", "rv32imc"])
def test_on_cores(core: str) -> None:
    svdf, lstm = test_svdf.model(test_svdf.Config(seed=3)), test_lstm.model(test_lstm.Config(seed=5))
    model = svdf if core == "cortex-m0plus" else lstm
    compiled = compile(model, target=emulated(core))
    assert compiled.plan.graph.states and verify(compiled, STEPS).passed


@needs_litert
@pytest.mark.parametrize("options", [{"least_ram": True}, {"red_zones": True}, {"caller_arena": True}])
def test_other_ways_to_run(options: dict[str, object]) -> None:
    model = test_svdf.model(test_svdf.Config(seed=1), test_svdf.Config(seed=2))
    assert verify(compile(model, **options), STEPS, sanitize=True).passed
