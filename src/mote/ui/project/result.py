"""The result of `mote check` as data, and as reports that continuous integration reads."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from mote.base.notebook import table
from mote.base.results import Record, Result
from mote.bench.metrics.score import LOWER
from mote.ui.project.limits import BYTES, COUNT, JOULES, MEASURES, SECONDS

XML = b"<?xml"
"""How a report of JUnit begins."""
COLUMNS = ("", "model", "target", "check", "measured", "limit", "margin")
PREFIXES = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
"""Prefixes of units, largest first."""


@dataclass(frozen=True)
class CheckOutcome(Record):
    """One check of a model on a target."""

    JSON = "*, margin"

    model: str
    """The name of the model in the project."""
    target: str
    """The name of the target."""
    check: str
    """A key of the table `check`, or "compiles", "verified", "on core"."""
    passed: bool
    """Whether it passed; a limit that could not be measured did not."""
    measured: float | None = None
    """The value; None where it is no number, or was not measured."""
    limit: float | None = None
    """The limit, in the same unit; None for checks without one."""
    better: str = LOWER
    """Which values are better: "lower" or "higher"."""
    unit: str = ""
    """bytes, s, J, the name of a metric, or none for counts."""
    detail: str = ""
    """The reason of a failure, or how it was measured."""
    remedy: str = ""
    """How to correct a failure, where that is known."""
    equal: str = ""
    """How equal outputs are to others, for checks without a number: "bit for bit", "8 of 8"."""

    @property
    def margin(self) -> float | None:
        """How far the value is inside of the limit, in its unit; negative outside."""
        if self.measured is None or self.limit is None:
            return None
        return self.limit - self.measured if self.better == LOWER else self.measured - self.limit

    @property
    def reason(self) -> str:
        """Why the check failed, in a line."""
        if self.measured is None or self.limit is None:
            return self.detail
        side = "more" if self.better == LOWER else "less"
        return f"{self.measured:g} {self.unit}".rstrip() + f" is {side} than the limit of {self.limit:g}"

    def shown(self, value: float | None) -> str:
        """A value in the unit of the check, as a person reads it; empty where there is none."""
        if value is None:
            return ""
        if self.unit == BYTES:
            return f"{value:,.0f} B"
        if self.unit in (SECONDS, JOULES):
            scale, prefix = next((p for p in PREFIXES if abs(value) >= p[0]), PREFIXES[-1])
            return f"{value / scale:.4g} {prefix}{self.unit}"
        if self.unit == COUNT:
            return f"{value:,.0f}"
        return f"{value:.4g}" if self.unit in ("rmse", "mae") else f"{value:.2%}"

    @property
    def margin_shown(self) -> str:
        """How much of a limit is left, in percent; of a score in its own unit."""
        if self.margin is None or self.limit is None:
            return ""
        if self.unit in (BYTES, SECONDS, JOULES, COUNT):
            return f"{self.margin / self.limit:+.1%}" if self.limit else "-"
        text = self.shown(self.margin)
        return text if text.startswith("-") else f"+{text}"

    @property
    def row(self) -> tuple[str, ...]:
        """Its row of the table: `COLUMNS`."""
        name = MEASURES[self.check].title if self.check in MEASURES else self.check
        verdict = "PASS" if self.passed else "FAIL"
        values = (self.shown(self.measured) or self.equal, self.shown(self.limit), self.margin_shown)
        return verdict, self.model, self.target, name, *values


@dataclass(frozen=True)
class CheckResult(Result):
    """Every check of the chosen models of a project."""

    TITLE = "checks of {project}"
    FACTS = "checks=outcomes!n, failed=failures!n"
    JSON = "project, passed, checks=outcomes"

    project: str
    """The project file."""
    outcomes: tuple[CheckOutcome, ...]
    """The checks, model by model."""

    def __repr__(self) -> str:
        failed = len(self.failures)
        said = f"{failed} of {len(self.outcomes)} checks failed" if failed else f"{len(self.outcomes)} checks passed"
        return f"<CheckResult of {self.project!r}: {said}>"

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return not self.failures

    @property
    def failures(self) -> tuple[CheckOutcome, ...]:
        """The checks that did not pass."""
        return tuple(outcome for outcome in self.outcomes if not outcome.passed)

    def junit(self) -> bytes:
        """A report of JUnit's format: a test suite with a case for each check."""
        counts = {"tests": str(len(self.outcomes)), "failures": str(len(self.failures))}
        suite = ElementTree.Element("testsuite", {"name": f"mote check {self.project}", **counts})
        for outcome in self.outcomes:
            name = {"classname": f"{outcome.model}.{outcome.target}", "name": outcome.check}
            case = ElementTree.SubElement(suite, "testcase", name)
            if not outcome.passed:
                failure = ElementTree.SubElement(case, "failure", {"message": outcome.reason})
                failure.text = outcome.remedy
        ElementTree.indent(suite)
        text: bytes = ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True)
        return text + b"\n"

    def github_commands(self) -> list[str]:
        """Commands of GitHub's workflows that show failures at the table of their model in the project file."""
        text = Path(self.project).read_text(encoding="utf-8") if self.failures else ""
        return [_github_command(self.project, outcome, text) for outcome in self.failures]

    def _parts(self) -> list[str]:
        return [table(COLUMNS, [x.row for x in self.outcomes], left=4)]

    def _notes(self) -> list[str]:
        return [f"{x.model} on {x.target}: {x.check}: {x.detail}" for x in self.failures if x.detail]


def _github_command(project: str, outcome: CheckOutcome, text: str) -> str:
    title = _escaped(f"{outcome.model} on {outcome.target}: {outcome.check}", property=True)
    place = f"file={_escaped(project, property=True)},line={_line(text, outcome.model)},title={title}"
    return f"::error {place}::{_escaped(outcome.reason)}"


def _line(text: str, model: str) -> int:
    """The line of a model's table; the first one where it is not found."""
    name = re.escape(model)
    header = re.compile(rf"^\s*\[.*models\.[\"']?{name}[\"']?\s*\]")
    lines = [number for number, line in enumerate(text.splitlines(), 1) if header.match(line)]
    return min(lines, default=1)


def _escaped(text: str, *, property: bool = False) -> str:
    """Text as workflow commands want it: no line ends, in properties no colons and commas either."""
    signs = {"%": "%25", "\r": "%0D", "\n": "%0A"} | ({":": "%3A", ",": "%2C"} if property else {})
    return "".join(signs.get(sign, sign) for sign in text)
