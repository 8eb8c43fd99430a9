"""The process that runs Vela's compiler, native code that crashes on some files."""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import sys
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

from mote.base.system import subprocess

WORKER = Path(__file__).with_name("vela_worker.py")


class VelaCrashError(Exception):
    """Raised if the process ends during a request; the message says how."""


class VelaProcess:
    """A process that answers one request at a time, and is restarted after it has ended."""

    def __init__(self, worker: Path = WORKER) -> None:
        self.worker = worker
        self._lock = Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._owner = 0
        """Id of the process that started the child: a fork starts a child of its own."""
        atexit.register(self.close)

    def ask(self, *request: Any) -> Any:
        """Sends a request and returns the answer, which consists of plain values."""
        with self._lock:
            child = self._running()
            assert child.stdin is not None and child.stdout is not None
            try:
                pickle.dump(request, child.stdin)
                child.stdin.flush()
                return pickle.load(child.stdout)
            except (EOFError, BrokenPipeError, pickle.UnpicklingError):
                raise VelaCrashError(_ending(self._end())) from None

    def close(self) -> None:
        with self._lock:
            if self._child is not None and self._owner == os.getpid():
                self._end()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._child is None or self._owner != os.getpid():
            command = [sys.executable, "-P", str(self.worker)]
            self._child = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
            self._owner = os.getpid()
        return self._child

    def _end(self) -> int:
        """Closes its input, waits until it ends, and returns its exit status."""
        child, self._child = self._child, None
        assert child is not None and child.stdin is not None and child.stdout is not None
        with suppress(BrokenPipeError):
            child.stdin.close()
        child.stdout.close()
        return child.wait()


def _ending(status: int) -> str:
    return f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"
