"""Inputs and outputs of generated C as callers see them: accessors, and arguments of init."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mote.compiler.emit.c.model.arenas import arenas
from mote.compiler.emit.c.model.handle import HANDLE, called, handed, instance_type, taken
from mote.compiler.emit.c.options import ProjectOptions
from mote.compiler.emit.c.values import CTYPES
from mote.compiler.plan.plan import ARENA_ALIGNMENT, Plan
from mote.ir.graph import Tensor
from mote.ir.graph.rows import row_count
from mote.ir.graph.tensor import Normalization
from mote.ir.ops.features.scores import Decision


@dataclass(frozen=True)
class CPort:
    """An input or output. Its accessor `function` returns a `ctype *`; its macros begin with `macro`."""

    options: ProjectOptions
    suffix: str
    """The number of the input or output with an underscore, if there are several."""
    ctype: str
    tensor: Tensor
    is_input: bool
    labels: tuple[str, ...] = ()
    """Names of an input's features, or of an output's classes."""
    normalization: Normalization = ()
    numbers: tuple[tuple[str, str], ...] = ()
    """Of a decision output (such as detections): name and meaning of each number in a row."""
    noticed: tuple[str, str] = ("", "")
    """Of a decision output: the name of the number that says whether something was detected, and the C comparison with
    it."""
    scores: Tensor | None = None
    """The tensor of scores that a decision output is computed from."""

    @property
    def function(self) -> str:
        return self.named("input" if self.is_input else "output")

    @property
    def macro(self) -> str:
        return self.function.upper()

    @property
    def signature(self) -> str:
        """The signature of the accessor."""
        return f"{self.ctype} *{self.function}({taken(self.options, const=not self.is_input)})"

    @property
    def call(self) -> str:
        """The call of the accessor in a program around the model."""
        return called(self.options, f"{'input' if self.is_input else 'output'}{self.suffix}")

    @property
    def inner_call(self) -> str:
        """A call of the accessor from another function of the model."""
        return f"{self.function}({handed(self.options)})"

    @property
    def element(self) -> str:
        """The C type of an element, without const."""
        return self.ctype.removeprefix("const ")

    def named(self, what: str) -> str:
        """The name of a C function for this input or output."""
        return f"{self.options.name}_{what}{self.suffix}"


def inputs(plan: Plan, options: ProjectOptions) -> list[CPort]:
    ports = _ports(plan, options, plan.graph.inputs, "", is_input=True)
    known = options.normalizations or ((),) * len(ports)
    return [replace(port, normalization=pairs) for port, pairs in zip(ports, known, strict=True)]


def outputs(plan: Plan, options: ProjectOptions) -> list[CPort]:
    ports = _ports(plan, options, plan.graph.outputs, "const ", is_input=False)
    known = options.labels or tuple(port.labels for port in ports)
    return [replace(port, labels=labels) for port, labels in zip(ports, known, strict=True)]


def _ports(plan: Plan, options: ProjectOptions, ids: tuple[int, ...], const: str, *, is_input: bool) -> list[CPort]:
    """The inputs or outputs, with numbered names if there are several."""
    ports = []
    for i, t in enumerate(plan.graph.tensors[t] for t in ids):
        suffix = f"_{i}" if len(ids) > 1 else ""
        port = CPort(options, suffix, f"{const}{CTYPES[t.dtype].name}", t, is_input, t.labels)
        producer = plan.graph.producers.get(t.id)
        if isinstance(producer, Decision):
            scores = producer.scores(plan.graph)
            port = replace(port, numbers=producer.numbers, noticed=producer.noticed, scores=scores)
        ports.append(port)
    return ports


def caller_arenas(plan: Plan, options: ProjectOptions) -> list[str]:
    """Definitions of the memory that callers supply: an instance and arenas. Empty if the model has its own."""
    instance = [f"static {instance_type(options)} {HANDLE};"] if options.instances else []
    return [*instance, *arena_definitions(plan, options)]


def arena_definitions(plan: Plan, options: ProjectOptions) -> list[str]:
    """Definitions of the arenas that callers pass to init."""
    own = arenas(plan) if options.caller_arena else []
    more = f" __attribute__((aligned({plan.alignment})))" if plan.alignment > ARENA_ALIGNMENT else ""
    return [f"static uint64_t {a.pointer}[({a.macro(options)} + 7) / 8]{more};" for a in own]


def init_call(plan: Plan, options: ProjectOptions) -> str:
    given = [f"{a.pointer}, sizeof {a.pointer}" for a in arenas(plan)] if options.caller_arena else []
    return called(options, "init", *given)


def parameters(plan: Plan, options: ProjectOptions) -> str:
    """The parameter list of init."""
    given = [f"void *{a.pointer}, size_t {a.size}" for a in arenas(plan)] if options.caller_arena else []
    return taken(options, *given)


def pushed_rows(port: CPort) -> int:
    """The number of rows that an input is pushed in; for sensors, of samples per inference."""
    return port.options.samples or row_count(port.tensor.shape)
