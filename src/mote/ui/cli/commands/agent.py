"""`mote agent`: the agent of a board, with a model or for images, as a project for an ecosystem."""

from __future__ import annotations

import argparse

from mote.deploy.agent.firmware import AgentOptions
from mote.deploy.agent.packages.description import LEAST_FRAME
from mote.deploy.agent.packages.packagers import AGENT_PACKAGES, FIRMWARE
from mote.deploy.agents import KINDS, PRODUCTION, AgentProject, agent
from mote.deploy.runtime import SETS
from mote.hardware.targets import parse_size
from mote.ui.cli.common import add_number, bold, named, print_json, progress, show
from mote.ui.cli.options.compiling import add_compile_options, add_metadata, settings
from mote.ui.cli.outputs import OutputAction, describe_artifacts, folder_of, print_artifacts


def add(p: argparse.ArgumentParser) -> None:
    add_compile_options(p, count="?", calibrated=True)
    p.add_argument(
        "--runtime",
        nargs="+",
        metavar="KERNELS",
        help="in place of a model: the runtime with these kernels, as of `mote runtime --kernels`, for images that the"
        " host loads",
    )
    p.add_argument(
        "--output",
        "-o",
        action=OutputAction,
        required=True,
        metavar="DIR_OR_ZIP|KIND",
        help="-o DIR_OR_ZIP: folder or .zip archive for the project. --output KIND, one or several of"
        f" {', '.join(KINDS)}: kinds of files of --package {FIRMWARE}",
    )
    p.set_defaults(output=None, binaries=())
    p.add_argument(
        "--package",
        choices=AGENT_PACKAGES,
        default="cmake",
        help=f"the ecosystem of the project, or {FIRMWARE}: complete firmware of a part whose file has a serial port,"
        " or of a core's emulated board (default: cmake)",
    )
    p.add_argument(
        "--production",
        nargs="?",
        const=PRODUCTION[1],
        default=PRODUCTION[0],
        choices=PRODUCTION[1:],
        help="leave out what changes the device: run takes no code, images or restarts; identify runs nothing either",
    )
    add_number(p, "--frame", AgentOptions.frame, f"bytes of a message, at least {LEAST_FRAME}", metavar="BYTES")
    p.add_argument(
        "--scratch",
        default="0",
        metavar="BYTES",
        help="RAM for code and data under tuning (K and M suffixes; default: none)",
    )
    for name, what in (("image-ram", "an image"), ("arena", "tensors of images"), ("states", "states and counters")):
        p.add_argument(
            f"--{name}",
            default="0",
            metavar="BYTES",
            help=f"with --runtime: RAM for {what} (default: what models need whose kernels it has)",
        )
    p.add_argument(
        "--keys",
        action="append",
        default=[],
        metavar="FILE",
        help="with --runtime: a public key (PEM) that images must be signed with; repeatable",
    )
    add_metadata(p)
    p.add_argument("--force", action="store_true", help="overwrite files that were edited, and list them")


def run(arguments: argparse.Namespace) -> int:
    folder = folder_of(arguments)
    with progress("compiling") as say:
        made = agent(
            arguments.model,
            settings(arguments),
            **named(arguments, "package", "production", "frame"),
            scratch=parse_size(arguments.scratch),
            runtime=_kernels(arguments.runtime),
            image_ram=parse_size(arguments.image_ram),
            arena=parse_size(arguments.arena),
            states=parse_size(arguments.states),
            **named(arguments, "keys", "binaries", "metadata"),
            say=say,
        )
    lost = made.write(folder, force=arguments.force)
    if arguments.json:
        print_json({"folder": folder} | made.json() | describe_artifacts(made.built) | {"overwritten": lost})
        return 0
    _print(made, folder)
    if lost:
        show(f"  overwritten by --force: {', '.join(lost)}")
    return 0


def _kernels(given: list[str] | None) -> str | list[str] | None:
    """A set of kernels, or models whose kernels are meant."""
    return given[0] if given and len(given) == 1 and given[0] in SETS else given


def _print(made: AgentProject, folder: str) -> None:
    options = made.options
    show(bold(f"agent with {made.model or 'the runtime'} for {made.target}"))
    able = [word for word, has in (("runs the model", options.runs), ("takes code and restarts", options.loads)) if has]
    scratch = f", scratch memory {options.scratch:,} bytes" if options.scratch else ""
    show(f"  {' and '.join(able) or 'says what it is'}; messages of {options.frame:,} bytes{scratch}")
    if made.room:
        arenas = " + ".join(f"{size:,}" for size in made.room.arenas if size)
        show(f"  RAM for images: {made.room.image:,} bytes, tensors {arenas}, states {made.room.states:,}")
    show(f"  {'model' if made.model else 'runtime'} {made.id}")
    if made.package == FIRMWARE:
        print_artifacts(made.built, made.target, "listens at")
        show(f"  firmware in {folder}: `mote flash {folder}` writes it, `mote board info` checks it")
        return
    show(f"  project for {made.package} in {folder}: README.md says how to build it; `mote board info` checks it")
