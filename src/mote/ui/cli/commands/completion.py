"""`mote completion`: a script that completes commands, options, targets and files in a shell."""

from __future__ import annotations

import argparse

from mote.hardware import targets
from mote.ui.cli import COMMANDS, options_of
from mote.ui.cli.completion import SHELLS, words_of


def add(p: argparse.ArgumentParser) -> None:
    p.add_argument("shell", choices=SHELLS, help="the shell that the script is for")


def run(arguments: argparse.Namespace) -> int:
    names = targets.names()
    commands = {name: (line, words_of(options_of(name), names)) for name, line in COMMANDS.items()}
    print(SHELLS[arguments.shell](commands), end="")
    return 0
