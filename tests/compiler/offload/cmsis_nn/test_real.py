"""The backend `cmsis-nn` with the sources of CMSIS-NN, where this machine has them: exact on the host, and on cores
without DSP instructions, with them, and with Helium."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mote
from mote.bench.measure.runner import linked_flash
from tests.compiler.offload.cmsis_nn.conftest import needs_sources
from tests.compiler.offload.cmsis_nn.layers import MODELS, random_layers
from tests.compiler.offload.cmsis_nn.test_calls import on_core
from tests.helpers.support import emulated, examples, needs_litert, varied

pytestmark = [needs_litert, needs_sources]


@pytest.mark.parametrize("core", ["host", "cortex-m0plus", "cortex-m4", "cortex-m55"])
@pytest.mark.parametrize("name", MODELS)
def test_exact(name: str, core: str, real: None) -> None:
    made = mote.compile(MODELS[name](), target=core if core == "host" else emulated(core), backend="cmsis-nn")
    assert on_core(made) == []
    result = mote.verify(made, 2)
    assert result.passed, result.mismatches


@pytest.mark.parametrize("core", ["cortex-m0plus", "cortex-m4", "cortex-m55"])
@settings(max_examples=examples(6), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(varied(st.integers(0, 2**32 - 1)))
def test_random_layers(core: str, real: None, seed: int) -> None:
    result = mote.verify(mote.compile(random_layers(seed), target=emulated(core), backend="cmsis-nn"), 2)
    assert result.passed, result.mismatches


@pytest.mark.parametrize("core", ["cortex-m0plus", "cortex-m4", "cortex-m55"])
@pytest.mark.parametrize("name", MODELS)
def test_code_is_priced(name: str, core: str, fast: None) -> None:
    """The functions that are linked take what the planner counts, each once."""
    made = mote.compile(MODELS[name](), target=emulated(core), backend="cmsis-nn", optimize="speed", flags="O2")
    assert on_core(made) == []
    pieces = dict(piece for step in made.plan.steps for piece in step.kernel.price.linked)
    counted = sum(nbytes for function, nbytes in pieces.items() if "arm_" in function)
    linked = sum(part.nbytes for part in linked_flash(made) if "arm_" in part.name)
    assert counted == pytest.approx(linked, rel=0.15)
