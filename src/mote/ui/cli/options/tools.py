"""Options of the commands that run a model: compilers, emulators, boards and workers."""

from __future__ import annotations

from collections.abc import Sequence

from mote.deploy.boards.interruption import Interruption, interruption_lines
from mote.hardware.toolchain.emulators import EMULATORS
from mote.ui.cli.common import Options, show

TOOLS = ("compiler", "emulator", "board")
"""Options that say what runs a model, as functions call them, too."""


def add_tools(parser: Options) -> None:
    parser.add_argument("--compiler", choices=("gcc", "zig"), help="C compiler (default: gcc if installed)")
    parser.add_argument("--emulator", choices=EMULATORS, help="emulator (default: qemu if installed)")


def add_board(parser: Options, what: str) -> None:
    """Add the option for a board that runs the model in place of an emulator."""
    parser.add_argument(
        "--board",
        metavar="ADDRESS",
        help=f"{what}: a name of boards.toml, serial:/dev/ttyACM0, tcp:HOST:PORT or qemu:TARGET; without --target the"
        " model is compiled for the board's (docs/measure/measurement.md)",
    )


def add_journal(parser: Options) -> None:
    """Add the option for the journal of a search."""
    parser.add_argument(
        "--journal", metavar="FILE", help="save results to this file, from which an interrupted search resumes"
    )


def add_workers(parser: Options) -> None:
    """Add the options for the worker processes of a search."""
    parser.add_argument(
        "--workers",
        type=int,
        default=0,
        metavar="N",
        help="number of worker processes (default: none, all in this one); with --scheduler, number of"
        " evaluations in flight (default: the threads of the cluster)",
    )
    parser.add_argument(
        "--scheduler",
        default="",
        metavar="ADDRESS",
        help="run the evaluations on a Dask cluster; the address of its scheduler, such as tcp://HOST:8786",
    )


def show_interruptions(interruptions: Sequence[Interruption]) -> None:
    """Tells that boards were reset or lost, and what was run again."""
    for line in interruption_lines(interruptions):
        show(f"note: {line}")
