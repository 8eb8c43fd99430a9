"""The program of the process that runs Vela's compiler: it imports Vela, and nothing of Mote."""

from __future__ import annotations

import os
import pickle
import sys
import tempfile
from typing import Any


def main() -> None:
    """Answers requests until the input ends. Vela prints to standard output, which is redirected; answers go to the
    original one."""
    answers = os.fdopen(os.dup(1), "wb")
    with tempfile.TemporaryFile() as printed:
        os.dup2(printed.fileno(), 1)
        while True:
            try:
                request = pickle.load(sys.stdin.buffer)
            except EOFError:
                return
            os.ftruncate(1, 0)
            os.lseek(1, 0, os.SEEK_SET)
            try:
                answer = _made(*request)
            except RuntimeError as error:
                printed.seek(0)
                answer = {"printed": printed.read().decode("utf-8", "replace"), "error": str(error)}
            pickle.dump(answer, answers)
            answers.flush()


def _made(architecture: str, data: bytes, system: str, options: str) -> dict[str, Any]:
    """Compiles a file with Vela; returns plain values."""
    from ethosu import regor  # a failure to import it is that of this request

    model = regor.compile(architecture, data, "TFLITE", system, options)
    tables = model.opt_database.tables
    return {
        "payload": bytes(model.command_stream),
        "constants": bytes(model.read_only.data),
        "scratch": int(model.scratch.size),
        "fast": int(model.scratch_fast.size) if model.scratch_fast.region != model.read_only.region else 0,
        "inputs": [(int(t.region), int(t.address), int(t.size)) for t in model.inputs],
        "outputs": [(int(t.region), int(t.address), int(t.size)) for t in model.outputs],
        "cycles": int(model.perf_report.totalCycles),
        "memories": {name: int(m.peakUsage) for name, m in model.perf_report.memories.items()},
        "tables": {
            name: [dict(zip(table.header, row, strict=True)) for row in table.data] for name, table in tables.items()
        },
    }


if __name__ == "__main__":
    main()
