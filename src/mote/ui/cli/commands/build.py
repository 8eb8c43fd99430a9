"""`mote build`: every model of a project file, mote.toml, as C, binaries or an image."""

from __future__ import annotations

import argparse

from mote.ui.cli.common import add_json, bold, print_json, progress, show
from mote.ui.cli.table import columns, drop, shorten
from mote.ui.project.builder import BuildResult, build


def add(p: argparse.ArgumentParser) -> None:
    add_project(p)
    p.add_argument(
        "--force", action="store_true", help="overwrite files that Mote did not write, or that were changed since"
    )
    add_json(p)


def add_project(p: argparse.ArgumentParser) -> None:
    """The models of a project, and its file."""
    p.add_argument("names", nargs="*", metavar="NAME", help="models of the project (default: all)")
    p.add_argument(
        "--project",
        metavar="FILE",
        help="the project file (default: mote.toml, or pyproject.toml with [tool.mote], here or in a folder above)",
    )


def run(arguments: argparse.Namespace) -> int:
    with progress("building") as say:
        result = build(*arguments.names, project=arguments.project, force=arguments.force, say=say)
    print_json(result.json()) if arguments.json else print_text(result)
    return 0


def print_text(result: BuildResult) -> None:
    show(bold(result.project))
    fit = (drop("constants"), drop("code"), drop("target"), shorten("model", 12))
    print(columns(BuildResult.ROWS, result, fit))
    for model in result.models:
        if model.overwritten:
            show(f"{model.folder}: overwritten by --force: {', '.join(model.overwritten)}")
