"""`mote.tune`: chooses kernels, memory placement and compiler flags by measurement, and verifies the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

from mote.base.errors import MoteError, explaining
from mote.base.progress import Say, silent
from mote.bench.evaluation.verify import verify
from mote.compiler.given import CompileOptions
from mote.compiler.line import compile
from mote.compiler.offload.backends import offload
from mote.compiler.offload.contract import Judgement
from mote.compiler.options.records import recorded
from mote.compiler.pins_file import SETTINGS, PinsFile, model_digest
from mote.compiler.prepared import prepared
from mote.compiler.settings import Settings, settings_and_examples
from mote.compiler.subject import given_model, subject_of
from mote.deploy.boards.placing import board_settings
from mote.deploy.boards.pool import board_pool
from mote.frontends import Source
from mote.ir.graph import Graph
from mote.optimize.search.session import searching, sendable
from mote.optimize.tune.database import CostDatabase
from mote.optimize.tune.measurers import Measurer, OnBoards, Simulated, on_boards
from mote.optimize.tune.result import Tuned, tuned_layers
from mote.optimize.tune.trials import TuningTask, ram_of
from mote.optimize.tune.tuner import Best, Tuner, TuningEffort
from mote.version import __version__

MINUTES = 20.0
INPUTS = 4
"""Number of inputs on which all tensors are compared with the reference."""


def ignored(_: Tuned) -> None:
    """Default callback for improvements: does nothing."""


class TuneOptions(CompileOptions, total=False):
    """Keyword arguments of `mote.tune`: those of a compilation and the fields of `TuningPlan`."""

    minutes: float
    trials: int | None
    journal: str | Path | None
    costs: str | Path | None
    workers: int
    scheduler: str
    compiler: str | None
    emulator: str | None


@dataclass(frozen=True, kw_only=True)
class TuningPlan:
    """Budget, files, workers and tools of tuning."""

    minutes: float = MINUTES
    trials: int | None = None
    journal: str | Path | None = None
    costs: str | Path | None = None
    workers: int = 0
    scheduler: str = ""
    compiler: str | None = None
    emulator: str | None = None

    def __post_init__(self) -> None:
        if self.minutes <= 0 or (self.trials is not None and self.trials < 1):
            raise MoteError("there is nothing to spend", where=f"option {'minutes' if self.minutes <= 0 else 'trials'}")


@explaining()
def tune(
    model: Any,
    settings: Any = None,
    *,
    plain: Settings | None = None,
    example_inputs: Any = None,
    measurer: Measurer | None = None,
    board: str | None = None,
    say: Say = silent,
    better: Callable[[Tuned], None] = ignored,
    **options: Unpack[TuneOptions],
) -> Tuned:
    """Choose kernels and their knobs, layouts, fusion, placement of code and constants, and compiler flags by
    measuring, and verify the result. Options are those of `mote.compile`; the default policy is speed. RAM and flash
    budgets are respected and pinned kernels stay. Without a RAM budget, the limit is what `mote.compile` takes with
    these options (or with `plain` settings); a larger `ram` also allows code and constants in RAM.

    Ends when nothing is left to try, or after `minutes` or `trials`. `journal`: file of trials from which an
    interrupted tuning continues; `costs`: database of layer costs shared between models. `measurer` counts cycles: by
    default the profiler's simulation, or a `board` (see `mote.run`) or several, which measure in parallel. `better` is
    called with each unverified improvement. The result's `write(path)` writes the file that `compile` takes as
    `pins`."""
    settings, example_inputs = settings_and_examples(settings, example_inputs)
    plan, others = recorded(TuningPlan, options, TuneOptions.__annotations__)
    plain = plain or board_settings(settings, others, board)
    if settings is None:
        others.setdefault("optimize", "speed")
    settings = board_settings(settings, others, board)
    _check(settings)
    if board is None:
        counter = Simulated(plan.compiler, plan.emulator) if measurer is None else measurer
        counter.check(settings.target)
        source = sendable(given_model(model, settings, example_inputs))
        return _Tuning(source, _within_plain_ram(source, settings, plain), plan, counter, better).run(say)
    if plan.emulator is not None or measurer is not None:
        raise MoteError("measures itself", where=f"board {board}", remedy="omit the emulator and the measurer")
    with board_pool(board) as pool:
        counter = on_boards(pool, plan.compiler)
        counter.check(settings.target)
        source = sendable(given_model(model, settings, example_inputs))
        plan = replace(plan, workers=plan.workers or (0 if plan.scheduler else pool.workers))
        return _Tuning(source, _within_plain_ram(source, settings, plain), plan, counter, better).run(say)


@dataclass(frozen=True, eq=False)
class _Tuning:
    """A tuning run of one model."""

    source: Source
    settings: Settings
    plan: TuningPlan
    counter: Measurer
    better: Callable[[Tuned], None]

    @cached_property
    def task(self) -> TuningTask:
        return TuningTask(self.source, replace(self.settings, pins=None), self.counter)

    @cached_property
    def graph(self) -> Graph:
        return prepared(subject_of(self.source).graph, self.settings).whole

    @cached_property
    def effort(self) -> TuningEffort:
        return TuningEffort(60 * self.plan.minutes, self.plan.trials)

    def run(self, say: Say) -> Tuned:
        """Tunes and verifies the result."""
        _check_backends(self.graph, self.settings)
        plan, counter = self.plan, self.counter
        with searching(self.task, scheduler=plan.scheduler, workers=plan.workers, journal=plan.journal) as runner:
            costs = CostDatabase(plan.costs)
            tuner = Tuner(self.task, runner, costs, self.effort, say, lambda *pair: self.better(self._result(*pair)))
            best = tuner.run()
        say("verifying all tensors...")
        compiled = self.task.compile(best.setup)
        if isinstance(counter, OnBoards):
            compiler = plan.compiler
            verdict = counter.pool.evaluate(lambda place: verify(compiled, INPUTS, compiler=compiler, board=place))
        else:
            verdict = verify(compiled, INPUTS, compiler=plan.compiler, emulator=plan.emulator)
        if not verdict.passed:
            raise MoteError(
                f"the tuned model computes something else: {verdict.verdict}",
                where=self.source.where,
                remedy="please report it with the journal; the pins were not written",
            )
        lost = counter.pool.interruptions() if isinstance(counter, OnBoards) else ()
        result = self._result(tuner.first, best, verdict.verdict)
        return replace(result, interruptions=(*lost, *verdict.interruptions))

    def _result(self, first: Best, best: Best, verdict: str = "") -> Tuned:
        """The result from the initial and the best point of the space."""
        names = {n: self.graph.short_name(op) for n, op in zip(self.graph.numbers, self.graph.ops, strict=True)}
        target, tools = self.settings.target.name, self.counter.tools(self.settings.target)
        sizes = {
            f"{what}_{when}": getattr(one.trial, what)
            for what in ("cycles", "ram", "constants")
            for when, one in (("before", first), ("after", best))
        }
        chosen = best.setup.applied(self.settings)
        values = {name: getattr(chosen, name) for name in SETTINGS} | {"backend": ",".join(chosen.external)}
        stated = {name: value for name, value in values.items() if value not in (None, "")}
        pins = PinsFile(model_digest(self.source), target, chosen.kernels, stated, sizes, tools, __version__)
        return Tuned(
            self.source.where,
            target,
            tools,
            first.cycles,
            best.cycles,
            first.trial.ram,
            best.trial.ram,
            stated,
            tuned_layers(first.trial, best.trial, names),
            self.effort.tried,
            self.effort.spent,
            verdict,
            pins,
        )


def _within_plain_ram(source: Source, settings: Settings, plain: Settings) -> Settings:
    """Settings whose RAM budget, if they have none, is what the model takes with `plain` settings."""
    if settings.ram is not None or settings.least_ram:
        return settings
    return replace(settings, ram=ram_of(compile(source, plain)))


def _check(settings: Settings) -> None:
    """Raises an error for settings that cannot be tuned or measured."""
    for option, wrong, why in (
        ("cores", settings.cores > 1, "two cores are not emulated"),
        ("recompute", settings.recompute > 0, "layers that run twice are not tuned"),
    ):
        if wrong:
            raise MoteError(f"cannot be tuned: {why}", where=f"option {option}", remedy="omit it")


def _check_backends(graph: Graph, settings: Settings) -> None:
    """Raises an error for external generators whose accelerators cannot be measured here."""
    kernels = offload(settings.backend, settings.target).kernels(graph)
    artifacts = ((kernel.family, kernel.artifact) for offered in kernels.values() for kernel in offered)
    for name, artifact in artifacts:
        if artifact.simulated or artifact.judgement is Judgement.REFERENCE:
            raise MoteError(
                f"cannot be tuned: nothing here measures the time of '{name}'", where="option backend", remedy="omit it"
            )
