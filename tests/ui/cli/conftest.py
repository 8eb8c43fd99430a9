"""Commands print as they do in a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="package", autouse=True)
def _eighty_columns() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("COLUMNS", "80")
        yield
