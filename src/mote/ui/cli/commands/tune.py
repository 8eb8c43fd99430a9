"""`mote tune`: kernels, places and compiler flags of a model, chosen by what they take on the target."""

from __future__ import annotations

import argparse
from dataclasses import replace

from mote.base.progress import duration
from mote.base.stopping import StoppedError
from mote.optimize.tune.result import Tuned, TunedLayer
from mote.optimize.tune.tune import MINUTES, TuningPlan, tune
from mote.ui.cli.common import add_number, bold, fields_of, print_json, progress, show
from mote.ui.cli.options.compiling import add_compile_options, settings
from mote.ui.cli.options.tools import add_board, add_journal, add_tools, add_workers, show_interruptions
from mote.ui.cli.table import alias, columns, drop, shorten

FIT = (shorten("layer", 12), alias("kernel after", 20), alias("kernel before", 20), drop("layer"))
"""Columns that a narrow terminal does without, the least important first."""


def add(p: argparse.ArgumentParser) -> None:
    add_compile_options(p, calibrated=True)
    p.set_defaults(optimize=None)
    add_tools(p)
    add_board(p, "measure on this board, or on several at once")
    p.add_argument("-o", "--output", metavar="FILE", help="write the pins to this file (.toml)")
    add_number(p, "--minutes", MINUTES, "time to spend at most", kind=float)
    p.add_argument(
        "--trials", type=int, metavar="N", help="models to compile and measure at most (default: any number)"
    )
    p.add_argument(
        "--costs", metavar="FILE", help="database of measured costs of layers, which all models share; made if absent"
    )
    add_journal(p)
    add_workers(p)


def run(arguments: argparse.Namespace) -> int:
    best: list[Tuned] = []
    plain, chosen = (settings(arguments, optimize=arguments.optimize or usual) for usual in ("balanced", "speed"))
    if arguments.ram is not None and not chosen.least_ram:
        chosen = replace(chosen, ram=chosen.ram or chosen.target.ram)  # all of memories that have a limit each
    try:
        with progress("tuning") as say:
            result = tune(
                arguments.model,
                chosen,
                plain=plain,
                **fields_of(TuningPlan, arguments),
                board=arguments.board,
                say=say,
                better=lambda tuned: best.__setitem__(slice(None), [tuned]),
            )
    except StoppedError:
        _say_stopped(best, arguments)
        raise
    if arguments.output:
        result.write(arguments.output)
    if arguments.json:
        print_json(result.json())
    else:
        print_text(result, arguments.output)
    return 0


def _say_stopped(best: list[Tuned], arguments: argparse.Namespace) -> None:
    """Says the best so far when a signal ends tuning; nothing is on standard output where JSON is expected there."""
    if arguments.json:
        return
    for tuned in best:
        print_text(tuned, "")
    show("stopped" if best else "stopped, before there was anything better than the model as it is")
    if arguments.journal:
        show(f"`--journal {arguments.journal}` continues where it was.")


def print_text(result: Tuned, output: str | None) -> None:
    show(bold(f"{result.model} for {result.target}") + f" ({result.tools})")
    layers = tuple(replace(x, after="=") if x.after == x.before else x for x in result.layers)
    total = TunedLayer("", "total", "", "", result.cycles_before, result.cycles_after)
    print(columns(Tuned.ROWS, replace(result, layers=(*layers, total)), FIT))
    show(f"gain:     {result.gain:.2%} of the cycles")
    budget = result.settings.get("ram")
    most = "" if budget is None else f", at most {budget:,}: `--ram BYTES` allows more"
    show(f"RAM:      {result.ram_before:,} bytes before, {result.ram_after:,} after{most}")
    show(f"settings: {', '.join(f'{name} {value}' for name, value in result.settings.items())}")
    show(f"spent:    {result.trials:,} trials in {duration(result.seconds)}")
    if result.verified:
        show(f"verified: {result.verified}")
    show_interruptions(result.interruptions)
    if output:
        show(f"`mote compile {result.model} --target {result.target} --pins {output}` compiles it.")
