"""The device program and its flash, for the tests of updates over a line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.deploy.update.ota_device import FLASH
from tests.deploy.update.update_bench import HERE, MODULE, built, sources


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("device"), [HERE / "device.c", *sources(*MODULE)])


@pytest.fixture
def flash(tmp_path: Path) -> Path:
    path = tmp_path / "flash"
    path.write_bytes(b"\xff" * FLASH)
    return path
