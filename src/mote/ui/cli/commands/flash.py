"""`mote flash`: write firmware to a part with a tool of yours, whose command is shown before it runs."""

from __future__ import annotations

import argparse
import shlex
import sys

from mote.base.errors import MoteError
from mote.deploy.delivery import flash
from mote.deploy.firmware.flash import FLASH_TOOLS, FlashCommand
from mote.ui.cli.common import bold, named


def add(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "firmware",
        metavar="FILE_OR_DIR",
        help="an .elf, .hex, .bin or .uf2 file, a folder of `mote compile --output`, an Arduino package, or a project"
        " that idf.py has built",
    )
    p.add_argument(
        "--target",
        "-t",
        default="",
        metavar="PART",
        help="the part, a .toml file, or a board of Arduino's (default: the part that the folder was built for)",
    )
    p.add_argument(
        "--tool", default="", metavar="NAME", help=f"{', '.join(FLASH_TOOLS)} (default: the first one that can)"
    )
    p.add_argument("--port", default="", help="serial port, serial number of the debug probe, or folder of the drive")
    p.add_argument(
        "--probe", default="", metavar="NAME", help="debug probe of OpenOCD: cmsis-dap, stlink, jlink (default: usual)"
    )
    p.add_argument("--dry-run", action="store_true", help="only show the command")
    p.add_argument("--yes", "-y", action="store_true", help="do not ask before the command runs")


def run(arguments: argparse.Namespace) -> int:
    made = flash(arguments.firmware, arguments.target, **named(arguments, "tool", "port", "probe"), dry_run=True)
    part = f" for {made.target}" if made.target else ""
    print(bold(f"{arguments.firmware}{part} with {made.tool}"))
    print(f"  {_shown(made.command)}", flush=True)
    if arguments.dry_run:
        return 0
    if not arguments.yes:
        _ask()
    made.run()
    return 0


def _shown(command: FlashCommand) -> str:
    where = f"cd {shlex.quote(str(command.folder))} && " if command.folder else ""
    return where + shlex.join(command.arguments)


def _ask() -> None:
    """Let the user say yes; a script says so by an option."""
    if not sys.stdin.isatty():
        raise MoteError("nobody can be asked whether it may run", remedy="add --yes, or --dry-run only to see it")
    if input("run it? [y/N] ").strip().lower() not in ("y", "yes"):
        raise MoteError("was not run", remedy="answer y, or give --yes")
