"""The calls of kernels that tests of operators bring about, as cases for `rooms.py`; then mutants of them.

`python -m tests.compiler.kernels.rooms_seen --mutants 1000` runs the tests of operators for that and tries the mutants:
part of `make fuzz`."""

from __future__ import annotations

import argparse
import atexit
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mote import frontends
from mote.compiler.kernels import catalogue
from mote.compiler.kernels.contract import Packed, View
from mote.frontends import Source
from mote.frontends.model import Model
from mote.hardware import targets
from tests.compiler.kernels.rooms import Case, Collection, Rooms
from tests.helpers import support

RECORD = "MOTE_RECORD_ROOMS"
"""The variable that names the folder for records."""
TESTS = Path(__file__).parents[2]
EACH = 4
FEATURES = (frozenset[str](), frozenset({"dsp"}), frozenset(targets.features()) - {targets.ALIGNED})


def record(folder: Path) -> None:
    """From now on, note what is read or planned, in a file of this process; what would only be compared is read and no
    more."""
    collection = Collection(EACH, FEATURES)
    read: Callable[[Source], Model] = frontends.read
    candidates, called = catalogue.candidates, catalogue.by_call

    def noting(source: Source) -> Model:
        model = read(source)
        collection.add(replace(model.partial(), tensors=model.tensors))
        return model

    def noting_candidates(view: View, *given: Any, **named: Any) -> list[Packed]:
        found = candidates(view, *given, **named)
        for packed in found:
            collection.note(view, packed)
        return found

    def noting_called(view: View, *given: Any, **named: Any) -> Packed | None:
        found = called(view, *given, **named)
        if found is not None:
            collection.note(view, found)
        return found

    frontends.read = noting
    catalogue.candidates, catalogue.by_call = noting_candidates, noting_called
    support.check = lambda model, *_, **__: noting(frontends.source_of(model))  # type: ignore[assignment]
    atexit.register(lambda: (folder / f"{os.getpid()}.pickle").write_bytes(pickle.dumps(collection.cases)))


def recorded(folder: Path) -> list[Case]:
    """All cases that processes have noted, so many of each kind."""
    collection = Collection(EACH)
    for path in sorted(folder.glob("*.pickle")):
        for case in pickle.loads(path.read_bytes()):
            collection.take(case)
    return collection.cases


def main() -> int:
    p = argparse.ArgumentParser(prog="python -m tests.compiler.kernels.rooms_seen", description=__doc__)
    p.add_argument("tests", nargs="*", default=["ops", "numerics", "streaming"], help="files and folders of tests")
    p.add_argument("--mutants", type=int, default=1000, help="of each call of a kernel")
    p.add_argument("--seed", type=int, default=1, help="other mutants")
    options = p.parse_args()
    with TemporaryDirectory() as name:
        folder = Path(name)
        tests = [str(TESTS / test) for test in options.tests]
        # Tests that look at what was compiled fail: nothing is.
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", *tests],
            env=os.environ | {RECORD: str(folder)},
            stdout=subprocess.DEVNULL,
            check=False,
        )
        rooms = Rooms(recorded(folder), folder)
        findings = rooms.run(options.mutants, options.seed)
    for finding in findings:
        print(finding)
    admitted = sum(rooms.admitted.values())
    print(
        f"{len(rooms.cases)} calls of {len(rooms.admitted)} kernels: {rooms.tried} mutants, {admitted} admitted and run"
    )
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
