"""The backend `cmsis-nn` with the sources of CMSIS-NN, where this machine has them: exact on the host, and on cores
without DSP instructions, with them, and with Helium."""

from __future__ import annotations

import pytest

import mote
from tests.helpers.support import emulated, needs_litert
from tests.offload.cmsis_nn.layers import MODELS
from tests.offload.cmsis_nn.test_calls import on_core

pytestmark = needs_litert


@pytest.mark.parametrize("core", ["host", "cortex-m0plus", "cortex-m4", "cortex-m55"])
@pytest.mark.parametrize("name", MODELS)
def test_exact(name: str, core: str, real: None) -> None:
    made = mote.compile(MODELS[name](), target=core if core == "host" else emulated(core), backend="cmsis-nn")
    assert on_core(made) == []
    result = mote.verify(made, 2)
    assert result.passed, result.mismatches
