"""CMSIS-NN for tests: Mote's own functions of the same names, and the real sources where this machine has them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mote.compiler.offload import cmsis_nn
from mote.compiler.offload.cmsis_nn.files import PACKS, PATH
from mote.compiler.offload.contract import forget

LIBRARY = Path(__file__).parent / "library"
"""Declarations written from the documentation of CMSIS-NN, and C that computes what it says, as simple as can be."""
GIVEN = {name: os.environ.get(name, "") for name in (PATH, PACKS)}
needs_sources = pytest.mark.skipif(
    not any(GIVEN.values()), reason=f"neither {PATH} nor {PACKS} is set: the sources of CMSIS-NN are not here"
)


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever CMSIS-NN computes takes no time."""
    monkeypatch.setattr(cmsis_nn.CmsisNN, "estimate", lambda self, graph, op, target: 0.0)
    forget()


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch, fast: None) -> None:
    """The planner takes whatever CMSIS-NN computes: it takes no time and no flash."""
    monkeypatch.setattr(cmsis_nn, "linked", lambda call, target: {"everything": 0})
    monkeypatch.setattr(cmsis_nn, "CALL", 0)
    forget()


@pytest.fixture
def standin(monkeypatch: pytest.MonkeyPatch, chosen: None) -> Path:
    monkeypatch.setenv(PATH, str(LIBRARY))
    return LIBRARY


@pytest.fixture
def real(chosen: None) -> None:
    """The user's CMSIS-NN, whatever it computes."""
