"""The device's side of `mote ota` as a program of this computer, with its flash in a file."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mote.deploy.update.session import Patience
from mote.ui.cli import main
from tests.deploy.update.update_bench import image, pair, stand_in_signed

FLASH = 2 * 65_536 + 2 * 4096
OLD, NEW = (stand_in_signed(image(version, payload)) for version, payload in enumerate(pair(20_000), 1))
PATIENT = Patience(answer_s=0.1, tries=300, restart_s=60.0, confirm_s=60.0)
"""Questions are repeated soon, and answers awaited for as long as a busy machine takes."""


@contextmanager
def running(command: list[str], **how: object) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(command, **how)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


@contextmanager
def listening(program: Path, flash: Path, *more: str) -> Iterator[int]:
    """A device that listens; the port."""
    with running([str(program), str(flash), "listen", *more], stdout=subprocess.PIPE) as process:
        assert process.stdout
        yield int(process.stdout.readline())


def written(folder: Path, **images: bytes) -> dict[str, str]:
    for name, data in images.items():
        (folder / f"{name}.mote").write_bytes(data)
    return {name: str(folder / f"{name}.mote") for name in images}


def ota(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert main(["ota", *arguments, "--json"]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found
