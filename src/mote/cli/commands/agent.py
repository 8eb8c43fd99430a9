"""`mote agent`: the agent of a board, with a model, as a project for an ecosystem."""

from __future__ import annotations

import argparse

from mote.api.agents import PRODUCTION, AgentProject, agent
from mote.cli.common import add_compile_options, bold, print_json, progress, settings, show
from mote.package.agent.description import LEAST_FRAME
from mote.package.agent.packagers import AGENT_PACKAGERS
from mote.package.firmware.agent import AgentOptions
from mote.targets import parse_size


def add(p: argparse.ArgumentParser) -> None:
    add_compile_options(p, calibrated=True)
    p.add_argument("--output", "-o", required=True, metavar="DIR_OR_ZIP", help="folder or .zip archive for the project")
    p.add_argument(
        "--package", choices=AGENT_PACKAGERS, default="cmake", help="the ecosystem of the project (default: cmake)"
    )
    p.add_argument(
        "--production",
        nargs="?",
        const=PRODUCTION[1],
        default=PRODUCTION[0],
        choices=PRODUCTION[1:],
        help="leave out what changes the device: run takes no code, images or restarts; identify runs nothing either",
    )
    p.add_argument(
        "--frame",
        type=int,
        default=AgentOptions.frame,
        metavar="BYTES",
        help=f"bytes of a message, at least {LEAST_FRAME} (default: {AgentOptions.frame})",
    )
    p.add_argument(
        "--scratch",
        default="0",
        metavar="BYTES",
        help="RAM for code and data under tuning (K and M suffixes; default: none)",
    )
    p.add_argument(
        "--metadata",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="metadata of packages: version, author, email, url, license, summary; repeatable",
    )
    p.add_argument("--force", action="store_true", help="overwrite files that were edited, and list them")


def run(arguments: argparse.Namespace) -> int:
    with progress("compiling") as say:
        made = agent(
            arguments.model,
            settings(arguments),
            package=arguments.package,
            production=arguments.production,
            frame=arguments.frame,
            scratch=parse_size(arguments.scratch),
            metadata=arguments.metadata,
            say=say,
        )
    lost = made.write(arguments.output, force=arguments.force)
    if arguments.json:
        print_json({"folder": arguments.output} | made.json() | {"overwritten": lost})
        return 0
    _print(made, arguments.output)
    if lost:
        show(f"  overwritten by --force: {', '.join(lost)}")
    return 0


def _print(made: AgentProject, folder: str) -> None:
    options = made.options
    show(bold(f"agent with {made.model} for {made.target}"))
    able = [word for word, has in (("runs the model", options.runs), ("takes code and restarts", options.loads)) if has]
    scratch = f", scratch memory {options.scratch:,} bytes" if options.scratch else ""
    show(f"  {' and '.join(able) or 'says what it is'}; messages of {options.frame:,} bytes{scratch}")
    show(f"  model {made.model_id}")
    show(f"  project for {made.package} in {folder}: README.md says how to build it; `mote board info` checks it")
