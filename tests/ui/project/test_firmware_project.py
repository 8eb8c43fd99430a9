"""`examples/firmware_project`: its workflow, its hook and its project file do what they say."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from mote.hardware.cores import ARCHITECTURES
from mote.ui.cli import COMMANDS, main, parser
from mote.ui.project.project_file import find_project
from mote.version import __version__
from tests.helpers.support import emulated, needs_litert

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "firmware_project"
WORKFLOW = EXAMPLE / ".github" / "workflows" / "model.yml"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def read(path: Path) -> Any:
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def steps() -> list[str]:
    """The commands of the workflow."""
    (job,) = read(WORKFLOW)["jobs"].values()
    assert all(step.get("run") or step.get("uses") for step in job["steps"])
    return [step["run"] for step in job["steps"] if "run" in step]


def extras(text: str) -> set[str]:
    """Extras that a command or a requirement names."""
    return {name for listed in re.findall(r"\[([\w,]+)\]", text) for name in listed.split(",")}


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project as it lies in a clone, where it may write."""
    shutil.copytree(EXAMPLE, tmp_path / "examples" / EXAMPLE.name, ignore=shutil.ignore_patterns("build"))
    (tmp_path / "models").symlink_to(ROOT / "models")
    monkeypatch.chdir(tmp_path / "examples" / EXAMPLE.name)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    return Path.cwd()


def test_the_project_file_is_read(copied: Path) -> None:
    firmware, host = find_project().entries()
    assert {"ram", "flash", "latency", "energy", "accuracy", "drop"} == set(firmware.checks.limits)
    assert host.recipe.settings.target.is_host and Path(host.file).is_file()
    ignored = (copied / ".gitignore").read_text().split()
    assert "build/" in ignored and "model-report.xml" in ignored


def test_the_workflow_installs_what_it_needs() -> None:
    """Extras of Mote's, and the packages that `mote doctor` names for the core."""
    apt, pip, doctor, check, build, selftest = steps()
    core = ARCHITECTURES["arm"]
    assert set(f"{core.gcc_packages} {core.qemu_packages}".split()) <= set(apt.split())
    assert pip.split()[:2] == ["pip", "install"] and PYPROJECT["name"] in pip
    assert extras(pip) and extras(pip) <= set(PYPROJECT["optional-dependencies"])
    for command in (doctor, check, build):
        words = shlex.split(command)
        assert words[0] == "mote"
        parser(words[1]).parse_args(words[1:])
    assert selftest == "make -C build/digits_host test"
    assert check.endswith("--junit model-report.xml")


def test_hooks() -> None:
    """The example uses a hook of this repository, whose commands exist, for the files that matter."""
    hooks = {hook["id"]: hook for hook in read(ROOT / ".pre-commit-hooks.yaml")}
    (used,) = read(EXAMPLE / ".pre-commit-config.yaml")["repos"]
    assert used["repo"] == PYPROJECT["urls"]["Repository"] and used["rev"] == f"v{__version__}"
    assert {hook["id"] for hook in used["hooks"]} <= set(hooks)
    for hook in hooks.values():
        program, command = hook["entry"].split()
        assert program in PYPROJECT["scripts"] and command in COMMANDS
        assert (hook["language"], hook["pass_filenames"]) == ("python", False)
        (needed,) = hook["additional_dependencies"]
        assert extras(needed) <= set(PYPROJECT["optional-dependencies"])
        files = re.compile(hook["files"])
        assert all(map(files.search, ("mote.toml", "a/pyproject.toml", "models/net.tflite", "test.npz")))
        assert not any(map(files.search, ("main.c", "README.md", "target.toml")))


@pytest.mark.slow
@needs_litert
def test_the_hook_holds_the_model(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only what runs on this computer is checked."""
    (hook,) = [hook for hook in read(ROOT / ".pre-commit-hooks.yaml") if hook["id"] == "mote-check"]
    assert main([*shlex.split(hook["entry"])[1:], "digits_host"]) == 0
    assert "4 checks passed" in capsys.readouterr().out


@pytest.mark.slow
@needs_litert
def test_the_workflow_runs(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every command but those that install, one after another."""
    emulated("stm32l4r5")
    for command in steps()[2:]:
        words = shlex.split(command)
        if words[0] == "mote":
            assert main(words[1:]) == 0, f"{command}\n{capsys.readouterr()}"
        else:
            subprocess.run(words, check=True, capture_output=True)
    assert (copied / "model-report.xml").read_bytes().startswith(b"<?xml")
    assert (copied / "build" / "digits" / "CMakeLists.txt").is_file()
