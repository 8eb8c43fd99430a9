"""`--output` of `mote compile`: the folder, or the kinds of binaries that are built into it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from mote.base.errors import MoteError
from mote.compiler.emit.c.project import Project
from mote.compiler.package.adapters.sources import recording_of
from mote.compiler.plan.plan import Plan
from mote.compiler.settings import Settings
from mote.deploy.firmware.artifacts import KINDS, Artifacts, artifacts
from mote.deploy.firmware.usage import Usage
from mote.ui.cli.terminal import show
from mote.ui.project.making import program_of


class OutputAction(argparse.Action):
    """`--output elf,uf2` adds kinds to `binaries`; `-o` and any other value set the folder, `output`."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        words = str(values).split(",")
        unknown = [word for word in words if word not in KINDS]
        if option_string == "-o" or len(unknown) == len(words):
            namespace.output = values
        elif unknown:
            parser.error(f"argument --output: '{unknown[0]}' is none of {', '.join(KINDS)}")
        else:
            before = getattr(namespace, "binaries", None) or ()
            namespace.binaries = tuple(dict.fromkeys((*before, *words)))


def add_output(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "--output",
        "-o",
        action=OutputAction,
        required=True,
        metavar="DIR_OR_ZIP|KIND",
        help="-o DIR_OR_ZIP: folder or .zip archive for the C project. --output KIND, one or several of"
        f" {', '.join(KINDS)}: also build a"
        " static library, or complete firmware for the part, into that folder; --output with any other value is the"
        " folder, too (./elf for one of that name)",
    )
    p.set_defaults(output=None, binaries=())


def folder_of(arguments: argparse.Namespace) -> str:
    """The folder, without which kinds of binaries are not enough."""
    if arguments.output is None:
        kinds = ",".join(arguments.binaries)
        raise MoteError("no folder was given", where="option output", remedy=f"add one: --output {kinds} -o DIR")
    folder: str = arguments.output
    return folder


def build_artifacts(
    arguments: argparse.Namespace, project: Project, plans: Sequence[Plan], settings: Settings
) -> Artifacts:
    """The binaries of several models that are asked for, with the user's edited `main`, if there is one."""
    program = program_of(None, arguments.output, arguments.source, force=arguments.force)
    if program is None and recording_of(arguments.source) and set(arguments.binaries) - {"lib"}:
        raise MoteError(
            "example/main.c plays a recording to one model, and there are several",
            where="option source",
            remedy="omit the kind of --output, or write an example/main.c of your own and compile again",
        )
    return artifacts(project, plans, settings, arguments.binaries, program)


def print_artifacts(built: Artifacts, target: str, speaks: str = "prints to") -> None:
    """Says what was built, and the memories that it takes; `speaks` is what it does with its console."""
    if built.compiler is None:
        return
    names = ", ".join(name for name, content in built.files.items() if isinstance(content, bytes))
    show(f"  built {names} with {built.compiler.command[0]} {built.compiler.version}")
    if built.usage is None:
        return
    if built.board:
        show(f"  firmware for the emulated board {built.board}, since {target} names no memories: QEMU runs it")
    for name, (used, size) in built.usage.memories.items():
        show(f"  {name}: {used:,} of {size:,} bytes ({used / size:.1%})")
    show(f"  stack: {_stack(built.usage)}")
    show(f"  {speaks} {built.console}")


def _stack(usage: Usage) -> str:
    room = f"{usage.stack_room:,} bytes of {usage.stack_in} are left for it"
    if usage.stack is None:
        return f"{room}; how deep it gets is not known: {usage.unknown}"
    return f"at most {usage.stack.size:,} bytes, {room}"


def describe_artifacts(built: Artifacts) -> dict[str, object]:
    """The binaries, their compiler and the memories of the firmware as JSON."""
    if built.compiler is None:
        return {}
    usage = built.usage
    linked = (
        {
            "memories": {name: {"used": used, "size": size} for name, (used, size) in usage.memories.items()},
            "stack": usage.stack.size if usage.stack else None,
            "stack_room": usage.stack_room,
            "console": built.console,
            "board": built.board or None,
        }
        if usage
        else None
    )
    files = [name for name, content in built.files.items() if isinstance(content, bytes)]
    compiler = f"{built.compiler.command[0]} {built.compiler.version}"
    return {"built": {"files": files, "compiler": compiler, "firmware": linked}}
