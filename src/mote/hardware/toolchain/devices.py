"""Simulated accelerators: Python answers the driver calls of a running model (harness/mote_device.h).

A model in the harness calls through two pipes, answered by a thread of this process; a model in a shared library uses
callbacks. Both end with the run."""

from __future__ import annotations

import os
import selectors
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from operator import index
from pathlib import Path
from threading import Lock, Thread

from mote.base.errors import MoteError

CALLS, ANSWERS = "mote_device_calls", "mote_device_answers"
"""Names of the pipes, as in harness/port.h."""
Memory = Sequence[bytearray]
_GO_ON, _STOP = 1, 0
_MOST_NAME, _MOST_AREAS, _PIECE = 256, 1024, 1 << 16


@dataclass(frozen=True)
class SimulatedDevice:
    """An accelerator simulated in Python."""

    simulate: Callable[[Memory], int]
    """Simulates a call by changing memory areas in place; returns 0 or an error code for the driver."""
    layers: Mapping[str, Sequence[bytes]] = field(default_factory=dict)
    """Constants of each layer it computes, by layer name, which identify the layer of a call."""

    def layer(self, memory: Memory) -> str:
        """The layer of a call: the one whose constants are in its memory, else any."""
        given = set(map(bytes, memory))
        named = [name for name, blobs in self.layers.items() if given.intersection(blobs)]
        return " or ".join(f"'{name}'" for name in (named if len(named) == 1 else self.layers))


@dataclass(frozen=True)
class Simulation:
    """Simulated accelerators of a model, with their drivers."""

    files: Mapping[str, str] = field(default_factory=dict)
    """C files and headers of simulated drivers, compiled with the harness."""
    replaced: frozenset[str] = frozenset()
    """Paths of real driver files that are replaced."""
    devices: Mapping[str, SimulatedDevice] = field(default_factory=dict)

    @property
    def sources(self) -> list[str]:
        return [name for name in self.files if name.endswith(".c")]


class Answers:
    """Answers driver calls one at a time, until the first failure, which is recorded."""

    def __init__(self, devices: Mapping[str, SimulatedDevice]) -> None:
        self.devices = devices
        self.failure: MoteError | None = None
        self._lock = Lock()

    def answer(self, name: str, memory: Memory) -> int | None:
        """Device status after changing memory; None after a failure."""
        with self._lock:
            if self.failure is None:
                try:
                    return self._status(name, memory)
                except Exception as error:  # whatever a generator raises is told to the user, not to the thread
                    self.failure = self._told(name, memory, error)
            return None

    def _status(self, name: str, memory: Memory) -> int:
        if name not in self.devices:
            raise MoteError(f"a driver calls the device '{name}', and there is no generator of that name here")
        status = self.devices[name].simulate(memory)
        if not hasattr(status, "__index__") or not -(2**31) <= index(status) < 2**31:
            raise TypeError(f"simulate returned {status!r}, which is no status of 32 bits")
        return index(status)

    def _told(self, name: str, memory: Memory, error: Exception) -> MoteError:
        device = self.devices.get(name)
        layer = device.layer(memory) if device else ""
        where = f"generator '{name}', layer {layer}" if layer else f"generator '{name}'"
        if isinstance(error, MoteError):
            reason = f"{error.where}: {error.reason}" if error.where else error.reason
            return MoteError(reason, where=where, remedy=error.remedy or "correct the generator")
        said = f"{type(error).__name__}: {error}".rstrip(": ")
        failure = MoteError(f"simulating its accelerator failed: {said}", where=where, remedy="correct the generator")
        failure.__cause__ = error
        return failure

    def check(self) -> None:
        """Raises the recorded failure, if any."""
        if self.failure is not None:
            raise self.failure


@contextmanager
def answered(devices: Mapping[str, SimulatedDevice], workdir: Path) -> Iterator[None]:
    """Context manager: answers the driver calls of a model running in a folder. A device failure is raised instead of
    the crash it caused."""
    if not devices:
        yield
        return
    if not hasattr(os, "mkfifo"):
        raise MoteError("accelerators are not simulated on this system: it has no named pipes", remedy="use Linux")
    answers = Answers(devices)
    with _pipes(workdir) as (calls, replies, stop, end):
        thread = Thread(target=_serve, args=(answers, calls, replies, stop), daemon=True)
        thread.start()
        try:
            yield
        except MoteError:
            answers.check()
            raise
        finally:
            os.write(end, b".")
            thread.join()
    answers.check()


class _EndedError(Exception):
    """Raised when the run has ended, so no answer is expected."""


@contextmanager
def _pipes(workdir: Path) -> Iterator[tuple[int, int, int, int]]:
    """Context manager: the pipes of a run, opened on this side first to avoid blocking, and a pipe that signals the end
    of the run."""
    paths = [workdir / CALLS, workdir / ANSWERS]
    files: list[int] = []
    stop = os.pipe()
    try:
        for path in paths:
            path.unlink(missing_ok=True)
            os.mkfifo(path)
            files.append(os.open(path, os.O_RDWR | os.O_NONBLOCK))
        yield files[0], files[1], stop[0], stop[1]
    finally:
        for file in (*files, *stop):
            os.close(file)
        for path in paths:
            path.unlink(missing_ok=True)


def _serve(answers: Answers, calls: int, replies: int, stop: int) -> None:
    with suppress(_EndedError):
        while True:
            length, count = struct.unpack("<2I", _read(calls, 8, stop))
            if length > _MOST_NAME or count > _MOST_AREAS:
                message = "a driver called with what is no call; is its count of areas right?"
                answers.failure = answers.failure or MoteError(message, remedy="correct the generator's simulated C")
                _write(replies, struct.pack("<2I", _STOP, 0), stop)
                return
            name = bytes(_read(calls, length, stop)).decode(errors="replace")
            sizes = struct.unpack(f"<{count}I", _read(calls, 4 * count, stop))
            memory = [_read(calls, size, stop) for size in sizes]
            before = [bytes(area) for area in memory]
            status = answers.answer(name, memory)
            reply = struct.pack("<Ii", _STOP if status is None else _GO_ON, status or 0)
            for was, area in zip(before, memory, strict=True):
                reply += struct.pack("<I", area != was) + (area if area != was else b"")
            _write(replies, reply, stop)


def _read(file: int, size: int, stop: int) -> bytearray:
    data = bytearray()
    while len(data) < size:
        _wait(file, selectors.EVENT_READ, stop)
        with suppress(BlockingIOError):
            data += os.read(file, min(size - len(data), _PIECE))
    return data


def _write(file: int, data: bytes, stop: int) -> None:
    left = memoryview(data)
    while left:
        _wait(file, selectors.EVENT_WRITE, stop)
        with suppress(BlockingIOError):
            left = left[os.write(file, left[:_PIECE]) :]


def _wait(file: int, event: int, stop: int) -> None:
    with selectors.DefaultSelector() as selector:
        selector.register(file, event)
        selector.register(stop, selectors.EVENT_READ)
        if any(key.fd == stop for key, _ in selector.select()):
            raise _EndedError
