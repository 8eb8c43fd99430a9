"""`mote cmake`: the folder of CMake's `find_package(Mote)`, and what its `mote_add_model()` asks for."""

from __future__ import annotations

import argparse
from importlib import import_module

from mote.hardware.targets.flags import OPTIMIZATION
from mote.ui.api.listings import FOLDER, cmake

OWN = {
    *("help", "output", "package", "metadata", "json", "wide", "force", "single_file", "depfile"),
    *("adapter", "source", "shared_arena", "run_together"),
}
"""Options of `mote compile` that `mote_add_model()` sets itself, or that are not for a model in a build."""


def add(p: argparse.ArgumentParser) -> None:
    asked = p.add_mutually_exclusive_group()
    asked.add_argument("--keywords", action="store_true", help="print the keywords of mote_add_model()")
    asked.add_argument("--flags", action="store_true", help="print the compiler flags of a model instead of the folder")
    p.add_argument("--target", "-t", default="host", help="target of --flags")
    p.add_argument("--trust-target", action="store_true", help="allow the target file any compiler option")
    p.add_argument("--optimize", choices=OPTIMIZATION, default="balanced", help="optimization of --flags")


def run(arguments: argparse.Namespace) -> int:
    if arguments.keywords:
        for kind, words in keywords().items():
            print(f"{kind}: {','.join(words)}")
    elif arguments.flags:
        files = cmake(arguments.target, trust_target=arguments.trust_target, optimize=arguments.optimize)
        print(f"level: {files.level}")
        print(f"gcc: {','.join(files.gcc_flags)}")
    else:
        print(FOLDER.as_posix())
    return 0


def keywords() -> dict[str, list[str]]:
    """The options of `mote compile` as keywords of CMake: those without a value, with one, and with several."""
    parser = argparse.ArgumentParser()
    import_module("mote.ui.cli.commands.compile").add(parser)
    words: dict[str, list[str]] = {"switches": [], "values": [], "lists": []}
    for action in parser._actions:
        kind = "switches" if action.nargs == 0 else "lists" if isinstance(action, argparse._AppendAction) else "values"
        if action.dest not in OWN:
            names = (name for name in action.option_strings if name.startswith("--"))
            words[kind] += [name.removeprefix("--").replace("-", "_").upper() for name in names]
    return words
