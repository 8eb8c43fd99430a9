"""The compiler as one readable line of steps: file -> Graph -> passes -> Plan -> C project."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from mote import targets
from mote.codegen.project import Options, Project, generate
from mote.codegen.selftest import pattern
from mote.codegen.values import identifier
from mote.errors import BudgetError, MoteError
from mote.frontends import tflite
from mote.graph import Graph
from mote.graph.tensor import Array
from mote.passes import Saving, optimize
from mote.plan.kernel import Lowering
from mote.plan.plan import Plan
from mote.plan.planner import plan
from mote.targets import Target

OPTIMIZE = ("speed", "balanced", "size")
NUMERICS = ("litert", "tflm")
IO = ("model", "int8")


@dataclass(frozen=True)
class Settings:
    """What a user asks for. `ram` and `flash` are budgets in bytes on top of the target's own memories."""

    target: Target
    name: str = ""
    io: str = "model"
    numerics: str = "litert"
    optimize: str = "balanced"
    single_file: bool = False
    caller_arena: bool = False
    ram: int | None = None
    flash: int | None = None

    def __post_init__(self) -> None:
        for option, value, allowed in (
            ("optimize", self.optimize, OPTIMIZE),
            ("numerics", self.numerics, NUMERICS),
            ("io", self.io, IO),
        ):
            if value not in allowed:
                raise MoteError(f"'{value}' is not one of {', '.join(allowed)}", where=f"option {option}")

    @property
    def ram_limit(self) -> int | None:
        return _least(self.ram, self.target.ram)

    @property
    def flash_limit(self) -> int | None:
        return _least(self.flash, self.target.flash)


@dataclass(frozen=True)
class Compiled:
    """A compiled model: the source graph, the optimized one inside `plan`, and the C project."""

    source: Graph
    plan: Plan
    savings: tuple[Saving, ...]
    project: Project
    settings: Settings
    path: str
    data: bytes
    """The model file: what LiteRT is asked about."""

    @property
    def name(self) -> str:
        return self.project.options.name

    @cached_property
    def macs(self) -> int:
        return sum(step.op.macs(self.plan.graph) for step in self.plan.steps)

    def write(self, folder: str | Path) -> Path:
        """Write the C project. Nothing is left behind when it fails half way."""
        folder = Path(folder)
        try:
            self.project.write(folder)
        except OSError as error:
            raise MoteError(f"cannot write the project ({error.strerror})", where=str(folder)) from None
        return folder


def load(path: str | Path) -> Graph:
    """Read a model file."""
    return tflite.parse(read(path), str(path))


def read(path: str | Path) -> bytes:
    """The bytes of a model file of a kind that Mote knows."""
    path = Path(path)
    if path.suffix != ".tflite":
        raise MoteError(
            f"'{path.suffix or path.name}' files are not supported",
            where=str(path),
            remedy="convert it to .tflite",
        )
    return tflite.read_file(path)


def compile(model: str | Path | bytes, settings: Settings | None = None, **options: Any) -> Compiled:
    """Compile a model file (or its bytes). Options are the fields of Settings; `target` may be a name or a file."""
    settings = settings or make_settings(**options)
    where, data = ("model.tflite", model) if isinstance(model, bytes) else (str(model), read(model))
    return tflite.guarded(lambda: _compile(data, where, settings), where)


def _compile(data: bytes, where: str, settings: Settings) -> Compiled:
    graph = tflite.parse(data, where)
    optimized, savings = optimize(graph, io=settings.io, numerics=settings.numerics)
    planned = plan(optimized, Lowering(settings.target.features, settings.optimize), settings.ram_limit)
    name = _c_name(settings.name or graph.name, explicit=bool(settings.name))
    options_ = Options(
        name=name,
        source=Path(where).name,
        target=settings.target.name,
        single_file=settings.single_file,
        caller_arena=settings.caller_arena,
    )
    project = generate(planned, options_, golden=golden_outputs(optimized))
    compiled = Compiled(graph, planned, tuple(savings), project, replace(settings, name=name), where, data)
    check_budgets(compiled, code=0)
    return compiled


def make_settings(target: str | Target = "host", **options: Any) -> Settings:
    chosen = target if isinstance(target, Target) else targets.load(target)
    return Settings(chosen, **options)


def golden_outputs(graph: Graph) -> list[Array]:
    """What the reference computes for the self-test's input."""
    values = graph.evaluate({t: pattern(graph.tensors[t]) for t in graph.inputs})
    return [values[t] for t in graph.outputs]


def check_budgets(compiled: Compiled, code: int, stack: int = 0) -> None:
    """Refuse a model that does not fit, with the numbers. `code` and `stack` are 0 until they are measured."""
    s = compiled.settings
    ram = compiled.plan.arena + stack
    flash = compiled.project.constants + code
    for what, need, limit, parts in (
        ("RAM", ram, s.ram_limit, f"arena {compiled.plan.arena}" + (f" + stack {stack}" if stack else "")),
        (
            "flash",
            flash,
            s.flash_limit,
            f"constants {compiled.project.constants}" + (f" + code {code}" if code else ""),
        ),
    ):
        if limit is not None and need > limit:
            raise BudgetError(
                f"needs {need:,} bytes of {what} ({parts}), {need - limit:,} more than the {limit:,} that are there",
                where=f"{compiled.path} on {s.target.name}",
                remedy=f"use a part with more {what}, a smaller model, or a larger --{what.lower()} budget",
            )


def _c_name(name: str, *, explicit: bool) -> str:
    """The prefix of C symbols and files; it must not be that of another file of the project."""
    usable = identifier(name)
    if usable in ("main", "selftest") or usable.startswith("mote_"):
        usable = f"model_{usable}"
    if explicit and usable != name:
        raise MoteError(f"'{name}' cannot be a C prefix here", where="option name", remedy=f"use '{usable}'")
    return usable


def _least(*limits: int | None) -> int | None:
    return min((x for x in limits if x is not None), default=None)
