"""`mote check`: holds every model of a project file, mote.toml, to its reference, its budgets and its accuracy."""

from __future__ import annotations

import argparse
import os

from mote.base.files import write_file
from mote.ui.cli.commands.build import add_project
from mote.ui.cli.common import add_json, bold, green, print_json, progress, red, show, table
from mote.ui.cli.table import drop, shorten
from mote.ui.project.checker import check
from mote.ui.project.result import COLUMNS, XML, CheckResult

GITHUB = "GITHUB_ACTIONS"
"""The variable that is set where GitHub runs a workflow."""


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
    rows = [x.row if x.passed else tuple(map(red, x.row)) for x in result.outcomes]
    print(table(COLUMNS, rows, left=4, fit=(shorten("model", 12), shorten("target", 10), drop("target"))))
    for x in result.failures:
        if x.detail:
            show(f"{x.model} on {x.target}: {x.check}: {x.detail}")
        if x.remedy:
            show(f"  help: {x.remedy}")
    failed = len(result.failures)
    count = f"{len(result.outcomes)} checks"
    show(red(f"{failed} of {count} failed") if failed else green(f"{count} passed"))
