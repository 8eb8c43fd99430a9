"""The `mote` command: a thin layer over the Python API, one file for each subcommand."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from mote.errors import MoteError
from mote.stopping import StoppedError, stopping
from mote.text import printable
from mote.version import __version__

BUG = 70
"""The exit status for a bug in Mote (EX_SOFTWARE of sysexits.h)."""
REPORT = "the command, the model if you may share it, and what MOTE_DEBUG=1 in front of the command prints"
COMMANDS = ("inspect", "compile", "plan", "explore", "shrink", "run", "profile", "verify", "targets", "doctor")


def main(argv: Sequence[str] | None = None) -> int:
    """Parse, dispatch, print. 0 only when all is well; 1 for a failure that is explained; 2 for bad usage; 70 for a bug
    in Mote."""
    given = sys.argv[1:] if argv is None else list(argv)
    arguments = parser(_needed(given)).parse_args(given)
    try:
        with stopping():
            status: int = arguments.run(arguments)
        return status
    except MoteError as error:
        if getattr(arguments, "json", False):
            print(json.dumps({"error": {"where": error.where, "reason": error.reason, "remedy": error.remedy}}))
        print(printable(f"mote: error: {error}", keep="\n\t"), file=sys.stderr)
        return 1
    except StoppedError as stopped:
        return 128 + stopped.signum
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except Exception as error:
        if os.environ.get("MOTE_DEBUG"):
            raise
        return report_bug(error, json_too=getattr(arguments, "json", False))


def report_bug(error: Exception, *, json_too: bool) -> int:
    """What went wrong is no fault of the user's file or machine: say so, and how to report it."""
    reason, remedy = f"this is a bug in Mote ({type(error).__name__}: {error})", f"please report it: {REPORT}"
    if json_too:
        print(json.dumps({"error": {"where": "", "reason": reason, "remedy": remedy}}))
    print(f"mote: {reason}\n  help: {remedy}", file=sys.stderr)
    return BUG


def _needed(given: Sequence[str]) -> Sequence[str]:
    """The commands that must be imported to understand the arguments, which takes a while: the one that is named, or
    all where none is."""
    first = given[0] if given else ""
    return () if first == "--version" else (first,) if first in COMMANDS else COMMANDS


def parser(names: Sequence[str]) -> argparse.ArgumentParser:
    """Of these commands."""
    top = argparse.ArgumentParser(
        prog="mote",
        description="Compile trained neural networks to small, fast, bit-exact C for microcontrollers.",
        epilog="`mote COMMAND --help` explains a command.",
    )
    top.add_argument("--version", action="version", version=f"mote {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    for name in names:
        import_module(f"mote.cli.{name}").add(commands)
    return top
