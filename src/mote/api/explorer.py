"""`mote explore`: the plans of a model from the least RAM to the fastest, each under a name that compiles it again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from mote import toolchain
from mote.api import measure
from mote.api.compiler import Compiled, Settings, chosen_settings, given_model, settings_and_examples
from mote.api.options import FASTEST, LEAST, UNLIMITED, check_at_least, point_settings
from mote.errors import BudgetError, MoteError, explaining
from mote.frontends import Source
from mote.plan.estimate import estimate
from mote.plan.plan import Runs
from mote.profiler.costs import check_cycles, profile
from mote.report import pictures
from mote.targets import Target

POINTS = 8
"""Into how many parts the RAM between the least and the fastest plan is divided."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Point:
    """A plan and what it costs. What was not measured is None; flash is then that of the constants alone."""

    name: str
    """`mote compile --point NAME` makes it again."""
    aliases: tuple[str, ...]
    arena: int
    static: int
    stack: int | None
    instructions: int | None
    cycles: int | None
    """By the core's cycle model."""
    estimate: int
    """The planner's guess of the cycles, from the table of costs that the target names."""
    macs: int
    code: int | None
    constants: int
    steps: int
    by_rows: int
    """How many operators run by rows or by sums."""

    @property
    def ram(self) -> int:
        return self.arena + self.static

    @property
    def flash(self) -> int:
        return self.constants + (self.code or 0)

    @property
    def cost(self) -> int:
        """What points are compared by: cycles, or the estimate where nothing was measured."""
        return self.estimate if self.cycles is None else self.cycles

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)

    def json(self) -> dict[str, Any]:
        return {**asdict(self), "aliases": list(self.aliases), "ram": self.ram, "flash": self.flash}


@dataclass(frozen=True)
class Front:
    """The plans of a model of which none is better than another: more RAM always means fewer cycles."""

    model: str
    target: str
    input: str
    optimize: str
    measured: str
    """By which tools; empty where nothing was measured."""
    reason: str
    """Why nothing was measured."""
    points: tuple[Point, ...]
    """RAM rising, cost falling."""
    dominated: tuple[Point, ...]
    """What was tried too: another point takes no more RAM and is no slower."""

    @property
    def cost_name(self) -> str:
        return "cycles" if self.measured else "estimated cycles"

    def json(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "target": self.target,
            "input": self.input,
            "optimize": self.optimize,
            "measured": self.measured or None,
            "reason": self.reason or None,
            "points": [p.json() for p in self.points],
            "dominated": [p.json() for p in self.dominated],
        }

    def svg(self) -> str:
        dots = [
            pictures.Dot(
                p.ram,
                p.cost,
                ", ".join(p.names),
                f"{', '.join(p.names)}\nRAM {p.ram:,} bytes = arena {p.arena:,} + static {p.static:,}\n"
                f"{p.cost:,} {self.cost_name}\nflash {p.flash:,} bytes{'' if p.code else ' of constants'}",
            )
            for p in self.points
        ]
        return pictures.front(dots, f"{Path(self.model).name} for {self.target}", self.cost_name)


@explaining()
def explore(
    model: Any,
    settings: Any = None,
    *,
    example_inputs: Any = None,
    points: int = POINTS,
    measured: bool | None = None,
    compiler: str | None = None,
    emulator: str | None = None,
    say: Say | None = None,
    **options: Any,
) -> Front:
    """The front of a model. Options are the fields of Settings, of which `ram` and `least_ram` are left aside.

    `measured`: whether to run every plan on the emulated target; None: where the tools are there. `say` is told what is
    being done.
    """
    check_at_least("points", points, 1)
    settings, example_inputs = settings_and_examples(settings, example_inputs)
    settings = replace(chosen_settings(settings, options), ram=None, least_ram=False)
    obstacle = _obstacle(settings.target, compiler, emulator)
    if measured and obstacle:
        raise obstacle
    reason = "as asked for" if measured is False else obstacle.reason if obstacle else ""
    model = given_model(model, settings, example_inputs)
    found = _Search(model, settings, points, not reason, say or (lambda text: None))
    found.run()
    by = ""
    all_points = []
    for i, plan in enumerate(found.plans):
        costs, cycles = None, None
        if not reason:
            found.say(f"measuring plan {i + 1} of {len(found.plans)}...")
            tools: dict[str, Any] = {"compiler": compiler, "emulator": emulator, "layers": False}
            costs = measure.run(_unbound(plan.compiled), **tools)
            cycles = profile(_unbound(plan.compiled), **tools).cycles
            by = f"{costs.emulator}, {costs.compiler}"
        all_points.append(_point(plan, costs, cycles))
    best = list(_undominated(all_points))
    return Front(
        model=found.plans[0].compiled.path,
        target=settings.target.name,
        input=settings.input,
        optimize=settings.optimize,
        measured=by,
        reason=reason,
        points=tuple(best),
        dominated=tuple(sorted((p for p in all_points if p not in best), key=lambda p: (p.ram, p.cost))),
    )


def _obstacle(target: Target, compiler: str | None, emulator: str | None) -> MoteError | None:
    """Why nothing can be measured, if so."""
    if target.arch == "host":
        return MoteError("cycles are not counted on the host", remedy="name a core with --target")
    try:
        toolchain.find_compiler(target, compiler)
        toolchain.find_emulator(target, emulator)
        check_cycles(target)
    except MoteError as error:
        return error
    return None


@dataclass
class _Found:
    """A plan and the names that compile it."""

    compiled: Compiled
    names: list[str]


class _Search:
    """Compiles for budgets from the largest that changes anything down to the least."""

    def __init__(self, model: Source, settings: Settings, points: int, measured: bool, say: Say) -> None:
        self.model, self.settings, self.points, self.measured, self.say = model, settings, points, measured, say
        self.plans: list[_Found] = []

    def run(self) -> None:
        least = self._compile(LEAST).plan.ram
        self._compile(FASTEST)
        budget = self._within(UNLIMITED)
        stride = max(1, (budget - least) // self.points)
        while (budget := budget - stride) > least:
            with suppress(BudgetError):
                budget = self._within(budget)
        with suppress(BudgetError):
            self._within(least)

    def _within(self, budget: int) -> int:
        """The RAM of the plan within a budget; the plan is called after what it takes, if that is enough for it."""
        ram = self._compile(f"ram-{budget}").plan.ram
        if ram < budget:
            with suppress(BudgetError):
                self._compile(f"ram-{ram}")
        return ram

    def _compile(self, name: str) -> Compiled:
        self.say(f"planning {name if name != f'ram-{UNLIMITED}' else 'without a budget'}...")
        known = next((p.compiled for p in self.plans if name in p.names), None)
        if known is not None:
            return known
        compiled = measure.compile(self.model, replace(self.settings, **point_settings(name)))
        for plan in self.plans:
            if self._same(plan.compiled, compiled):
                plan.names.append(name)
                return plan.compiled
        self.plans.append(_Found(compiled, [name]))
        return compiled

    def _same(self, a: Compiled, b: Compiled) -> bool:
        """The same C, and where it makes a difference the same options of the C compiler."""
        flags = not self.measured or a.settings.optimize == b.settings.optimize
        return flags and a.project.code == b.project.code


def _unbound(compiled: Compiled) -> Compiled:
    """The same without its budget, which is one of arena and static memory: the stack is no reason to refuse it."""
    return replace(compiled, settings=replace(compiled.settings, ram=None))


def _point(plan: _Found, costs: measure.RunResult | None, cycles: int | None) -> Point:
    compiled = plan.compiled
    p = compiled.plan
    budgets = sorted(int(n.removeprefix("ram-")) for n in plan.names if n.startswith("ram-"))
    fixed = [n for n in plan.names if n in (LEAST, FASTEST)]
    names = [*(f"ram-{b}" if b == p.ram else f"within-{b}" for b in budgets[:1]), *fixed]
    return Point(
        name=names[0],
        aliases=tuple(names[1:]),
        arena=p.arena,
        static=p.static,
        stack=None if costs is None else costs.ram.stack,
        instructions=None if costs is None else costs.instructions,
        cycles=cycles,
        estimate=round(estimate(compiled.settings.costs, p)),
        macs=compiled.macs,
        code=None if costs is None else costs.flash.code,
        constants=compiled.project.constants if costs is None else costs.flash.constants,
        steps=len(p.steps),
        by_rows=sum(p.runs(steps) in (Runs.ROWS, Runs.SUMS) for _, steps in p.works),
    )


def _undominated(points: list[Point]) -> Iterator[Point]:
    """Those with less RAM than every other one that is as fast."""
    best: int | None = None
    for p in sorted(points, key=lambda p: (p.ram, p.cost)):
        if best is None or p.cost < best:
            best = p.cost
            yield p
