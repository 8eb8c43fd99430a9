"""CMSIS-NN for tests: Mote's own functions of the same names, and the real sources where this machine has them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mote.offload import cmsis_nn
from mote.offload.cmsis_nn.files import PACKS, PATH
from mote.offload.contract import forget

LIBRARY = Path(__file__).parent / "library"
"""Declarations written from the documentation of CMSIS-NN, and C that computes what it says, as simple as can be."""
GIVEN = {name: os.environ.get(name, "") for name in (PATH, PACKS)}


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planner takes whatever CMSIS-NN computes."""
    monkeypatch.setattr(cmsis_nn.CmsisNN, "estimate", lambda self, graph, op, target: 0.0)
    forget()


@pytest.fixture
def standin(monkeypatch: pytest.MonkeyPatch, chosen: None) -> Path:
    monkeypatch.setenv(PATH, str(LIBRARY))
    return LIBRARY


@pytest.fixture
def real(chosen: None) -> None:
    if not any(GIVEN.values()):
        pytest.skip(f"neither {PATH} nor {PACKS} is set: the sources of CMSIS-NN are not here")
