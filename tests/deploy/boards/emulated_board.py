"""Models for boards, and emulated boards that are reached like real ones: over a pseudo-terminal or TCP."""

from __future__ import annotations

import re
import select
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import mote
import mote.hardware.targets as targets
from mote.base.errors import MoteError
from mote.bench.measure.runner import bench
from mote.compiler.compiled import Compiled
from mote.compiler.firmware import firmware
from mote.deploy.boards.emulated import EmulatedLine
from mote.deploy.boards.placing import BoardModel, built
from mote.deploy.boards.placing import board_model as compiled_board_model
from mote.hardware.targets import Target
from mote.hardware.toolchain import Execution, Mode, find_compiler
from mote.hardware.toolchain.emulators import command, find_emulator

DIGITS = Path(__file__).parents[3] / "models" / "digits.tflite"


def needs(target: str) -> None:
    """Skips the test where the compiler or QEMU is not installed."""
    loaded = targets.load(target)
    if not shutil.which(loaded.core.qemu):
        pytest.skip(f"{loaded.core.qemu} is not installed")
    try:
        find_compiler(loaded)
    except MoteError as error:
        pytest.skip(str(error))


@cache
def compiled(target: str, optimize: str = "balanced") -> Compiled:
    return mote.compile(str(DIGITS), target=target, optimize=optimize)


def board_model(target: str, optimize: str = "balanced") -> BoardModel:
    return compiled_board_model(firmware(compiled(target, optimize)))


def built_elf(target: str, folder: Path) -> Path:
    """Firmware with the agent and the model for QEMU."""
    return built(board_model(target), folder, emulated=True)


def inputs(count: int) -> list[list[bytes]]:
    random = np.random.default_rng(3)
    return [[random.integers(0, 256, 64, np.uint8).tobytes()] for _ in range(count)]


def emulated(target: str, mode: Mode, count: int, folder: Path, optimize: str = "balanced") -> Execution:
    """The execution in the measuring harness."""
    folder.mkdir(exist_ok=True)
    return bench(compiled(target, optimize), folder).execute(mode, inputs(count))


@contextmanager
def on_terminal(elf: Path, target: Target) -> Iterator[str]:
    """The path of the pseudo-terminal that QEMU makes for a board's serial port."""
    arguments = command(elf, target, find_emulator(target, "qemu"), serial="pty")
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            assert process.stdout is not None
            match = re.search(r"redirected to (\S+)", process.stdout.readline())
            assert match
            yield match[1]
        finally:
            process.kill()


@contextmanager
def on_network(elf: Path, target: Target) -> Iterator[int]:
    """The port of a board behind TCP. Whenever the ELF file was replaced, the board has been flashed."""
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(0.1)
    ending = threading.Event()
    thread = threading.Thread(target=_bridge, args=(server, elf, target, ending), daemon=True)
    thread.start()
    try:
        yield int(server.getsockname()[1])
    finally:
        ending.set()
        thread.join(10)
        server.close()


def _bridge(server: socket.socket, elf: Path, target: Target, ending: threading.Event) -> None:
    line, written, connection = EmulatedLine(elf, target), elf.stat().st_mtime_ns, None
    line.open()
    while not ending.is_set():
        if elf.stat().st_mtime_ns != written:
            written = elf.stat().st_mtime_ns
            line.restart()
        if connection is None:
            try:
                connection = server.accept()[0]
            except TimeoutError:
                continue
        if data := line.receive(0.001):
            connection.sendall(data)
        if select.select([connection], [], [], 0.001)[0]:
            data = connection.recv(4096)
            if not data:
                connection.close()
                connection = None
            else:
                line.send(data)
    line.close()
