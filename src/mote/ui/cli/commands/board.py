"""`mote board`: boards with an agent: which there are, what they say, firmware for them, their text."""

from __future__ import annotations

import argparse
import sys

from mote.base.errors import MoteError
from mote.base.stopping import StoppedError
from mote.deploy.board import ACTIONS, BoardFlashed, BoardInfo, BoardList, board
from mote.deploy.boards.protocol import UNKNOWN
from mote.deploy.firmware.flash import FLASH_TOOLS
from mote.ui.cli.common import add_json, bold, named, print_json, progress, show, table
from mote.ui.cli.options.compiling import add_option
from mote.ui.cli.table import drop, fold


def add(p: argparse.ArgumentParser) -> None:
    p.add_argument("action", choices=ACTIONS, help="list boards, info on one, flash a model, log what one prints")
    p.add_argument(
        "board",
        nargs="?",
        default="",
        metavar="BOARD",
        help="a name of boards.toml, serial:/dev/ttyACM0[@BAUD], tcp:HOST:PORT or qemu:TARGET",
    )
    p.add_argument("model", nargs="?", metavar="MODEL", help="the model to flash; an emulated board starts with one")
    p.add_argument("--target", "-t", default="", metavar="TARGET", help="part or core (default: the board's)")
    add_option(p, "optimize", help="as of `mote compile` (default: balanced)")
    p.add_argument("--boards", metavar="FILE", help="file of boards (default: boards.toml)")
    p.add_argument("--tool", default="", metavar="NAME", help=f"with flash: {', '.join(FLASH_TOOLS)}")
    p.add_argument("--port", default="", help="with flash: serial number of the probe, serial port or folder")
    p.add_argument("--probe", default="", metavar="NAME", help="with flash: debug probe of OpenOCD")
    p.add_argument("--seconds", type=float, metavar="S", help="with log: stop after so many seconds")
    add_json(p)


def run(arguments: argparse.Namespace) -> int:
    chosen = {name: getattr(arguments, name) for name in ("target", "optimize", "boards", "tool", "port", "probe")}
    named = (arguments.action, arguments.board, arguments.model)
    if arguments.action == "log":
        return _log(arguments)
    with progress("asking the board") as say:
        made = board(*named, **chosen, say=say)
    assert not isinstance(made, str)
    if arguments.json:
        print_json(made.json())
    elif isinstance(made, BoardList):
        _print_list(made)
    elif isinstance(made, BoardFlashed):
        show(f"{made.info.name}: {made.how}")
        _print_info(made.info)
    else:
        _print_info(made)
    return 0


def _log(arguments: argparse.Namespace) -> int:
    """Prints the text of a board as it comes; an interruption ends it."""
    if arguments.model:
        raise MoteError("the log has no model", where=f"mote board log {arguments.board}", remedy="omit the model")

    def write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    try:
        text = board(
            "log",
            arguments.board,
            **named(arguments, "boards", "seconds"),
            show=(lambda _: None) if arguments.json else write,
        )
    except StoppedError:
        return 0
    if arguments.json:
        print_json({"board": arguments.board, "text": text})
    return 0


def _print_list(made: BoardList) -> None:
    rows = [
        (each.name, each.target or "-", each.state, each.note or ("" if each.address == each.name else each.address))
        for each in made.boards
    ]
    print(table(("board", "target", "state", "address"), rows, left=4, fit=(drop("address"), fold("state"))))
    for name, members in made.pools.items():
        show(f"pool {name}: {', '.join(members)}")
    if not made.file:
        show("no boards.toml: docs/measure/boards.md says what it is for")


def _print_info(info: BoardInfo) -> None:
    identity = info.identity
    said = identity.json()
    show(bold(f"{info.name}: {identity.target}, agent of protocol {identity.protocol}"))
    if info.placed:
        show(f"  model     {info.placed}")
    clock = f"{identity.clock_hz / 1e6:g} MHz" if identity.clock_hz else "not stated"
    waits = "not stated" if identity.flash_waits == UNKNOWN else str(identity.flash_waits)
    show(f"  core      {identity.core:#010x}, clock {clock}, flash waits {waits}")
    rate = f" of {identity.counter_hz / 1e6:g} MHz" if identity.counter_hz else ""
    show(f"  counter   {said['counter']}{rate}")
    for address, size in info.memories:
        show(f"  memory    {address:#010x}, {size:,} bytes")
    if identity.has_model:
        show(f"  model id  {identity.model.hex()}")
    if identity.has_runtime:
        show(f"  runtime   {identity.runtime.hex()}")
    inputs, outputs = (", ".join(f"{count:,}" for count in sizes) or "none" for sizes in (info.inputs, info.outputs))
    show(f"  inputs    {inputs} bytes; outputs {outputs} bytes; {identity.steps} steps")
    show(f"  scratch   {info.scratch:,} bytes; images {info.image:,} bytes; messages {identity.message_bytes:,} bytes")
    show(f"  can       {', '.join(said['abilities'])}")
