"""The backend `cmsis-nn` with the sources of CMSIS-NN, where this machine has them: exact on the host, and on cores
without DSP instructions, with them, and with Helium."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mote
from tests.helpers.support import emulated, examples, needs_litert, varied
from tests.offload.cmsis_nn.layers import MODELS, random_layers
from tests.offload.cmsis_nn.test_calls import on_core

pytestmark = needs_litert


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
