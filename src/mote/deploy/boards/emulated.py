"""Emulated boards: QEMU behind a pseudo-terminal, running firmware with the agent."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

from mote.base.errors import MoteError
from mote.base.system import has_processes, pty, subprocess, tty
from mote.deploy.wire.links import ConnectionLostError
from mote.hardware.targets import Target
from mote.hardware.toolchain.builder import board_of
from mote.hardware.toolchain.emulators import command, find_emulator

CHUNK = 1 << 16
SHIFT = 10
"""Every instruction takes 2
SHIFT ns of virtual time, QEMU's maximum: timer readings are off by less than a tick, and more ticks per instruction
reduce that error."""
SENDING_S = 10.0
ENDING_S = 5.0
LOOKING_S = 0.1
"""Seconds without data after which the emulator is checked to be alive."""
_PR_SET_PDEATHSIG = 1


class EmulatedLine:
    """Transport to a board in QEMU, which starts when opened and ends when closed. Reopening restarts a board that
    died."""

    window = 1

    def __init__(self, elf: Path, target: Target) -> None:
        if sys.platform == "win32" or not has_processes():
            raise MoteError("emulated boards need Linux or macOS", remedy="use a board with a serial port")
        self.name = f"qemu:{target.name}"
        self._command = command(elf, target, find_emulator(target, "qemu"), shift=SHIFT, serial="{serial}")
        self._process: subprocess.Popen[bytes] | None = None
        self._file: int | None = None
        self._other_end: int | None = None
        """The pseudo-terminal's other end, held open until the emulator opens it."""

    @property
    def process_id(self) -> int | None:
        return self._process.pid if self._process else None

    def open(self) -> None:
        if self._process is None or self._process.poll() is not None:
            self._start()

    def close(self) -> None:
        if self._process is not None:
            self._signal(signal.SIGCONT)
            self._process.kill()
            self._process.wait(ENDING_S)
            self._process = None
        for file in (self._file, self._other_end):
            if file is not None:
                os.close(file)
        self._file = self._other_end = None

    def restart(self) -> None:
        """Power-cycles the board."""
        self.close()
        self._start()

    def rest(self) -> None:
        """Suspends the emulator until the next byte is sent, since an idle board would occupy a host core."""
        self._signal(signal.SIGSTOP)

    def send(self, data: bytes) -> None:
        file = self._opened()
        self._signal(signal.SIGCONT)
        until = time.monotonic() + SENDING_S
        try:
            while data:
                if not select.select([], [file], [], max(0.0, until - time.monotonic()))[1]:
                    raise ConnectionLostError("the emulated board takes no more bytes")
                data = data[os.write(file, data) :]
        except OSError as error:
            raise self._gone(error) from None

    def receive(self, seconds: float) -> bytes:
        file = self._opened()
        until = time.monotonic() + seconds
        try:
            while (left := until - time.monotonic()) > 0:
                if select.select([file], [], [], min(left, LOOKING_S))[0]:
                    return os.read(file, CHUNK)
                if self._process is None or self._process.poll() is not None:
                    raise ConnectionLostError("the emulated board has ended")
        except OSError as error:
            raise self._gone(error) from None
        return b""

    def _start(self) -> None:
        self.close()
        self._file, self._other_end = pty.openpty()
        tty.setraw(self._other_end)
        os.set_blocking(self._file, False)
        arguments = [word.replace("{serial}", os.ttyname(self._other_end)) for word in self._command]
        try:
            nothing = subprocess.DEVNULL
            self._process = subprocess.Popen(
                arguments, stdin=nothing, stdout=nothing, stderr=nothing, preexec_fn=_dying_with_parent()
            )
        except OSError as error:
            self.close()
            raise MoteError(f"cannot run {self._command[0]}: {error.strerror}", remedy="mote doctor") from None

    def _opened(self) -> int:
        if self._file is None:
            raise ConnectionLostError("the emulated board is off")
        return self._file

    def _signal(self, number: int) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.send_signal(number)

    def _gone(self, error: OSError) -> ConnectionLostError:
        return ConnectionLostError(f"the emulated board is gone ({error.strerror})")


def ticks_per_instruction(target: Target) -> Fraction:
    """Counter ticks per instruction that the agent of an emulated board reads."""
    return Fraction(board_of(target).counter_hz << SHIFT, 10**9)


def _dying_with_parent() -> Callable[[], None] | None:
    """Preexec function for Linux: the emulator is killed when its parent dies."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
