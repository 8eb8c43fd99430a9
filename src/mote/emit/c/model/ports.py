"""Inputs and outputs of a generated model as callers see them: accessors, and arguments of init."""

from __future__ import annotations

from dataclasses import dataclass

from mote.emit.c.model.arenas import arenas
from mote.emit.c.options import ProjectOptions
from mote.emit.c.values import CTYPES
from mote.graph import Tensor
from mote.plan.plan import Plan


@dataclass(frozen=True)
class CPort:
    """An input or output: the accessor `function`, which returns a `ctype *`, and the prefix of its macros."""

    function: str
    ctype: str
    tensor: Tensor
    is_input: bool

    @property
    def macro(self) -> str:
        return self.function.upper()


def inputs(plan: Plan, options: ProjectOptions) -> list[CPort]:
    return _ports(plan, plan.graph.inputs, f"{options.name}_input", "", is_input=True)


def outputs(plan: Plan, options: ProjectOptions) -> list[CPort]:
    return _ports(plan, plan.graph.outputs, f"{options.name}_output", "const ", is_input=False)


def _ports(plan: Plan, ids: tuple[int, ...], function: str, const: str, *, is_input: bool) -> list[CPort]:
    """Ports with numbered names, where there are several."""
    ports = []
    for i, t in enumerate(plan.graph.tensors[t] for t in ids):
        suffix = f"_{i}" if len(ids) > 1 else ""
        ports.append(CPort(f"{function}{suffix}", f"{const}{CTYPES[t.dtype].name}", t, is_input))
    return ports


def caller_arenas(plan: Plan, options: ProjectOptions) -> list[str]:
    """Definitions of the arenas that the caller supplies; empty where the model has its own."""
    if not options.caller_arena:
        return []
    return [f"static uint64_t {a.pointer}[({a.macro(options)} + 7) / 8];" for a in arenas(plan)]


def init_call(plan: Plan, options: ProjectOptions) -> str:
    given = [f"{a.pointer}, sizeof {a.pointer}" for a in arenas(plan)] if options.caller_arena else []
    return f"{options.name}_init({', '.join(given)})"


def parameters(plan: Plan, options: ProjectOptions) -> str:
    """The parameters of init."""
    given = [f"void *{a.pointer}, size_t {a.size}" for a in arenas(plan)] if options.caller_arena else []
    return ", ".join(given) or "void"
