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

    model: str
    """The prefix of the model's functions."""
    suffix: str
    """The port's number, where there are several."""
    ctype: str
    tensor: Tensor
    is_input: bool

    @property
    def function(self) -> str:
        return self.named("input" if self.is_input else "output")

    @property
    def macro(self) -> str:
        return self.function.upper()

    @property
    def call(self) -> str:
        """The call of the accessor."""
        return f"{self.function}()"

    @property
    def element(self) -> str:
        """The type of an element."""
        return self.ctype.removeprefix("const ")

    def named(self, what: str) -> str:
        """The name of a function of this port."""
        return f"{self.model}_{what}{self.suffix}"


def inputs(plan: Plan, options: ProjectOptions) -> list[CPort]:
    return _ports(plan, plan.graph.inputs, options.name, "", is_input=True)


def outputs(plan: Plan, options: ProjectOptions) -> list[CPort]:
    return _ports(plan, plan.graph.outputs, options.name, "const ", is_input=False)


def _ports(plan: Plan, ids: tuple[int, ...], model: str, const: str, *, is_input: bool) -> list[CPort]:
    """Ports with numbered names, where there are several."""
    ports = []
    for i, t in enumerate(plan.graph.tensors[t] for t in ids):
        suffix = f"_{i}" if len(ids) > 1 else ""
        ports.append(CPort(model, suffix, f"{const}{CTYPES[t.dtype].name}", t, is_input))
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
