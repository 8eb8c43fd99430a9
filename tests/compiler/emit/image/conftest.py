"""What several tests of images use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compiler.emit.image.c_runtime import SOURCES, Library, built


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """The runtime with the kernels of images that are made by hand."""
    path = tmp_path_factory.mktemp("runtime") / "library.so"
    return Library(built(path, [*SOURCES, Path(__file__).parent / "handmade.c"], "-shared", "-fPIC", "-O1"))
