"""`mote ops`: the operators that Mote compiles, in which types, and how they can run."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from mote.api.operators import HEAD, operators, rows
from mote.cli.common import Subparsers, add_json, print_json, table
from mote.errors import MoteError
from mote.text import did_you_mean


def add(commands: Subparsers) -> None:
    p = commands.add_parser("ops", help="list operators, their types and kernels", description=__doc__)
    p.add_argument("name", metavar="OPERATOR", nargs="*", help="only these (default: all)")
    add_json(p)
    p.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    known = {operator.name: operator for operator in operators()}
    for name in arguments.name:
        if name not in known:
            guess = did_you_mean(name, list(known))
            raise MoteError(f"there is no operator '{name}'", remedy=f"{guess}`mote ops` lists all")
    found = [known[name] for name in arguments.name or known]
    if arguments.json:
        print_json([asdict(operator) for operator in found])
        return 0
    print(table(HEAD, rows(found), left=len(HEAD)))
    return 0
