"""`mote explore`: RAM against latency, from the plan with the least RAM to the fastest."""

from __future__ import annotations

import argparse

from mote.bench.pictures.text import LETTERS, step_chart
from mote.compiler.options.parsing import FASTEST, LEAST
from mote.optimize.search.explorer import POINTS, Front, explore
from mote.ui.cli.common import add_number, bold, named, print_json, progress, show, table
from mote.ui.cli.options.compiling import add_compile_options, settings
from mote.ui.cli.options.drawing import add_picture, write_picture
from mote.ui.cli.options.tools import TOOLS, add_board, add_journal, add_tools, add_workers, show_interruptions
from mote.ui.cli.table import drop

CHOSEN = ("ram", "latency", "cycles", "kernels", "pins", "point")
"""Options that choose one plan."""
FIT = (drop("static"), drop("arena"), drop("by rows"), drop("steps"), drop("stack"), drop("instructions", "MACs"))
"""Columns that a narrow terminal does without, the least important first."""


def add(p: argparse.ArgumentParser) -> None:
    add_compile_options(p, omitted=CHOSEN, calibrated=True)
    add_tools(p)
    add_board(p, "measure the plans on this board")
    add_number(p, "--points", POINTS, "number of RAM budgets to try between the least and the fastest plan")
    p.add_argument(
        "--measure",
        action=argparse.BooleanOptionalAction,
        help="count cycles on the emulated target (default: if the tools are installed)",
    )
    add_journal(p)
    add_workers(p)
    add_picture(p, "the front")


def run(arguments: argparse.Namespace) -> int:
    with progress("exploring") as say:
        front = explore(
            arguments.model,
            settings(arguments),
            **named(arguments, *TOOLS, "points", "measure", "scheduler", "workers", "journal"),
            say=say,
        )
    write_picture(arguments.picture, front.svg)
    print_json(front.json()) if arguments.json else print_text(front)
    return 0


def print_text(front: Front) -> None:
    pushed = ", input row by row" if front.input == "rows" else ""
    by = front.measured or f"not measured: {front.reason}"
    show(bold(f"{front.model} for {front.target}{pushed}") + f" ({by})")
    heads, rows = front.cost_table(front.points)
    lettered = [(letter, *row) for letter, row in zip(LETTERS, rows, strict=False)]
    print(table(("", *heads), lettered, left=2, fit=FIT))
    if not front.measured:
        show("estimate: modelled cycles, by the planner's table for the core; flash: constants")
    show()
    print(step_chart([(p.ram, p.cost) for p in front.points], LETTERS, x_name="RAM", y_name=front.cost_name))
    show()
    for p in front.dominated:
        for name in {LEAST, FASTEST} & set(p.names):
            show(f"{name}: {p.ram:,} bytes, {p.cost:,} {front.cost_name}: another point is as good or better")
    if front.little_flash:
        show(f"less flash ({'code and constants' if front.measured else 'constants only'}):")
        print(table(*front.cost_table(front.little_flash), fit=FIT))
        show()
    if front.own:
        show("with Mote's own kernels alone:")
        print(table(*front.own.cost_table(front.own.points), fit=FIT))
        show()
    show_interruptions(front.interruptions)
    show("`mote compile --point NAME` compiles a point.")
