"""The kernels that a core is offered for an operator."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from mote.compiler.kernels import catalogue
from mote.compiler.kernels.contract import Call, Packed, View
from mote.ir.graph import Graph, Op

PORTABLE: frozenset[str] = frozenset()
DSP = frozenset({"dsp"})
HELIUM = DSP | {"mve"}


def offered(g: Graph, op: Op, features: frozenset[str] = PORTABLE, *, coded: bool = False, **view: Any) -> list[Packed]:
    """Those to choose from; `view` has the layouts, and whether flash counts most."""
    return catalogue.candidates(View(g, (op,), **view), features, coded=coded)


def first(g: Graph, features: frozenset[str] = PORTABLE) -> Packed:
    """The first kernel that the first operator is offered."""
    return offered(g, g.ops[0], features)[0]


def named(name: str, g: Graph, op: Op, **fixed: Any) -> Packed | None:
    """The kernel of that name bound to an operator, with something fixed that its packer would choose; None where it
    refuses."""
    kernel = next(k for k in catalogue.KERNELS if k.name == name and isinstance(op, k.computes[0]))
    found = replace(kernel, pack=partial(kernel.pack, **fixed)).bind(View(g, (op,)))
    return found if isinstance(found, Packed) else None


def adding(g: Graph, op: Op, **view: Any) -> Packed | None:
    """The kernel that keeps running sums."""
    return catalogue.by_call(View(g, (op,), **view), Call.ADDS)
