"""Every packager has a page, an example for users to edit, and a test that builds what it writes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

import pytest

from mote.compiler.package.packagers import DEFAULT, PACKAGERS
from mote.deploy.agent.packages.packagers import AGENT_PACKAGES
from tests.compiler.package import (
    test_arduino,
    test_cmsis_pack,
    test_esp_idf,
    test_micropython,
    test_mlf,
    test_packages,
    test_platformio,
    test_rust,
    test_zephyr,
)

PAGES = Path(__file__).parents[3] / "docs" / "deploy"
BUILT: Mapping[str, Callable[..., None]] = {
    "make": test_packages.test_the_example_prints_what_the_reference_says,
    "cmake": test_packages.test_a_runtime_is_a_package_too,
    "micropython": test_micropython.test_the_example_prints_the_classes,
    "mlf": test_mlf.test_an_archive_is_read_compiled_and_run,
    "rust": test_rust.test_the_example_prints_the_classes,
    "zephyr": test_zephyr.test_the_sample_prints_the_lines_on_the_host,
    "arduino": test_arduino.test_the_sketch_prints_the_classes_on_an_atmega328p,
    "platformio": test_platformio.test_the_example_prints_the_classes,
    "cmsis-pack": test_cmsis_pack.test_sources_and_example_compile_for_the_core,
    "esp-idf": test_esp_idf.test_the_example_prints_the_classes_on_rv32imc,
}
"""The tests that build packages and run their examples, by packager."""


def undocumented(names: Collection[str]) -> set[str]:
    """Packagers without a row in packages.md that links to a page, which shows a command; a folder of C needs none."""
    rows = re.findall(r"^\| \[([^]]+)\]\(([^)]+)\)", (PAGES / "packages.md").read_text(encoding="utf-8"), re.MULTILINE)
    pages = {name: (PAGES / page).read_text("utf-8") for row, page in rows for name in re.findall(r"`([\w-]+)`", row)}
    return {
        name
        for name in names
        if not (f"--package {name}" in pages.get(name, "") or (name in pages and name in DEFAULT))
    }


def test_every_packager_has_a_page() -> None:
    assert undocumented([*PACKAGERS, "planted"]) == {"planted"}, (
        "a row in docs/deploy/packages.md, and a page with the command: docs/develop/adding-a-packager.md"
    )


def test_every_packager_has_files_to_edit() -> None:
    assert all(packager.edited for packager in PACKAGERS.values()), "an example, in `edited`"


def test_every_packager_is_built() -> None:
    assert BUILT.keys() == PACKAGERS.keys(), "a test that builds the example, in BUILT"
    assert len(set(BUILT.values())) == len(BUILT)


@pytest.mark.parametrize("name", BUILT)
def test_it_is_this_packager_that_is_built(name: str) -> None:
    """By name, in the test or in the file that it is in."""
    module = inspect.getmodule(BUILT[name])
    assert module is not None and f'"{name}"' in inspect.getsource(module)


def test_every_agent_has_a_row() -> None:
    text = (PAGES / "packages" / "agent.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`[^|]+) \|", text, re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`([\w-]+)`", row)} >= set(AGENT_PACKAGES)
