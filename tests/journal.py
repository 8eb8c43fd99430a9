"""A plugin of pytest for runs that are cut into parts, watched by a clock, or resumed: `tests/suites.py` uses it.

    python -m pytest -p tests.journal --journal FILE [--part 1/3] [--until SECONDS] [--passed FILE ...]

Every case that ends is a line of the journal: its outcome, its seconds and its name.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from time import time
from zlib import crc32

import pytest

ROOT = Path(__file__).parent.parent
LEFT = "no time is left for it"


def add_line(journal: Path, outcome: str, seconds: float, case: str) -> None:
    with journal.open("a", encoding="utf-8") as lines:
        lines.write(f"{outcome}\t{seconds:.2f}\t{case}\n")


def read(journal: Path) -> dict[str, str]:
    """The last outcome of each case. A line that a killed run cut off is none."""
    text = journal.read_text(encoding="utf-8") if journal.exists() else ""
    lines = (line.rstrip("\n").split("\t", 2) for line in text.splitlines(keepends=True) if line.endswith("\n"))
    return {line[2]: line[0] for line in lines if len(line) == 3}


def ended(journal: Path) -> set[str]:
    """The cases that need not run again: they have passed, or want what is not installed here."""
    return {case for case, outcome in read(journal).items() if outcome in ("passed", "skipped")}


def part_of(case: str, parts: int) -> int:
    """Which part a case belongs to. Its name alone decides, so that a new test moves no other to another part."""
    return crc32(case.encode()) % parts


def name(item: pytest.Item) -> str:
    """The case, the same on every machine: some are named after files of the repository."""
    return str(item.nodeid).replace(f"{ROOT}/", "")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("journal")
    group.addoption("--journal", help="the file that gets a line for each case that ends")
    group.addoption("--part", help="K/N: of N parts of all cases the one with number K, from 0 on")
    group.addoption("--until", type=float, help="the time, in seconds since 1970, after which no case begins")
    group.addoption("--passed", action="append", default=[], help="a journal; what passed there is left out")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Journal(config))


class Journal:
    def __init__(self, config: pytest.Config) -> None:
        file = "" if "PYTEST_XDIST_WORKER" in os.environ else config.option.journal
        self.file = Path(file) if file else None
        self.until: float | None = config.option.until
        self.part, self.parts = map(int, (config.option.part or "0/1").split("/"))
        self.passed = {case for journal in config.option.passed for case in ended(Path(journal))}
        self.reports: dict[str, list[pytest.TestReport]] = defaultdict(list)

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        kept = [item for item in items if self._wanted(name(item))]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
        items[:] = kept

    def _wanted(self, case: str) -> bool:
        return case not in self.passed and part_of(case, self.parts) == self.part

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        if self.until is not None and time() > self.until:
            pytest.skip(LEFT)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One report for what comes before a case, one for the case, one for what comes after."""
        if self.file is None:
            return
        reports = self.reports[report.nodeid]
        reports.append(report)
        if report.when not in ("setup", "call"):  # but teardown, or the end of a worker that crashed
            case = report.nodeid.replace(f"{ROOT}/", "")
            add_line(self.file, outcome(self.reports.pop(report.nodeid)), sum(r.duration for r in reports), case)


def outcome(reports: Iterable[pytest.TestReport]) -> str:
    """What the journal says of a case: passed, failed, skipped, or left for another run."""
    found = {report.outcome: report for report in reports}
    if "failed" in found:
        return "failed"
    if "skipped" in found:
        return "left" if LEFT in str(found["skipped"].longrepr) else "skipped"
    return "passed"
