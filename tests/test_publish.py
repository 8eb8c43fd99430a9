"""The package as it is published: metadata, a wheel and an archive of sources that carry everything, a clean
environment with nothing but what they ask for, and the notes of a release."""

from __future__ import annotations

import email
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
from collections.abc import Iterator
from email.message import Message
from importlib.machinery import SourceFileLoader
from importlib.metadata import distribution
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from packaging.utils import parse_sdist_filename, parse_wheel_filename

from mote.version import __version__

pytest.importorskip("hatchling", reason="hatchling builds the wheel")

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "mote"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MOST_BYTES = 4_300_000
"""Of the wheel."""


def build(folder: Path, kind: str, tree: Path) -> Path:
    """A wheel or an archive of sources, by the build back end itself: without a network."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    subprocess.run(command, cwd=tree, check=True, capture_output=True)
    (made,) = folder.iterdir()
    return made


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("sdist"), "sdist", ROOT)


@pytest.fixture(scope="module")
def wheel(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the archive of sources, which is what an index has where there is no wheel."""
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sources) as archive:
        archive.extractall(folder, filter="data")
    (tree,) = folder.iterdir()
    return build(tmp_path_factory.mktemp("wheel"), "wheel", tree)


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    with ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return email.message_from_bytes(archive.read(name))


def test_the_wheel_carries_every_file(wheel: Path) -> None:
    name, version, _, tags = parse_wheel_filename(wheel.name)
    assert (name, str(version)) == (PROJECT["name"], __version__) and {str(tag) for tag in tags} == {"py3-none-any"}
    with ZipFile(wheel) as archive:
        packed = {name.removeprefix("mote/") for name in archive.namelist() if name.startswith("mote/")}
        others = {name.split("/")[0] for name in archive.namelist() if not name.startswith("mote/")}
    files = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*") if path.is_file()}
    assert packed == {name for name in files if "__pycache__" not in name}
    assert others == {f"{name}-{version}.dist-info"}
    for ending in (".h", ".c", ".S", ".toml", ".json", ".tflite", ".cmake", ".js", ".css", ".html", "py.typed"):
        assert any(name.endswith(ending) for name in packed), ending
    assert wheel.stat().st_size < MOST_BYTES


def test_the_archive_of_sources_is_complete(sources: Path) -> None:
    name, version = parse_sdist_filename(sources.name)
    with tarfile.open(sources) as archive:
        names = {member.partition("/")[2] for member in archive.getnames()}
    assert (name, str(version)) == (PROJECT["name"], __version__)
    assert {"LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml", "docs/README.md", "PKG-INFO"} <= names
    assert not [name for name in names if "__pycache__" in name or name.startswith(".venv")]


def test_metadata_is_what_an_index_shows(metadata: Message) -> None:
    """What `twine check` and an index refuse: unknown classifiers, a description that is no Markdown."""
    classifiers = pytest.importorskip("trove_classifiers", reason="the list of classifiers of the package index")
    assert set(metadata.get_all("Classifier") or ()) <= classifiers.classifiers
    assert metadata["License-Expression"] == "Apache-2.0" and metadata["License-File"] == "LICENSE"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata["Requires-Python"] == ">=3.11" and metadata["Author"]
    assert 40 < len(metadata["Summary"]) < 160 and "," in metadata["Keywords"]
    assert str(metadata.get_payload()).strip() == (ROOT / "README.md").read_text(encoding="utf-8").strip()
    urls = dict(line.split(", ", 1) for line in metadata.get_all("Project-URL") or ())
    assert set(urls) == {"Homepage", "Documentation", "Repository", "Changelog", "Issues"}
    for url in urls.values():
        assert url.startswith("https://github.com/moteml/mote")
        _, in_tree, path = url.partition("/blob/main/")
        assert not in_tree or (ROOT / path).is_file()
    minor = {int(found) for found in re.findall(r"Python :: 3\.(\d+)", "\n".join(metadata.get_all("Classifier") or ()))}
    assert min(minor) == 11


def needed(name: str, seen: set[str] | None = None) -> set[str]:
    """A distribution and what it needs without extras."""
    seen = set() if seen is None else seen
    if name not in seen:
        seen.add(name)
        for line in distribution(name).requires or ():
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                needed(requirement.name, seen)
    return seen


def tops(name: str) -> Iterator[Path]:
    """The files and folders of a distribution beside those of others."""
    files = distribution(name).files or []
    for top in {file.parts[0] for file in files if file.parts[0] not in ("..", "__pycache__")}:
        yield Path(str(distribution(name).locate_file(top)))


@pytest.fixture(scope="module")
def clean(wheel: Path, metadata: Message, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel, installed by pip, and nothing else but its dependencies, taken from here."""
    pytest.importorskip("pip", reason="pip installs the wheel")
    folder = tmp_path_factory.mktemp("clean")
    venv.create(folder, with_pip=False, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    for line in metadata.get_all("Requires-Dist") or ():
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            for top in {path for name in needed(requirement.name) for path in tops(name)}:
                if not (packages / top.name).exists():
                    (packages / top.name).symlink_to(top)
    install = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install", "--quiet"]
    install += ["--no-deps", "--no-index", "--no-compile", "--disable-pip-version-check", str(wheel)]
    subprocess.run(install, check=True, capture_output=True, cwd=folder)
    return folder


COMMANDS = """
import sys
from mote.ui.cli import main
import mote
assert sys.prefix in mote.__file__, mote.__file__
for command in (
    ["compile", "digits.tflite", "--target", "cortex-m4", "-o", "c"],
    ["doctor"],
    ["cmake"],
):
    assert main(command) == 0, command
"""


@pytest.mark.slow
def test_the_wheel_works_in_a_clean_environment(clean: Path, tmp_path: Path) -> None:
    (tmp_path / "digits.tflite").write_bytes((ROOT / "models" / "digits.tflite").read_bytes())
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MOTE_"))}
    python = [str(clean / "bin" / "python"), "-I", "-c", COMMANDS]
    done = subprocess.run(python, cwd=tmp_path, env=outside, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "c" / "digits.c").is_file()
    assert (Path(done.stdout.splitlines()[-1]) / "MoteConfig.cmake").is_file()
    for script in ("mote", "moteml"):
        said = subprocess.run([str(clean / "bin" / script), "--version"], env=outside, capture_output=True, text=True)
        assert said.stdout == f"mote {__version__}\n"


@pytest.fixture(scope="module")
def releases() -> ModuleType:
    loader = SourceFileLoader("release_notes", str(ROOT / "scripts" / "release-notes"))
    spec = spec_from_loader("release_notes", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


CHANGELOG = """# Changelog

## 0.2.0 (unreleased)

Better:

- One thing, told in
  two lines (docs/README.md, docs/gone).
- `docs/README.md` is code.

```
a  block
  of code
```

## 0.1.0 (2026-12-01)

The first
release.
"""


def test_release_notes_are_a_section_of_the_changelog(releases: ModuleType) -> None:
    repository = PROJECT["urls"]["Repository"]
    assert releases.notes(CHANGELOG, "0.1.0", repository) == "The first release.\n"
    link = f"[docs/README.md]({repository}/blob/v0.2.0/docs/README.md)"
    assert releases.notes(CHANGELOG, "0.2.0", repository) == (
        f"Better:\n\n- One thing, told in two lines ({link}, docs/gone).\n- `docs/README.md` is code.\n\n"
        "```\na  block\n  of code\n```\n"
    )
    with pytest.raises(LookupError, match=r"no version 0\.3; it has 0\.2\.0, 0\.1\.0"):
        releases.notes(CHANGELOG, "0.3", repository)
    assert releases.obstacle(CHANGELOG, "0.1.0", "0.1.0") == ""
    assert "no date" in releases.obstacle(CHANGELOG, "0.2.0", "0.2.0")
    assert "version.py" in releases.obstacle(CHANGELOG, "0.1.0", "0.2.0")


def test_the_changelog_has_this_version(releases: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert next(iter(releases.sections(changelog))) == __version__
    assert releases.main([]) == 0
    made = capsys.readouterr().out
    assert len(made) > 1000 and "\n  " not in re.sub(r"```.*?```", "", made, flags=re.DOTALL)
    assert releases.main(["9.9.9"]) == 1 and "no version 9.9.9" in capsys.readouterr().err
