"""`mote check`: holds every model of a project file, mote.toml, to its reference, its budgets and its accuracy."""

from __future__ import annotations

import argparse
import os

from mote.cli.commands.build import add_project
from mote.cli.common import add_json, bold, green, print_json, progress, red, show, table
from mote.cli.table import drop, shorten
from mote.files import write_file
from mote.project.checker import check
from mote.project.limits import BYTES, JOULES, MEASURES, SECONDS
from mote.project.result import XML, CheckOutcome, CheckResult

GITHUB = "GITHUB_ACTIONS"
"""The variable that is set where GitHub runs a workflow."""
PREFIXES = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))


def add(p: argparse.ArgumentParser) -> None:
    add_project(p)
    p.add_argument("--junit", metavar="FILE.xml", help="write the checks as a test report of JUnit, too")
    add_json(p)


def run(arguments: argparse.Namespace) -> int:
    with progress("checking") as say:
        result = check(*arguments.names, project=arguments.project, say=say)
    if arguments.junit:
        write_file(arguments.junit, result.junit(), XML)
    if arguments.json:
        print_json(result.json())
        return 0 if result.passed else 1
    print_text(result)
    if os.environ.get(GITHUB) == "true":
        for line in result.github_commands():
            print(line)
    return 0 if result.passed else 1


def print_text(result: CheckResult) -> None:
    show(bold(result.project))
    rows = [
        (
            "PASS" if x.passed else "FAIL",
            x.model,
            x.target,
            MEASURES[x.check].title if x.check in MEASURES else x.check,
            quantity(x.measured, x),
            quantity(x.limit, x),
            margin(x),
        )
        for x in result.outcomes
    ]
    head = ("", "model", "target", "check", "measured", "limit", "margin")
    shown = [row if x.passed else tuple(map(red, row)) for row, x in zip(rows, result.outcomes, strict=True)]
    print(table(head, shown, left=4, fit=(shorten("model", 12), shorten("target", 10), drop("target"))))
    for x in result.failures:
        if x.detail:
            show(f"{x.model} on {x.target}: {x.check}: {x.detail}")
        if x.remedy:
            show(f"  help: {x.remedy}")
    failed = len(result.failures)
    count = f"{len(result.outcomes)} checks"
    show(red(f"{failed} of {count} failed") if failed else green(f"{count} passed"))


def quantity(value: float | None, outcome: CheckOutcome) -> str:
    """A value in its unit, as a person reads it; empty where there is none."""
    unit = outcome.unit
    if value is None:
        return ""
    if unit == BYTES:
        return f"{value:,.0f} B"
    if unit in (SECONDS, JOULES):
        scale, prefix = next((p for p in PREFIXES if abs(value) >= p[0]), PREFIXES[-1])
        return f"{value / scale:.4g} {prefix}{unit}"
    if not unit:
        return f"{value:,.0f}"
    return f"{value:.4g}" if unit in ("rmse", "mae") else f"{value:.2%}"


def margin(outcome: CheckOutcome) -> str:
    """How much of a limit is left, in percent; of a score in its own unit."""
    if outcome.margin is None or outcome.limit is None:
        return ""
    if outcome.unit in (BYTES, SECONDS, JOULES, ""):
        return f"{outcome.margin / outcome.limit:+.1%}" if outcome.limit else "-"
    shown = quantity(outcome.margin, outcome)
    return shown if shown.startswith("-") else f"+{shown}"
