"""The process that Vela runs in: it may end with a signal, and Mote goes on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("ethosu.regor")

from mote.compiler.offload.ethos_u import vela
from mote.compiler.offload.ethos_u.vela import NotAcceptedError, compiled, configuration
from mote.compiler.offload.ethos_u.vela_process import VelaCrashError, VelaProcess
from tests.compiler.offload.ethos_u.test_generator import DIGITS, TARGET

WORKER = """\
import os, pickle, signal, sys
while True:
    try:
        (request,) = pickle.load(sys.stdin.buffer)
    except EOFError:
        break
    if request == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if request == "leave":
        sys.exit(3)
    pickle.dump((request, os.getpid()), sys.stdout.buffer)
    sys.stdout.flush()
"""


def test_a_process_that_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that ends it fails, and the next one has another process."""
    (tmp_path / "worker.py").write_text(WORKER, encoding="utf-8")
    process = VelaProcess(tmp_path / "worker.py")
    first, second = process.ask("a"), process.ask(b"b" * 100_000)
    assert first[0] == "a" and second == (b"b" * 100_000, first[1]) and first[1] != os.getpid()
    with pytest.raises(VelaCrashError, match=r"^signal SIGSEGV$"):
        process.ask("crash")
    assert process.ask("c")[1] != first[1]
    with pytest.raises(VelaCrashError, match=r"^status 3$"):
        process.ask("leave")
    process.ask("d")
    monkeypatch.setattr(vela, "_PROCESS", process)
    monkeypatch.setattr(process, "ask", lambda *request: VelaProcess.ask(process, "crash"))
    with pytest.raises(NotAcceptedError, match="Vela's compiler ended with signal SIGSEGV"):
        compiled(DIGITS.read_bytes() + b"1", configuration(TARGET))
    process.close()
    process.close()
