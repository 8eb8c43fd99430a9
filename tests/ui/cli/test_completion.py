"""Completion scripts in the shells that they are for."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from mote.ui.cli import COMMANDS
from tests.ui.cli.test_cli import ROOT, mote

ASKED = {
    "mote comp": {"compile", "completion"},
    "mote compile --tar": {"--target"},
    "mote compile x --target cortex-m4": {"cortex-m4", "cortex-m4-nofp"},
    "mote compile x --optimize ": {"speed", "balanced", "size"},
    "mote inspect models/digits.t": {"models/digits.tflite"},
    "mote completion ": {"bash", "zsh", "fish"},
}


@pytest.fixture
def script(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Path:
    """The script of the shell that a test is named after."""
    shell = request.node.name.rpartition("_")[2]
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    status, out, _ = mote(capsys, "completion", shell)
    assert status == 0 and all(command in out for command in COMMANDS)
    path = tmp_path / f"mote.{shell}"
    path.write_text(out)
    return path


def run(*command: str, home: Path) -> list[str]:
    environment = {**os.environ, "HOME": str(home), "TERM": "dumb"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, env=environment)
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_completion_in_bash(script: Path, tmp_path: Path) -> None:
    for line, wanted in ASKED.items():
        words = line.split(" ")
        quoted = " ".join(f"'{word}'" for word in words)
        given = f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}"
        ask = f'source {script}; {given}; _mote; printf "%s\\n" "${{COMPREPLY[@]}}"'
        assert set(run("bash", "--norc", "-c", ask, home=tmp_path)) == wanted, line


def test_completion_in_fish(script: Path, tmp_path: Path) -> None:
    for line, wanted in ASKED.items():
        offered = run("fish", "--no-config", "-c", f"source {script}; complete -C '{line}'", home=tmp_path)
        assert {text.partition("\t")[0] for text in offered} == wanted, line


def test_completion_in_zsh(script: Path) -> None:
    """Typed into a terminal, as zsh completes nowhere else."""
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(ROOT)
        os.environ.update(TERM="dumb", COLUMNS="100", HOME=str(script.parent))
        os.execvp("zsh", ["zsh", "-f", "-i"])
    try:
        os.write(terminal, f"autoload -Uz compinit; compinit -u -D; source {script}; echo LOA''DED\n".encode())
        assert "LOADED" in until(terminal, {"LOADED"})
        for line, wanted in ASKED.items():
            if len(wanted) > 1:
                os.write(terminal, f"\x15{line}\t\t".encode())
                shown = until(terminal, wanted)
                assert all(word in shown for word in wanted), line
    finally:
        os.close(terminal)
        os.waitpid(process, 0)


def until(terminal: int, wanted: set[str], seconds: float = 20.0) -> str:
    """What a terminal shows until all that is wanted is there, or it is too late."""
    text, late = "", time.monotonic() + seconds
    while not all(word in text for word in wanted) and time.monotonic() < late:
        if select.select([terminal], [], [], 0.1)[0]:
            text += os.read(terminal, 65536).decode(errors="replace")
    return text
