"""What the project needs: packages within bounds, exact versions for the tests, tools that may be installed."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
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


IMPORTED = re.compile(r"^(?:import ([\w.]+)|from ([\w.]+) import (\([^)]*\)|.*))", re.MULTILINE)
SKIPPED = re.compile(r"^(?:\w+ = )?pytest\.importorskip\(\"(\w+)", re.MULTILINE)
NEEDED = {"numpy", "rich", "elftools", "pytest", "hypothesis", "packaging"}
"""Packages that the tests cannot do without; tests of others are skipped where a package is missing."""
SCRIPTS = ("benchmarks", "models", "examples/mlperf_tiny", "src", ".")
"""Folders that tests import from."""


@cache
def module_file(name: str) -> Path | None:
    """The file of a module of this repository, None for a module of a package."""
    for folder in SCRIPTS:
        path = ROOT / folder / name.replace(".", "/")
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.is_file():
                return file
    return None


def imported(text: str) -> Iterator[tuple[int, str]]:
    """The modules that importing a file imports, and the offsets of these statements."""
    for match in IMPORTED.finditer(text):
        plain, module, names = match.groups()
        yield match.start(), plain or module
        for name in re.findall(r"\w+", names or ""):
            yield match.start(), f"{module}.{name}"


def is_optional(module: str) -> bool:
    """Whether a module is of a package that may be missing."""
    top = module.partition(".")[0]
    return top not in {"mote", "tests", *NEEDED, *sys.stdlib_module_names} and module_file(top) is None


def code_of(path: Path) -> str:
    """The text of a file without strings of several lines."""
    return re.sub(r'""".*?"""', '""', path.read_text(encoding="utf-8"), flags=re.DOTALL)


@cache
def direct(path: Path) -> tuple[frozenset[str], frozenset[Path]]:
    """The optional packages that a file imports, or skips without, and the files of this repository that it imports."""
    text = code_of(path)
    packages, files = set(SKIPPED.findall(text)), set()
    for _, module in imported(text):
        if file := module_file(module):
            files.add(file)
        elif is_optional(module):
            packages.add(module.partition(".")[0])
    return frozenset(packages), frozenset(files)


@cache
def behind(path: Path) -> frozenset[str]:
    """The optional packages without which a file cannot be imported."""
    seen, left = {path}, [path]
    while left:
        new = direct(left.pop())[1] - seen
        seen |= new
        left += new
    return frozenset().union(*(direct(file)[0] for file in seen))


def unskipped(text: str) -> set[str]:
    """Packages that a file of tests imports, itself or through a module, before it skips where they are missing.

    Helpers of tests skip for those that import them. A file of tests that was skipped stays half imported, so that
    those that import from it must skip by themselves."""
    skips = [(match.start(), match[1]) for match in SKIPPED.finditer(text)]
    missing = set()
    for place, module in imported(text):
        top, file = module.partition(".")[0], module_file(module)
        packages = {top} if is_optional(module) else set()
        if file is not None and (top != "tests" or file.name.startswith("test_")):
            packages |= behind(file)
        missing |= packages - {package for where, package in skips if where < place}
    return missing


def test_optional_packages_are_not_needed_to_collect() -> None:
    """`python -m tests.fuzz` is run by hand, with the packages that it needs."""
    files = [path for path in (ROOT / "tests").rglob("*.py") if path.name != "__main__.py"]
    wrong = {path.relative_to(ROOT): unskipped(code_of(path)) for path in files}
    lines = [f"{path} imports {', '.join(sorted(names))}" for path, names in wrong.items() if names]
    assert not lines, "call pytest.importorskip(...) before, or in what needs it:\n" + "\n".join(lines)


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
