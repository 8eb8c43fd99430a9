"""The CPU seconds of each stage of one `mote compile`, as JSON on stderr: `planning.py --stages` runs this in a process
of its own for each model.

    PYTHONPATH=src python benchmarks/compile_stages.py models/digits.tflite --target cortex-m4 --output build/digits
"""

from __future__ import annotations

import importlib
import json
import resource
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

from mote.ui import cli

STAGES = {
    "read": ("mote.compiler.subject", "subject_of"),
    "optimize": ("mote.compiler.line", "prepared"),
    "plan": ("mote.compiler.line", "plan_for"),
    "self-test": ("mote.compiler.line", "golden"),
    "emit": ("mote.compiler.line", "generate"),
    "build": ("mote.ui.project.making", "checked_code"),
}
"""The functions that are the stages. The reference computes what the self-test expects; the cross compiler builds the
firmware whose code is counted."""
START, REST = "start-up", "rest"


def used() -> float:
    """CPU seconds of this process and of those that it has run."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def main() -> None:
    seconds: dict[str, float] = {}

    def load(name: str) -> ModuleType:
        """Import a command, and then measure its stages."""
        module = importlib.import_module(name)
        seconds[START] = used()
        for stage, (home, function) in STAGES.items():
            place = importlib.import_module(home)
            setattr(place, function, timed(stage, getattr(place, function)))
        return module

    def timed(stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given: Any, **named: Any) -> Any:
            begin = used()
            try:
                return function(*given, **named)
            finally:
                seconds[stage] = seconds.get(stage, 0.0) + used() - begin

        return run

    cli.import_module = load  # type: ignore[attr-defined]
    status = cli.main(["compile", *sys.argv[1:]])
    seconds[REST] = used() - sum(seconds.values())
    print(json.dumps(seconds), file=sys.stderr)
    sys.exit(status)


if __name__ == "__main__":
    main()
