"""Building packages with the tools of ecosystems, for tests."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
MODELS = ROOT / "models"
DIGITS = MODELS / "digits.tflite"
ARDUINO_API = Path(__file__).parent / "arduino_api"
STRICT = ("-Wall", "-Wextra", "-Werror")


def run(*command: str | Path, cwd: Path, env: Mapping[str, str] | None = None) -> str:
    """The output of a command that must succeed."""
    done = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True, env=env)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


def python_tool(name: str) -> str:
    """A command that a Python package brings; the test is skipped without it."""
    path = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if path is None:
        pytest.skip(f"not installed: {name}")
    return path


def printed(
    sources: Sequence[Path], program: Path, cwd: Path, *, flags: Sequence[str], main: Sequence[str]
) -> list[str]:
    """The lines that a C++ program prints with C sources, on this computer; `main`: flags of the program alone."""
    objects = []
    include = f"-I{sources[0].parent}"
    for source in sources:
        objects.append(cwd / f"{source.stem}.o")
        run("cc", "-Os", *STRICT, *flags, include, "-c", source, "-o", objects[-1], cwd=cwd)
    run(
        "g++",
        "-Os",
        *STRICT,
        *main,
        include,
        f"-I{program.parent}",
        program,
        "-x",
        "none",
        *objects,
        "-o",
        "main",
        cwd=cwd,
    )
    return run(cwd / "main", cwd=cwd).splitlines()
