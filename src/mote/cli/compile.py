"""`mote compile`: a model file in, a folder of C out."""

from __future__ import annotations

import argparse

from mote import compiler, toolchain
from mote.cli.common import Subparsers, add_compile_options, bold, print_json, progress, settings
from mote.compiler import Compiled
from mote.errors import MoteError
from mote.measure import code_size


def add(commands: Subparsers) -> None:
    p = commands.add_parser("compile", help="generate C for a target", description=__doc__)
    add_compile_options(p)
    p.add_argument("--output", "-o", required=True, metavar="DIR", help="folder for the C project")
    p.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    with progress("compiling"):
        compiled = compiler.compile(arguments.model, settings(arguments))
        code = _checked_code(compiled)
    folder = compiled.write(arguments.output)
    if arguments.json:
        print_json(describe(compiled, str(folder), code))
    else:
        print_text(compiled, str(folder), code)
    return 0


def _checked_code(compiled: Compiled) -> int | None:
    """The code's exact size where there is a flash limit to check and a compiler to ask."""
    if compiled.settings.flash_limit is None:
        return None
    try:
        toolchain.find_compiler(compiled.settings.target)
    except MoteError:
        return None
    code = code_size(compiled)
    compiler.check_budgets(compiled, code or 0)
    return code


def describe(compiled: Compiled, folder: str, code: int | None) -> dict[str, object]:
    return {
        "model": compiled.path,
        "target": compiled.settings.target.name,
        "name": compiled.name,
        "folder": folder,
        "files": sorted(compiled.project.files),
        "steps": len(compiled.plan.steps),
        "macs": compiled.macs,
        "ram": {"arena": compiled.plan.arena, "bound": compiled.plan.bound},
        "flash": {"constants": compiled.project.constants, "code": code},
        "passes": [
            {"name": s.name, "removed": s.removed, "detail": s.detail, "exact": s.exact} for s in compiled.savings
        ],
    }


def print_text(compiled: Compiled, folder: str, code: int | None) -> None:
    plan = compiled.plan
    print(bold(f"{compiled.path} for {compiled.settings.target.name}"))
    for s in compiled.savings:
        note = "" if s.exact else " (float results may change in the last bits)"
        print(f"  {s.name}: {s.detail}{note}")
    print(f"  {len(plan.steps)} steps, {compiled.macs:,} MACs")
    print(f"  RAM: arena {plan.arena:,} bytes (no placement of its buffers needs less than {plan.bound:,})")
    shown = "" if code is None else f", code {code:,} bytes"
    print(f"  flash: constants {compiled.project.constants:,} bytes{shown}")
    print(f"  C project in {folder}: add {compiled.name}.c to your build; {compiled.name}.h is the manual")
