"""`mote explore`: the Pareto front of a model's plans from the least RAM to the fastest, each with a name to compile it
by."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Unpack

from mote.base.errors import BudgetError, MoteError, explaining
from mote.base.notebook import card, picture, sizes, table
from mote.base.progress import Say, silent
from mote.bench.measure.profiler.costs import no_model, profile
from mote.bench.measure.run import RunResult, run
from mote.bench.pictures import plans
from mote.compiler.compiled import Compiled
from mote.compiler.given import CompileOptions
from mote.compiler.line import compile
from mote.compiler.offload.backends import MOTE
from mote.compiler.offload.contract import Offloaded
from mote.compiler.options.parsing import (
    DEFAULT,
    FASTEST,
    LEAST,
    SMALL,
    SMALLEST,
    UNLIMITED,
    check_at_least,
    point_settings,
)
from mote.compiler.plan.plan import Runs
from mote.compiler.plan.selection.estimate import estimate
from mote.compiler.settings import Settings, settings_and_examples
from mote.compiler.subject import given_model
from mote.deploy.boards.boards_file import BoardEntry
from mote.deploy.boards.facts import CYCLES
from mote.deploy.boards.interruption import Interruption, interruption_lines
from mote.deploy.boards.placing import board_settings
from mote.deploy.boards.pool import BoardPool, board_pool
from mote.frontends import Source
from mote.optimize.search import Runner, digest, front
from mote.optimize.search.session import searching, sendable

POINTS = 8
"""Number of budgets between the least RAM and the fastest plan."""
BUDGET = "ram-"
"""Prefix of the names of plans within a budget."""
EVERYTHING = f"{BUDGET}{UNLIMITED}"
"""A plan without a budget."""


@dataclass(frozen=True)
class Point:
    """A plan and its costs. Unmeasured values are None; flash is then the constants only."""

    name: str
    """The name for `mote compile --point NAME`."""
    aliases: tuple[str, ...]
    """Other names of the plan."""
    arena: int
    """Bytes of the tensor arena."""
    static: int
    """Bytes of other variables."""
    stack: int | None
    """Bytes of stack; None where nothing was measured."""
    instructions: int | None
    """Instructions of an inference; None where nothing was measured."""
    cycles: int | None
    """Cycles by the core's cycle model."""
    estimate: int
    """The planner's estimate of cycles, from the target's cost table."""
    macs: int
    """Multiply-accumulate operations."""
    code: int | None
    """Bytes of code; None where nothing was measured."""
    constants: int
    """Bytes of constants."""
    steps: int
    """Steps of the plan."""
    by_rows: int
    """Number of operators that run by rows or by accumulators."""
    external: int = 0
    """Number of steps that other backends than Mote's own kernels compute."""

    def __repr__(self) -> str:
        return f"<Point {self.name!r}: RAM {self.ram:,} bytes, flash {self.flash:,} bytes, cost {self.cost:,}>"

    @property
    def ram(self) -> int:
        """Bytes of the tensor arena and of other variables."""
        return self.arena + self.static

    @property
    def flash(self) -> int:
        """Bytes of constants, and of code where it was measured."""
        return self.constants + (self.code or 0)

    @property
    def cost(self) -> int:
        """The cost that points are compared by: cycles, or the estimate where nothing was measured."""
        return self.estimate if self.cycles is None else self.cycles

    @property
    def names(self) -> tuple[str, ...]:
        """All names of the plan."""
        return (self.name, *self.aliases)

    def _repr_html_(self) -> str:
        facts = {"RAM": sizes(self.ram), "flash": sizes(self.flash), "cost": self.cost, "steps": self.steps}
        return card(", ".join(self.names), facts)

    def json(self) -> dict[str, Any]:
        """All fields, RAM and flash as JSON types."""
        return {**asdict(self), "aliases": list(self.aliases), "ram": self.ram, "flash": self.flash}


@dataclass(frozen=True)
class Front:
    """The Pareto front of a model's plans: more RAM always means fewer cycles."""

    model: str
    """The model's file, or what its object is called."""
    target: str
    """The target's name."""
    input: str
    """How the input is handed over: whole or by rows."""
    optimize: str
    """The optimization: speed, balanced or size."""
    measured: str
    """The tools that measured; empty where nothing was measured."""
    reason: str
    """The reason why nothing was measured."""
    points: tuple[Point, ...]
    """Points by rising RAM and falling cost."""
    dominated: tuple[Point, ...]
    """Dominated points."""
    little_flash: tuple[Point, ...] = ()
    """The plan with the least flash, and the one with little flash, if it is another."""
    own: Front | None = None
    """The front of Mote's own kernels alone, where `mote` was named among several backends."""
    interruptions: tuple[Interruption, ...] = ()
    """The times that a board was reset or lost meanwhile, and what was run again."""

    def __repr__(self) -> str:
        return f"<Front of {self.model!r} for {self.target}: {', '.join(p.name for p in self.points)}>"

    def _repr_html_(self) -> str:
        rows = [
            (", ".join(p.names), p.ram, p.arena, p.static, p.flash, p.cost, p.instructions, p.steps)
            for p in self.points
        ]
        head = ("plan", "RAM", "arena", "static", "flash", self.cost_name, "instructions", "steps")
        title = f"{self.model} for {self.target}"
        notes = [self.measured or f"not measured: {self.reason}", *interruption_lines(self.interruptions)]
        drawn = picture(self.svg(), f"{title}: RAM against {self.cost_name}") if len(self.points) > 1 else ""
        return card(title, {"plans": len(self.points)}, drawn, table(head, rows), notes=notes)

    @property
    def cost_name(self) -> str:
        """The unit of the points' costs."""
        return "cycles" if self.measured else "estimated cycles"

    def json(self) -> dict[str, Any]:
        """The front as JSON types."""
        return {
            "model": self.model,
            "target": self.target,
            "input": self.input,
            "optimize": self.optimize,
            "measured": self.measured or None,
            "reason": self.reason or None,
            "points": [p.json() for p in self.points],
            "dominated": [p.json() for p in self.dominated],
            "little_flash": [p.json() for p in self.little_flash],
            "own": self.own.json() if self.own else None,
            "interruptions": [asdict(each) for each in self.interruptions],
        }

    def svg(self) -> str:
        """The front as an SVG: RAM across, cost up."""
        dots = [
            plans.FrontDot(
                p.ram,
                p.cost,
                ", ".join(p.names),
                f"{', '.join(p.names)}\nRAM {p.ram:,} bytes = arena {p.arena:,} + static {p.static:,}\n"
                f"{p.cost:,} {self.cost_name}\nflash {p.flash:,} bytes{'' if p.code else ' of constants'}",
                best=p in self.points,
                default=DEFAULT in p.names,
            )
            for p in dict.fromkeys((*self.points, *self.dominated))
        ]
        return plans.front(dots, f"{Path(self.model).name} for {self.target}", self.cost_name)


@explaining()
def explore(
    model: Any,
    settings: Any = None,
    *,
    example_inputs: Any = None,
    points: int = POINTS,
    measure: bool | None = None,
    compiler: str | None = None,
    emulator: str | None = None,
    board: str | None = None,
    scheduler: str = "",
    workers: int = 0,
    journal: str | Path | None = None,
    say: Say = silent,
    **options: Unpack[CompileOptions],
) -> Front:
    """The front of a model. Options are the fields of Settings, of which `ram`, `least_ram` and `least_flash` are
    ignored.

    Where backends are `mote` and others, the result has the front of Mote's own kernels as well, as `own`.
    `measure`: whether to run every plan on the emulated target; None: if the tools are installed. `board`: the board
    that runs every plan instead, with its own counter of cycles. `scheduler` and
    `workers`: where plans are made and measured (`mote.search.running`), without effect on the result. `journal`: a
    file of results, from which an interrupted search continues. `say`: callback for progress.
    """
    check_at_least("points", points, 1)
    settings, example_inputs = settings_and_examples(settings, example_inputs)
    settings = replace(board_settings(settings, options, board), ram=None, least_ram=False, least_flash=False)
    if board is not None and measure is False:
        raise MoteError("measures", where="option board", remedy="omit --no-measure, or the board")
    obstacle = no_model(settings.target, compiler, emulator) if board is None else None
    if measure and obstacle:
        raise obstacle
    reason = "as asked for" if measure is False else obstacle.reason if obstacle else ""
    source = sendable(given_model(model, settings, example_inputs))
    with nullcontext() if board is None else board_pool(board) as pool:

        def explored(settings: Settings) -> Front:
            task = ExplorationTask(source, settings, not reason, compiler, emulator, board, pool)
            at_once = workers or (0 if pool is None or scheduler else pool.workers)
            with searching(task, scheduler=scheduler, workers=at_once, journal=journal) as runner:
                key = digest(task) if journal is not None else ""
                return _explored(task, _Search(runner, key, points, say), reason)

        both = explored(settings)
        compared = MOTE in settings.backend and settings.external
        own = explored(replace(settings, backend=())) if compared else None
        return replace(both, own=own, interruptions=() if pool is None else pool.interruptions())


def explore_around(compiled: Compiled, settings: Settings, points: int = POINTS, say: Say = silent) -> Front:
    """The front of a model that was compiled with these settings, by estimates: where its plan is the default, it is
    not made again."""
    assert compiled.model is not None
    wanted = replace(settings, ram=None, least_ram=False, least_flash=False)
    known = {DEFAULT: compiled} if wanted == settings else {}
    task = ExplorationTask(compiled.model, wanted, False, None, None, compiled=known)
    with searching(task) as runner:
        return _explored(task, _Search(runner, "", points, say), "as asked for")


def _explored(task: ExplorationTask, search: _Search, reason: str) -> Front:
    """The front of a task; `reason`: why nothing is measured, if nothing is."""
    search.plan()
    all_points = search.measure() if task.measured else [_point(plan, None) for plan in search.plans]
    best = front(sorted(all_points, key=lambda p: (p.ram, p.cost)), lambda p: p.ram, lambda p: p.cost)
    little = [next(p for p in all_points if name in p.names) for name in (SMALLEST, SMALL)]
    return Front(
        model=task.model.where,
        target=task.settings.target.name,
        input=task.settings.input,
        optimize=task.settings.optimize,
        measured=search.tools,
        reason=reason,
        points=tuple(best),
        dominated=tuple(sorted((p for p in all_points if p not in best), key=lambda p: (p.ram, p.cost))),
        little_flash=tuple(dict.fromkeys(little)),
    )


@dataclass(frozen=True)
class ExplorationTask:
    """The shared state of an exploration, sent to each worker once."""

    model: Source
    settings: Settings
    measured: bool
    compiler: str | None
    emulator: str | None
    board: str | None = None
    pool: BoardPool | None = field(default=None, compare=False)
    """The boards that the name means."""
    compiled: dict[str, Compiled] = field(default_factory=dict, compare=False, repr=False)
    """Plans made in this process, by name, for measuring."""

    def compile(self, name: str) -> Compiled:
        if name not in self.compiled:
            self.compiled[name] = compile(self.model, replace(self.settings, **point_settings(name)))
        return self.compiled[name]


@dataclass(frozen=True)
class Planned:
    """A plan as workers report it."""

    code: str
    """Digest of the generated C, which identifies equal plans."""
    arena: int
    static: int
    estimate: int
    macs: int
    constants: int
    steps: int
    by_rows: int
    external: int = 0

    @property
    def ram(self) -> int:
        return self.arena + self.static


@dataclass(frozen=True)
class Measured:
    """Measurements of a plan on the emulated target, or on a board."""

    tools: str
    stack: int | None
    instructions: int | None
    cycles: int
    code: int | None
    constants: int


def planned(task: ExplorationTask, name: str) -> Planned | None:
    """Plans a point by name; None where nothing fits the budget."""
    try:
        compiled = task.compile(name)
    except BudgetError:
        if name.startswith(BUDGET) and name != EVERYTHING:
            return None
        raise
    plan = compiled.plan
    flags = compiled.settings.built_for if task.measured else ""
    return Planned(
        code=digest(flags, compiled.project.code),
        arena=plan.arena,
        static=plan.static,
        estimate=round(estimate(compiled.costs, plan)),
        macs=compiled.macs,
        constants=compiled.project.constants,
        steps=len(plan.steps),
        by_rows=sum(plan.runs(steps) in (Runs.ROWS, Runs.SUMS) for _, steps in plan.works),
        external=sum(isinstance(step.kernel, Offloaded) for step in plan.steps),
    )


def measured(task: ExplorationTask, name: str) -> Measured:
    """Measures a point by name."""
    compiled = task.compile(name)
    # A budget is one of arena and static memory: the stack is no reason to refuse it.
    unbound = replace(compiled, settings=replace(compiled.settings, ram=None))
    tools: dict[str, Any] = {"compiler": task.compiler, "emulator": task.emulator, "layers": False}
    if task.pool is None:
        costs, on_board, runs_there = run(unbound, **tools), None, ""
    else:
        pool = task.pool

        def on_one(board: BoardEntry) -> RunResult:
            result = run(unbound, **tools, board=board)
            pool.note(board, result.board.interruptions if result.board else ())
            return result

        costs = pool.evaluate(on_one)
        on_board = costs.instructions if costs.unit == CYCLES else None
        runs_there = f"board {task.board}" if on_board is not None else f"board {task.board}, cycles modelled"
    return Measured(
        tools=f"{runs_there or costs.emulator}, {costs.compiler}",
        stack=costs.ram.stack,
        instructions=costs.instructions if on_board is None else None,
        cycles=profile(unbound, **tools).cycles if on_board is None else on_board,
        code=costs.flash.code,
        constants=costs.flash.constants,
    )


@dataclass
class _Found:
    """A plan and its names."""

    plan: Planned
    names: list[str]


class _Search:
    """Plans for decreasing budgets, from the largest that has an effect to the least."""

    def __init__(self, runner: Runner, key: str, points: int, say: Say) -> None:
        self.runner, self.key, self.points, self.say = runner, key, points, say
        self.plans: list[_Found] = []
        self.tools = ""
        self.tried = 0

    def plan(self) -> None:
        least, _, most = self._planned([LEAST, FASTEST, EVERYTHING])
        assert least is not None and most is not None
        stride = max(1, (most.ram - least.ram) // self.points)
        taken = {EVERYTHING: most} | self._descend(range(most.ram - stride, least.ram, -stride), most.ram)
        taken |= self._descend([least.ram], min(plan.ram for plan in taken.values()))
        # A plan is called after what it takes, if that is enough for it.
        self._planned([f"{BUDGET}{plan.ram}" for name, plan in taken.items() if name != f"{BUDGET}{plan.ram}"])
        self._planned([SMALLEST, SMALL, DEFAULT])

    def measure(self) -> list[Point]:
        points = []
        for i, (_, costs) in enumerate(self._results(measured, [plan.names[0] for plan in self.plans])):
            self.say(f"measured plan {i + 1} of {len(self.plans)}...")
            points.append(_point(self.plans[i], costs))
            self.tools = costs.tools
        return points

    def _descend(self, budgets: Sequence[int], ram: int) -> dict[str, Planned]:
        """Plans for falling budgets; a budget that the previous plan meets needs no new one. As many budgets are tried
        at once as there are workers, some in vain."""
        plans = {}
        at_once = self.runner.capacity
        for first in range(0, len(budgets), at_once):
            names = [f"{BUDGET}{budget}" for budget in budgets[first : first + at_once] if budget < ram]
            for name, plan in self._results(planned, names):
                self._say_tried()
                if plan is not None and int(name.removeprefix(BUDGET)) < ram:
                    ram = plan.ram
                    plans[name] = self._known(name, plan)
        return plans

    def _planned(self, names: Sequence[str]) -> list[Planned | None]:
        """The plans of these names."""
        plans = []
        for name, plan in self._results(planned, list(dict.fromkeys(names))):
            self._say_tried()
            plans.append(plan if plan is None else self._known(name, plan))
        return plans

    def _say_tried(self) -> None:
        """Counts a plan, of at most one for each budget and those that have names."""
        self.tried += 1
        most = self.points + len((LEAST, FASTEST, EVERYTHING, SMALLEST, SMALL, DEFAULT))
        self.say(f"planned {min(self.tried, most)} of {most} budgets...")

    def _results(
        self, function: Callable[[ExplorationTask, str], Any], names: Sequence[str]
    ) -> Iterator[tuple[str, Any]]:
        """Results by name; those in the journal are not computed again."""
        return self.runner.run(function, names, key=lambda name: digest(self.key, function.__name__, name))

    def _known(self, name: str, plan: Planned) -> Planned:
        """The plan under its first name, if it is known."""
        for known in self.plans:
            if known.plan.code == plan.code:
                known.names += [] if name in known.names else [name]
                return known.plan
        self.plans.append(_Found(plan, [name]))
        return plan


def _point(candidate: _Found, costs: Measured | None) -> Point:
    plan = candidate.plan
    budgets = sorted(int(n.removeprefix(BUDGET)) for n in candidate.names if n.startswith(BUDGET))
    fixed = [n for n in candidate.names if n in (DEFAULT, LEAST, FASTEST, SMALLEST, SMALL)]
    names = [*(f"{BUDGET}{b}" if b == plan.ram else f"within-{b}" for b in budgets[:1]), *fixed]
    return Point(
        name=names[0],
        aliases=tuple(names[1:]),
        arena=plan.arena,
        static=plan.static,
        stack=None if costs is None else costs.stack,
        instructions=None if costs is None else costs.instructions,
        cycles=None if costs is None else costs.cycles,
        estimate=plan.estimate,
        macs=plan.macs,
        code=None if costs is None else costs.code,
        constants=plan.constants if costs is None else costs.constants,
        steps=plan.steps,
        by_rows=plan.by_rows,
        external=plan.external,
    )
