"""The `mote` command: a thin layer over the Python API, one file for each subcommand."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from mote.errors import MoteError
from mote.version import __version__

COMMANDS = ("inspect", "compile", "plan", "explore", "shrink", "run", "profile", "verify", "targets", "doctor")


def main(argv: Sequence[str] | None = None) -> int:
    """Parse, dispatch, print. 0 only when all is well; 1 for a failure that is explained; 2 for bad usage."""
    arguments = parser().parse_args(argv)
    try:
        status: int = arguments.run(arguments)
        return status
    except MoteError as error:
        if getattr(arguments, "json", False):
            print(json.dumps({"error": {"where": error.where, "reason": error.reason, "remedy": error.remedy}}))
        print(f"mote: error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 1


def parser() -> argparse.ArgumentParser:
    from importlib import import_module

    top = argparse.ArgumentParser(
        prog="mote",
        description="Compile trained neural networks to small, fast, bit-exact C for microcontrollers.",
        epilog="`mote COMMAND --help` explains a command.",
    )
    top.add_argument("--version", action="version", version=f"mote {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    for name in COMMANDS:
        import_module(f"mote.cli.{name}").add(commands)
    return top
