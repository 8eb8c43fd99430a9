"""`mote backends`: the backends that there are, what is missing for them, and the targets that they serve."""

from __future__ import annotations

import argparse

from mote.ui.api.backends import Backend, backends
from mote.ui.api.register import load_plugins
from mote.ui.cli.common import add_json, green, print_json, red, show


def add(p: argparse.ArgumentParser) -> None:
    p.add_argument("-t", "--target", metavar="TARGET", help="only backends that serve this target")
    p.add_argument(
        "--trust-target",
        action="store_true",
        help="allow the target file any compiler option, even those that execute programs",
    )
    p.add_argument(
        "--plugin",
        action="append",
        default=[],
        metavar="FILE.py",
        help="Python file to run first, which registers some",
    )
    add_json(p)


def run(arguments: argparse.Namespace) -> int:
    load_plugins(arguments.plugin)
    listed = backends(target=arguments.target, trust_target=arguments.trust_target)
    if arguments.json:
        print_json([backend.json() for backend in listed])
        return 0
    width = max(len(backend.name) for backend in listed)
    for backend in listed:
        _print(backend, width)
    return 0


def _print(backend: Backend, width: int) -> None:
    mark = green("ready  ") if backend.ready else red("missing")
    indent = width + len("missing") + 4
    served = backend.targets if len(backend.targets) <= 6 else (f"{len(backend.targets)} targets",)
    facts = [backend.about, backend.origin, *([", ".join(served)] if served else [])]
    show(f"{mark}  {backend.name.ljust(width)}  {'; '.join(filter(None, facts))}", indent)
    if not backend.ready:
        show(f"{' ' * indent}{backend.missing}: {backend.remedy}", indent)
