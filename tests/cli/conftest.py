"""Commands print as they do in a terminal of 80 columns."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
