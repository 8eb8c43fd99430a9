"""The `mote` command: a thin layer over the Python API, one file for each subcommand."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from mote.base.errors import InternalError, MoteError, explained
from mote.base.stopping import StoppedError, stopping
from mote.ui.cli import output
from mote.ui.cli.destinations import check_destinations
from mote.ui.cli.help import arranged, overview, welcome
from mote.ui.cli.terminal import settle
from mote.ui.cli.usage import Parser, UsageError, wants_json
from mote.version import __version__

BUG = 70
"""The exit status for a bug in Mote (EX_SOFTWARE of sysexits.h)."""
COMMANDS = {
    "inspect": "layers, shapes, types, quantization, MACs, weights",
    "compile": "generate C for a target",
    "build": "make every model of a project file",
    "check": "hold models of a project to budgets and accuracy",
    "convert": "write a model as a .tflite file",
    "quantize": "quantize a float model",
    "pack": "pack a model as an image for the runtime",
    "dump": "show what is in an image",
    "disassemble": "show the command streams of Ethos-U in a file",
    "delta": "make a delta update between two images",
    "ota": "update a device over the air",
    "runtime": "write the C library that runs images of `mote pack`",
    "agent": "write the agent of a board, with a model",
    "board": "boards with an agent: list, info, flash, log",
    "flash": "write firmware to a part with a tool of yours",
    "plan": "show the memory plan and the kernel of each layer",
    "explore": "RAM against latency: the plans to choose from",
    "search": "search for a network that fits the target",
    "tune": "choose kernels, places and flags by measuring",
    "shrink": "remove what cannot affect the outputs, exactly",
    "prune": "prune channels, blocks of weights, or cluster weights",
    "run": "run on an emulated target, with exact instruction counts",
    "profile": "cycles, time and energy of each layer",
    "verify": "compare every tensor with the reference",
    "evaluate": "accuracy on labelled data",
    "calibrate-target": "fit a target's memory timing and costs to a board",
    "fit-energy": "fit a target's energy model to captures of a meter",
    "fit-threshold": "learn a threshold of scores from data",
    "report": "graph, memory, cost and accuracy as one HTML file",
    "sign": "sign an image, or make the key for it",
    "verify-image": "check the signature of an image",
    "ops": "list operators, their types and kernels",
    "targets": "list cores and parts",
    "backends": "list backends, and what is missing for them",
    "check-generator": "check an external generator, for its author",
    "cmake": "print the folder of CMake's find_package(Mote)",
    "doctor": "what is missing for what, and how to install it",
    "cache": "plans and compiled objects that are kept",
    "completion": "print a script that completes commands in a shell",
}
"""Every command with its line of `mote --help`, which imports none of them."""
GARBAGE = 50_000
"""Objects from one garbage collection to the next: with Python's 700, imports spend a tenth of their time on that."""
BLAS_THREADS = "OPENBLAS_NUM_THREADS"
MANY_SAMPLES = {"quantize", "prune", "search", "evaluate", "fit-threshold"}
"""Commands that multiply matrices large enough for several threads of BLAS. In others two threads wait for one another
for longer than they compute."""


def main(argv: Sequence[str] | None = None) -> int:
    """Parse, dispatch, print. 0 only when all is well; 1 for a failure that is explained; 2 for bad usage; 70 for a bug
    in Mote; 128 and its number for a signal."""
    given = sys.argv[1:] if argv is None else list(argv)
    try:
        return _guarded(given)
    except OSError as error:
        if not output.is_of_output(error):
            raise
        return output.give_up(error)


def _guarded(given: Sequence[str]) -> int:
    """The status of a command, whose errors are said."""
    json_too = wants_json(given)
    try:
        output.prepare()
        with stopping():
            status = _run(given)
        sys.stdout.flush()
        return status
    except UsageError as error:
        output.complain(str(error), error, json_too=json_too)
        return 2
    except MoteError as error:
        output.complain(f"mote: error: {error}", error, json_too=json_too)
        return 1
    except StoppedError as stopped:
        return 128 + stopped.signum
    except Exception as error:
        if os.environ.get("MOTE_DEBUG") or (isinstance(error, OSError) and output.is_of_output(error)):
            raise
        told = explained(error)
        output.complain(f"mote: {told}", told, json_too=json_too)
        return BUG if isinstance(told, InternalError) else 1


def _run(given: Sequence[str]) -> int:
    if not given:
        print(welcome())
        return 0
    if MANY_SAMPLES.isdisjoint(given[:1]):
        os.environ.setdefault(BLAS_THREADS, "1")
    gc.set_threshold(GARBAGE)
    try:
        arguments = parser(given[0]).parse_args(given)
    except SystemExit as done:  # the help or the version was printed
        return int(done.code or 0)
    check_destinations(given[0], arguments)
    if plugins := getattr(arguments, "plugin", []):
        import_module("mote.ui.api.register").load_plugins(plugins)
    if getattr(arguments, "depfile", None):
        arguments.files_read = import_module("mote.ui.cli.depfile").files_read(arguments)
    if getattr(arguments, "quantize", "") or getattr(arguments, "calibrate", None):
        import_module("mote.ui.cli.commands.quantize").quantize_first(arguments)
    settle(wide=getattr(arguments, "wide", False))
    status: int = arguments.run(arguments)
    return status


def parser(command: str) -> argparse.ArgumentParser:
    """Build the parser of `mote` with the options of one command: no other is imported, which would take a while."""
    top = TopParser(prog="mote", usage="%(prog)s COMMAND [options]")
    top.add_argument("--version", action="version", version=f"mote {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser, prog="mote")
    for name, line in COMMANDS.items():
        options = commands.add_parser(name, help=line)
        if name == command:
            module = import_module(f"mote.ui.cli.commands.{name.replace('-', '_')}")
            options.description = module.__doc__
            options.set_defaults(run=module.run)
            module.add(options)
            arranged(options, name)
    return top


def options_of(command: str) -> argparse.ArgumentParser:
    """The parser of the options of one command."""
    (commands,) = (a for a in parser(command)._actions if isinstance(a, argparse._SubParsersAction))
    options: argparse.ArgumentParser = commands.choices[command]
    return options


class TopParser(Parser):
    """The parser of `mote`, whose help has the commands in groups."""

    def format_help(self) -> str:
        return f"{self.format_usage()}\n{overview(COMMANDS)}\n"
