"""What the project needs: packages within bounds, exact versions for the tests, tools that may be installed."""

from __future__ import annotations

import re
import subprocess
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCK = (ROOT / "requirements" / "test.lock").read_text()
NIGHTLY = "tflite-micro"
"""Its builds do not stay on the index, so that none can be locked."""


MOST_BYTES = 110_000_000
"""Of an installation without extras."""


def requirements() -> list[Requirement]:
    project = PROJECT["project"]
    listed = [*project["dependencies"], *PROJECT["build-system"]["requires"]]
    listed += [r for extra in project["optional-dependencies"].values() for r in extra]
    return [r for r in map(Requirement, listed) if r.name != project["name"]]


def locked() -> dict[str, Version]:
    pairs = [line.split("==") for line in LOCK.splitlines() if not line.startswith("#")]
    return {name.lower().replace("_", "-"): Version(version) for name, version in pairs}


@pytest.mark.parametrize("requirement", requirements(), ids=lambda r: r.name)
def test_every_dependency_has_bounds_and_is_locked_within(requirement: Requirement) -> None:
    assert {s.operator for s in requirement.specifier} == {">=", "<"}
    if requirement.name != NIGHTLY:
        assert locked()[requirement.name] in requirement.specifier


def test_the_lock_is_for_every_platform() -> None:
    """Names and versions, and neither hashes nor addresses."""
    for line in LOCK.splitlines():
        assert re.fullmatch(r"#.*|[A-Za-z0-9._-]+==[0-9a-z.]+", line), line
    makefile = (ROOT / "Makefile").read_text()
    assert makefile.count("--constraint $(LOCK)") == 1 and makefile.count("$(INSTALL) --editable") == 4


def test_the_bare_install_is_small() -> None:
    """Mote and what it always needs; packages of other formats are extras."""
    needed = [Requirement(r).name for r in PROJECT["project"]["dependencies"]]
    files = [file.locate() for name in needed for file in distribution(name).files or ()]
    files += [path for path in (ROOT / "src" / "mote").rglob("*") if "__pycache__" not in path.parts]
    assert {"numpy", "pyelftools", "rich"} == set(needed)
    assert 10_000_000 < sum(Path(file).stat().st_size for file in files if Path(file).is_file()) < MOST_BYTES


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A machine without tools: only root, and a package manager that notes what it is told."""
    for name, does in {"id": "echo 0", "true": "exit 0", "apt-get": f'echo "$@" >> {tmp_path}/told'}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / name).chmod(0o755)
    return tmp_path


def install(bare: Path, **variables: str) -> tuple[str, str]:
    """What install-tools says, and what it tells the package manager."""
    done = subprocess.run(
        ["/bin/sh", str(ROOT / "scripts" / "install-tools")],
        env={"PATH": str(bare), **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    told = bare / "told"
    return done.stdout + done.stderr, told.read_text() if told.exists() else ""


def test_tools_are_installed_with_a_word_before(bare: Path) -> None:
    said, told = install(bare)
    packages = [line.split()[-1] for line in told.splitlines() if line.startswith("install")]
    assert {"gcc", "qemu-system-arm", "gcc-arm-none-eabi", "libnewlib-arm-none-eabi"} <= set(" ".join(packages).split())
    assert all(package in said.splitlines()[0] for package in packages) and "MOTE_NO_INSTALL=1" in said


def test_tools_are_not_installed_against_the_users_will(bare: Path) -> None:
    said, told = install(bare, MOTE_NO_INSTALL="1")
    assert told == "" and "MOTE_NO_INSTALL is set" in said and "gcc-arm-none-eabi" in said and "skip" in said


def test_without_a_package_manager_the_tests_go_on(bare: Path) -> None:
    (bare / "apt-get").unlink()
    said, told = install(bare)
    assert told == "" and "cannot install" in said
