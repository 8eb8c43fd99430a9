"""`mote disassemble`: the command streams of Ethos-U in a file."""

from __future__ import annotations

import argparse

from mote.compiler.offload.ethos_u.disassemble import Disassembly, disassemble
from mote.ui.cli.common import add_json, bold, print_json, show


def add(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "file", metavar="FILE", help="a payload, a .tflite file of Vela, or any file with jobs of Mote in it"
    )
    add_json(p)


def run(arguments: argparse.Namespace) -> int:
    result = disassemble(arguments.file)
    print_json(result.json()) if arguments.json else _print_text(result)
    return int(any(one.refused for one in result.streams))


def _print_text(result: Disassembly) -> None:
    for number, one in enumerate(result.streams):
        if number:
            show()
        show(bold(f"{result.file}, {one.where}"))
        print(one.text())
