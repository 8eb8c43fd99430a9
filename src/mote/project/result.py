"""The result of `mote check` as data, and as reports that continuous integration reads."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from mote.metrics.score import LOWER

XML = b"<?xml"
"""How a report of JUnit begins."""


@dataclass(frozen=True)
class CheckOutcome:
    """One check of a model on a target."""

    model: str
    target: str
    check: str
    passed: bool
    measured: float | None = None
    """None where it is no number, or was not measured."""
    limit: float | None = None
    better: str = LOWER
    """Which values are better: "lower" or "higher"."""
    unit: str = ""
    """bytes, s, J, the name of a metric, or none for counts."""
    detail: str = ""
    """The reason of a failure, or how it was measured."""
    remedy: str = ""

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

    def json(self) -> dict[str, Any]:
        return {
            key: str(value) if isinstance(value, float) and not isfinite(value) else value
            for key, value in {**asdict(self), "margin": self.margin}.items()
        }


@dataclass(frozen=True)
class CheckResult:
    """Every check of the chosen models of a project."""

    project: str
    outcomes: tuple[CheckOutcome, ...]

    def __repr__(self) -> str:
        failed = len(self.failures)
        said = f"{failed} of {len(self.outcomes)} checks failed" if failed else f"{len(self.outcomes)} checks passed"
        return f"<CheckResult of {self.project!r}: {said}>"

    @property
    def passed(self) -> bool:
        return not self.failures

    @property
    def failures(self) -> tuple[CheckOutcome, ...]:
        return tuple(outcome for outcome in self.outcomes if not outcome.passed)

    def json(self) -> dict[str, Any]:
        return {
            "project": self.project,
            "passed": self.passed,
            "checks": [outcome.json() for outcome in self.outcomes],
        }

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
