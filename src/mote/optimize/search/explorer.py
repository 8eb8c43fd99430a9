"""`mote explore`: the Pareto front of a model's plans from least RAM to fastest, each with a name to compile it by."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Unpack

from mote.base.errors import BudgetError, MoteError, explaining
from mote.base.notebook import picture, table
from mote.base.progress import Say, silent
from mote.base.results import Result
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
"""Number of RAM budgets between the least RAM and the fastest plan."""
BUDGET = "ram-"
"""Prefix of the names of plans within a RAM budget."""
EVERYTHING = f"{BUDGET}{UNLIMITED}"
"""Name of the plan without a RAM budget."""


@dataclass(frozen=True, repr=False)
class Point(Result):
    """A plan with its costs. Unmeasured values are None; `flash` is then the constants only."""

    LINE = "{name!r}: RAM {ram:,} bytes, flash {flash:,} bytes, cost {cost:,}"
    TITLE = "{names:list}"
    FACTS = "RAM=ram:size, flash:size, cost, steps"
    JSON = "*, ram, flash"

    name: str
    """Name for `mote compile --point NAME`."""
    aliases: tuple[str, ...]
    """Other names of the plan."""
    arena: int
    """Bytes of the tensor arena."""
    static: int
    """Bytes of other variables."""
    stack: int | None
    """Bytes of stack; None if not measured."""
    instructions: int | None
    """Instructions of an inference; None if not measured."""
    cycles: int | None
    """Cycles by the core's cycle model."""
    estimate: int
    """Planner's estimate of cycles, from the target's cost table."""
    macs: int
    """MACs of an inference."""
    code: int | None
    """Bytes of code; None if not measured."""
    constants: int
    """Bytes of constants."""
    steps: int
    """Steps of the plan."""
    by_rows: int
    """Number of operators that run row by row (including accumulation)."""
    external: int = 0
    """Number of steps computed by other backends than Mote's kernels."""

    @property
    def ram(self) -> int:
        """Bytes of the tensor arena and of other variables."""
        return self.arena + self.static

    @property
    def flash(self) -> int:
        """Bytes of constants, plus code if measured."""
        return self.constants + (self.code or 0)

    @property
    def cost(self) -> int:
        """Cost by which points are compared: cycles, or the estimate if not measured."""
        return self.estimate if self.cycles is None else self.cycles

    @property
    def names(self) -> tuple[str, ...]:
        """All names of the plan."""
        return (self.name, *self.aliases)


@dataclass(frozen=True, repr=False)
class Front(Result):
    """Pareto front of a model's plans: more RAM always means fewer cycles."""

    LINE = "of {model!r} for {target}: {points.name:list}"
    TITLE = "{model} for {target}"
    FACTS = "plans=points!n"
    JSON = "model, target, input, optimize, measured?, reason?, points, dominated, little_flash, own, interruptions"

    model: str
    """Model file name, or a description of the model object."""
    target: str
    """Name of the target."""
    input: str
    """How the input is passed: whole or by rows."""
    optimize: str
    """Optimization policy: speed, balanced or size."""
    measured: str
    """Names of the measuring tools; empty if nothing was measured."""
    reason: str
    """Why nothing was measured; empty if something was."""
    points: tuple[Point, ...]
    """Points of the front by rising RAM and falling cost."""
    dominated: tuple[Point, ...]
    """Points off the front."""
    little_flash: tuple[Point, ...] = ()
    """The plan with the least flash and, if different, the one with little flash."""
    own: Front | None = None
    """The front with Mote's own kernels alone, if `mote` was named among several backends."""
    interruptions: tuple[Interruption, ...] = ()
    """Board resets and losses during exploration, and what was rerun."""

    @property
    def cost_name(self) -> str:
        """Unit of the points' costs."""
        return "cycles" if self.measured else "estimated cycles"

    def svg(self) -> str:
        """The front as SVG: RAM on the x axis, cost on the y axis."""
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

    def cost_table(self, points: Sequence[Point]) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        """The heads and rows of a table of points."""
        rows: list[tuple[object, ...]] = []
        for p in points:
            ratio = f"{p.cost / self.points[-1].cost:.2f}x" if self.measured else ""
            costs = (p.instructions, p.cycles, ratio) if self.measured else (p.macs, p.estimate)
            others = (p.external,) if self.own else ()
            sizes = (p.ram, p.arena, p.static, p.stack)
            rows.append((", ".join(p.names), *sizes, *costs, p.flash, p.steps, p.by_rows, *others))
        names = ("instructions", "cycles", "ratio") if self.measured else ("MACs", "estimate")
        heads = ("point", "RAM", "arena", "static", "stack", *names, "flash", "steps", "by rows")
        return (*heads, "external") if self.own else heads, rows

    def _parts(self) -> list[str]:
        title = f"{self.model} for {self.target}: RAM against {self.cost_name}"
        drawn = picture(self.svg(), title) if len(self.points) > 1 else ""
        return [drawn, table(*self.cost_table(self.points))]

    def _notes(self) -> list[str]:
        return [self.measured or f"not measured: {self.reason}", *interruption_lines(self.interruptions)]


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
    """Computes the front of a model. Options are the fields of Settings; `ram`, `least_ram` and `least_flash` are
    ignored.

    If backends are `mote` and others, the result also has the front of Mote's own kernels, as `own`.

    `measure`: whether to run every plan on the emulated target; None: if the tools are installed. `board`: run every
    plan on this board with its own cycle counter instead. `scheduler` and `workers`: where plans are made and measured
    (`mote.search.running`), without effect on the result. `journal`: a file of results, from which an interrupted
    search continues. `say`: progress callback."""
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
    """The estimated front of a model compiled with these settings; its plan is reused if it is the default one."""
    assert compiled.model is not None
    wanted = replace(settings, ram=None, least_ram=False, least_flash=False)
    known = {DEFAULT: compiled} if wanted == settings else {}
    task = ExplorationTask(compiled.model, wanted, False, None, None, compiled=known)
    with searching(task) as runner:
        return _explored(task, _Search(runner, "", points, say), "as asked for")


def _explored(task: ExplorationTask, search: _Search, reason: str) -> Front:
    """The front of a task; `reason`: why nothing is measured."""
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
    """Shared input of an exploration, sent to each worker once."""

    model: Source
    settings: Settings
    measured: bool
    compiler: str | None
    emulator: str | None
    board: str | None = None
    pool: BoardPool | None = field(default=None, compare=False)
    """Boards that the option `board` means."""
    compiled: dict[str, Compiled] = field(default_factory=dict, compare=False, repr=False)
    """Models compiled in this process, by plan name."""

    def compile(self, name: str) -> Compiled:
        if name not in self.compiled:
            self.compiled[name] = compile(self.model, replace(self.settings, **point_settings(name)))
        return self.compiled[name]


@dataclass(frozen=True)
class Planned:
    """Costs of a plan, as reported by workers."""

    code: str
    """Digest of the generated C, by which equal plans are recognized."""
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
    """Evaluation function: plans a point by name; None if no plan fits its budget."""
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
    """Evaluation function: measures a point by name."""
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
class _NamedPlan:
    """A plan with all its names."""

    plan: Planned
    names: list[str]


class _Search:
    """Finds plans for decreasing RAM budgets, from the largest one that has an effect to the least."""

    def __init__(self, runner: Runner, key: str, points: int, say: Say) -> None:
        self.runner, self.key, self.points, self.say = runner, key, points, say
        self.plans: list[_NamedPlan] = []
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
        """Plans for falling budgets; a budget that the previous plan meets needs no new plan. As many budgets are
        planned at once as there are workers, some unnecessarily."""
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
        """Plans by name; None where none fits."""
        plans = []
        for name, plan in self._results(planned, list(dict.fromkeys(names))):
            self._say_tried()
            plans.append(plan if plan is None else self._known(name, plan))
        return plans

    def _say_tried(self) -> None:
        """Reports progress: plans so far of the maximum number of plans."""
        self.tried += 1
        most = self.points + len((LEAST, FASTEST, EVERYTHING, SMALLEST, SMALL, DEFAULT))
        self.say(f"planned {min(self.tried, most)} of {most} budgets...")

    def _results(
        self, function: Callable[[ExplorationTask, str], Any], names: Sequence[str]
    ) -> Iterator[tuple[str, Any]]:
        """Runs evaluations by name, skipping those already in the journal."""
        return self.runner.run(function, names, key=lambda name: digest(self.key, function.__name__, name))

    def _known(self, name: str, plan: Planned) -> Planned:
        """The already known equal plan, which gets another name, or this new one."""
        for known in self.plans:
            if known.plan.code == plan.code:
                known.names += [] if name in known.names else [name]
                return known.plan
        self.plans.append(_NamedPlan(plan, [name]))
        return plan


def _point(candidate: _NamedPlan, costs: Measured | None) -> Point:
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
