"""Which tests run when; `make test`, `make test-all`, `make test-frontends` and `.ci/run` call it. tests/README.md.

python -m tests.suites quick: the rooms that are always tested and those of the change, without what is slow.
python -m tests.suites all [FOLDER ...]: every case; a run that was stopped goes on where it was.
python -m tests.suites rest: the rooms that the quick suite left out, without what is slow.
python -m tests.suites turn: one of TURNS parts of what the quick suite left out, another one with every commit.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from time import time

import pytest

from tests import journal

ROOT = journal.ROOT
TURNS = 3
"""So many commits in a row test everything."""
ALWAYS = (
    *("base", "hardware/npu", "hardware/cores", "ir/graph", "frontends/features", "frontends/data"),
    *("compiler/passes", "compiler/lower", "compiler/package", "compiler/checks", "compiler/training"),
    *(
        "compiler/test_*.py",
        "frontends/test_*.py",
        "deploy",
        "bench/test_*.py",
        "bench/pictures",
        "bench/metrics",
        "bench/execute",
    ),
    *("optimize/train", "optimize/search", "optimize/tune", "ui"),
    *("benchmarks", "browser", "examples", "models", "numerics"),
)
"""The rooms that the quick suite has whatever was changed: what users see, what holds the others together, and what is
cheap. What is missing here is tested with changes of its own room, and in turns."""
CHANGED_FILES = 60
"""The quick suite has so many files of the rooms of a change: three minutes on two cores."""
WING = 60
"""So many files of tests are one run of pytest, which has the memory and the time to collect them for itself."""
FORMATS = ("tflite", "onnx", "documents")
"""What a turn damages for a minute."""
PROOFS = (("layers", "rows"), ("recurrent", "rows"), ("moves", "caller arena"))
"""A model and a mode, of those of `make prove`, that a turn proves."""
RESULTS = ROOT / "build" / "tests"
"""The journals: one of each suite."""
PYTEST = ("-m", "pytest", "-q", "-n", "2", "--dist", "worksteal", "--durations", "15", "-p", "tests.journal")
QUICK = "not slow and not frontends"
"""The cases that are not slow, and want no extra packages."""
NO_TESTS = 5
"""What pytest returns where all cases were left out."""
PATIENCE = 20 * 60
"""Seconds that a step may go on after the time at which no other would begin: it hangs, and is ended."""


@dataclass(frozen=True)
class Step:
    """A command of a run."""

    name: str
    command: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()


def mark_slow_cases(items: Iterable[pytest.Item]) -> None:
    """Of a test with the marker `quick_cases(n)` all cases but the first n are slow."""
    count: Counter[str] = Counter()
    for item in items:
        marker = item.get_closest_marker("quick_cases")
        if marker and item.get_closest_marker("slow") is None:
            test = item.nodeid.partition("[")[0]
            count[test] += 1
            if count[test] > marker.args[0]:
                item.add_marker("slow")


def test_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("test_*.py"))


def wings(places: Iterable[Path]) -> list[list[Path]]:
    """The files of tests in these folders, neighbours together: as many as one run of pytest takes."""
    files = [file for place in places for file in (test_files(place) if place.is_dir() else [place])]
    return [files[first : first + WING] for first in range(0, len(files), WING)]


def room_of(changed: str) -> Path | None:
    """The folder or file of tests for a file of the repository: `tests` has the folders of `src/mote`."""
    match PurePosixPath(changed).parts:
        case ("src", "mote", _wing, _):
            return None  # the tests of a wing's own files are among those that always run
        case ("src", "mote", *folders, _):
            place = ROOT.joinpath("tests", *folders)
        case ("tests", *folders, name) if name.startswith("test_"):
            place = ROOT.joinpath("tests", *folders, name)
        case ("tests", *folders, _):
            place = ROOT.joinpath("tests", *folders)
        case ("benchmarks" | "examples" | "models" as folder, *_):
            place = ROOT / "tests" / folder
        case _:
            return None
    while not place.exists() or (place.is_dir() and not test_files(place)):
        place = place.parent
    return None if place == ROOT / "tests" else place


def changed_rooms(changed: Iterable[str]) -> list[Path]:
    """The rooms of changed files, those with the most changes first, without rooms inside of others."""
    count = Counter(room for file in changed if (room := room_of(file)))
    return [room for room, _ in count.most_common() if not count.keys() & set(room.parents)]


def git(*arguments: str) -> str:
    """What git says; nothing where it is not installed, and outside of a repository."""
    try:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        return ""


def changed_files() -> list[str]:
    """Files that differ from the main branch, or on it from the commit before; also those that are not committed."""
    head = git("rev-parse", "HEAD")
    bases = (git("merge-base", "HEAD", main) for main in ("origin/main", "main"))
    base = next((found for found in bases if found not in ("", head)), "HEAD~1").strip()
    return (git("diff", "--name-only", base) + git("ls-files", "-o", "--exclude-standard")).splitlines()


def turn() -> int:
    """The number of commits, so that each of them takes another part than the one before. Where the history is not
    there, the hash of the commit chooses."""
    if git("rev-parse", "--is-shallow-repository").strip() == "false":
        return int(git("rev-list", "--count", "HEAD"))
    number = int(git("rev-parse", "HEAD")[:8] or "0", 16)
    print("suites: there is no history to count commits in: the hash of this one chooses the part")
    return number


def quick(always: Iterable[str], changed: Iterable[str]) -> tuple[list[Path], list[Path]]:
    """The rooms of the quick suite, and those of the change that are too many for it."""
    usual = [place for room in (*always, "test_*.py") for place in sorted((ROOT / "tests").glob(room))]
    chosen, left, room_for = list(usual), list[Path](), CHANGED_FILES
    for room in changed_rooms(changed):
        if {room, *room.parents} & set(usual):
            continue
        count = len(test_files(room)) if room.is_dir() else 1
        if count <= room_for:
            chosen.append(room)
            room_for -= count
        else:
            left.append(room)
    return chosen, left


def record_of(suite: str) -> Path:
    return RESULTS / f"{suite}.tsv"


def pytest_step(suite: str, name: str, files: Iterable[Path], markers: str, *options: str) -> Step:
    paths = [path.relative_to(ROOT).as_posix() for path in files]
    record = str(record_of(suite))
    return Step(name, (sys.executable, *PYTEST, "-m", markers, "--journal", record, *options, *paths))


def wing_steps(suite: str, places: Iterable[Path], *options: str, markers: str = "not frontends") -> list[Step]:
    """The runs of pytest that test all of these folders."""
    return [
        pytest_step(suite, f"{name_of(wing[0])} to {name_of(wing[-1])}", wing, markers, *options)
        for wing in wings(places)
    ]


def name_of(file: Path) -> str:
    return file.relative_to(ROOT / "tests").with_suffix("").as_posix()


def turn_steps(number: int, until: float) -> list[Step]:
    """A part of what the quick suite left out, of mutants and of proofs, then of what wants the extra packages. Another
    wing is the first with each turn: a slow machine does not leave the same one every time."""
    options = ("--part", f"{number % TURNS}/{TURNS}", "--until", str(until), "--passed", str(record_of("quick")))
    usual = wing_steps("turn", [ROOT / "tests"], *options)
    first = number % len(usual)
    scripts = (("PYTHONPATH", os.pathsep.join([".", "models", "benchmarks"])),)
    format = FORMATS[number % len(FORMATS)]
    mutants = ("-m", "tests.fuzz", "--format", format, "--seed", str(number), "--minutes", "1", "--jobs", "2")
    model, mode = PROOFS[number % len(PROOFS)]
    proof = Step(f"a proof of {model}", (sys.executable, "benchmarks/prove.py", model, "--mode", mode), scripts)
    return [
        Step(f"mutants of {format}", (sys.executable, *mutants), scripts),
        *([proof] if shutil.which("frama-c") else []),
        *usual[first:],
        *usual[:first],
        Step("the packages of more front ends", ("make", "--silent", "frontends")),
        frontend_step("turn", *options),
    ]


def frontend_step(suite: str, *options: str) -> Step:
    files = [file for file in test_files(ROOT / "tests") if "mark.frontends" in file.read_text(encoding="utf-8")]
    step = pytest_step(suite, "more front ends", files, "frontends", *options)
    return replace(step, environment=(("KERAS_BACKEND", "torch"), ("OMP_NUM_THREADS", "1")))


def go(steps: Sequence[Step], until: float, clock: Callable[[], float] = time) -> int:
    """Run the steps one after another, whether they pass or not, but begin none when the time is over. Name what failed
    and what was left, which is no failure."""
    failed, left = [], []
    for step in steps:
        if clock() > until:
            left.append(step.name)
            continue
        print(f"\n== {step.name}", flush=True)
        if run(step, until + PATIENCE - clock()) not in (0, NO_TESTS):
            failed.append(step.name)
    for name in left:
        print(f"left, since the time is over: {name}")
    for name in failed:
        print(f"FAILED: {name}")
    return int(bool(failed))


def run(step: Step, seconds: float) -> int:
    """What a command returns. One that takes longer is ended, with all that it has started."""
    process = subprocess.Popen(step.command, cwd=ROOT, env=os.environ | dict(step.environment), start_new_session=True)
    try:
        return process.wait(None if seconds == float("inf") else seconds)
    except subprocess.TimeoutExpired:
        print(f"{step.name} is ended after {seconds:.0f} seconds")
        return 1
    except KeyboardInterrupt:
        os.killpg(process.pid, signal.SIGINT)
        process.wait(PATIENCE)
        raise
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


def show(record: Path) -> None:
    """Name what has failed and how many cases of which files were left, by the last lines of a journal, and count the
    outcomes of all runs of pytest: the last of them may have had no case."""
    outcomes = journal.read(record)
    for case, outcome in outcomes.items():
        if outcome == "failed":
            print(f"failed: {case}")
    left = Counter(case.partition("::")[0] for case, outcome in outcomes.items() if outcome == "left")
    for file, count in left.items():
        print(f"left, since the time is over: {count} cases of {file}")
    count = Counter(outcomes.values())
    print(", ".join(f"{count[outcome]} {outcome}" for outcome in ("passed", "failed", "skipped")))


def main(arguments: Sequence[str] | None = None) -> int:
    p = argparse.ArgumentParser(
        prog="python -m tests.suites", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    p.add_argument("suite", choices=["quick", "rest", "all", "frontends", "turn"])
    p.add_argument("folders", nargs="*", type=Path, metavar="FOLDER", help="of `all`: these folders or files only")
    p.add_argument("--again", action="store_true", help="of `all` and `frontends`: also what has passed before")
    p.add_argument("--number", type=int, help="of `turn`: which part, instead of the number of commits")
    p.add_argument("--until", type=float, default=float("inf"), help="seconds since 1970 after which nothing begins")
    options = p.parse_intermixed_args(arguments)
    RESULTS.mkdir(parents=True, exist_ok=True)
    record = record_of(options.suite)
    if options.again or options.suite in ("quick", "rest", "turn"):
        record.unlink(missing_ok=True)
    passed = ("--passed", str(record))
    match options.suite:
        case "quick":
            changed = changed_files()
            chosen, left = quick(ALWAYS, changed)
            print(f"suites: {len(chosen)} rooms and files of tests, by {len(changed)} changed files")
            for room in left:
                print(f"suites: {room.relative_to(ROOT)} is too much for the quick suite: python -m pytest {room}")
            steps = [pytest_step("quick", "the quick suite", chosen, QUICK)]
        case "rest":
            left_out = ("--until", str(options.until), "--passed", str(record_of("quick")))
            steps = wing_steps("rest", [ROOT / "tests"], *left_out, markers=QUICK)
        case "turn":
            number = turn() if options.number is None else options.number
            print(f"suites: part {number % TURNS} of {TURNS}, by the number {number}")
            steps = turn_steps(number, options.until)
        case "frontends":
            steps = [frontend_step("frontends", *passed)]
        case _:
            places = [folder.resolve() for folder in options.folders] or [ROOT / "tests"]
            steps = wing_steps("all", places, *passed)
    if before := journal.ended(record):
        print(f"suites: {len(before):,} cases have passed before and are left out; `--again` repeats them")
    result = go(steps, options.until)
    show(record)
    return result


if __name__ == "__main__":
    sys.exit(main())
