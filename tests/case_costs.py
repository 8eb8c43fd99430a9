"""What tests cost, and which of their cases `make test` can afford.

`case_costs.json` has the CPU seconds, those of compilers and emulators included, of the cases of tests that take more
than BUDGET together. Of each such test `make test` runs the first case and as many others as the budget allows, in the
order in which they stand; the rest is slow. `make test-costs` records it anew. Tests in `long_tests.txt` are
left to `make test-all` in all of their cases: others of their files hold what is likeliest to break.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

RECORD = "MOTE_RECORD_COSTS"
"""The variable that names the folder for records."""
ROOT = Path(__file__).parent.parent
FILE = ROOT / "tests" / "case_costs.json"
LONG = ROOT / "tests" / "long_tests.txt"
BUDGET = 0.3
"""CPU seconds that the cases of a test may take in `make test`; the first is run whatever it takes."""
WHOLE = (
    "tests/benchmarks/test_benchmarks.py::test_no_figure_has_grown_by_more_than_a_percent",
    "tests/benchmarks/test_fingerprints.py::test_generated_code_is_what_it_was",
    "tests/test_words.py::test_names",
    "tests/test_words.py::test_words",
)
"""Tests that hold what no other test does in any of their cases: `make test` runs them all."""
Costs = dict[str, dict[str, float]]


def split(nodeid: str) -> tuple[str, str]:
    """A test, and which of its cases; paths in that are relative to the repository."""
    test, _, case = nodeid.replace(f"{ROOT}/", "").partition("[")
    return test, case.removesuffix("]")


def too_dear(costs: Mapping[str, float], cases: Iterable[str]) -> set[str]:
    """The cases that `make test-all` runs; never one that is new, and so without a recorded cost."""
    left, dear = BUDGET, set()
    for n, case in enumerate(cases):
        cost = costs.get(case, 0.0)
        if n == 0 or not cost or cost <= left:
            left -= cost
        else:
            dear.add(case)
    return dear


def mark(items: Iterable[pytest.Item], costs: Costs) -> None:
    """Give the cases that are too dear the marker `soak`."""
    tests: dict[str, dict[str, pytest.Item]] = defaultdict(dict)
    long = set(LONG.read_text(encoding="utf-8").split())
    for item in items:
        test, case = split(item.nodeid)
        if test in long:
            item.add_marker("slow")
        if test in costs and item.get_closest_marker("slow") is None:
            tests[test][case] = item
    for test, cases in tests.items():
        for case in too_dear(costs[test], cases):
            cases[case].add_marker("slow")


def known() -> Costs:
    found: Costs = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def spent() -> float:
    """CPU seconds of this process and of those that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


class Recorder:
    """A plugin that writes what each case takes, with its fixtures."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.file = folder / f"{os.getpid()}.txt"

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        before = spent()
        try:
            return (yield)
        finally:
            with self.file.open("a", encoding="utf-8") as lines:
                lines.write(f"{spent() - before:.3f} {item.nodeid}\n")


def merged(lines: Iterable[str], before: Costs) -> Costs:
    """The costs of the cases that have been run, and those of before of the others; tests within their budget are left
    out."""
    found: Costs = {test: dict(cases) for test, cases in before.items()}
    for line in lines:
        seconds, _, nodeid = line.rstrip("\n").partition(" ")
        test, case = split(nodeid)
        if case:
            found.setdefault(test, {})[case] = round(float(seconds), 1)
    dear = {test for test, cases in found.items() if sum(cases.values()) > BUDGET and len(cases) > 1}
    return {test: found[test] for test in sorted(dear - set(WHOLE))}


def write(folder: Path) -> None:
    lines = [line for file in sorted(folder.iterdir()) for line in file.read_text(encoding="utf-8").splitlines()]
    text = json.dumps(merged(lines, known()), indent=1, ensure_ascii=False)
    FILE.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
