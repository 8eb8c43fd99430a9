"""`mote quantize --max-accuracy-drop`: the cheapest mixed-precision quantization within an allowed accuracy drop.

The order of the search does not depend on the number of workers:

1. Probe every layer alone in every precision: noise at the model's output and cost of the model.
2. Score uniform models, with all layers in one precision.
3. Assume that noise and costs are additive. This gives a path of choices from the cheapest to the most precise;
   bisection finds the first one on it within the allowed drop.
4. Local search from there: change one or two layers, best saving per added noise first, while evaluations are left.
5. Run the best on the emulated target if the tools are installed; measured costs replace estimates.
6. Verify the cheapest on all labelled data, and the next one if it fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

from mote.base.errors import MoteError, explaining, naming
from mote.base.progress import Say, counted, silent
from mote.bench.evaluation.score import score
from mote.bench.measure.runner import missing_tools
from mote.bench.metrics.score import HIGHER
from mote.compiler.given import CompileOptions
from mote.compiler.options.parsing import check_at_least
from mote.compiler.options.records import recorded
from mote.compiler.settings import chosen_settings
from mote.frontends import source_of
from mote.frontends.data.dataset import Dataset, dataset
from mote.optimize.compress.mixed_precision.result import (
    AXES,
    MIXED,
    Guarded,
    Mixed,
    MixedLayer,
    MixedPoint,
    Sensitivity,
    loss,
)
from mote.optimize.compress.mixed_precision.task import (
    SEARCHED,
    MixedPrecisionTask,
    Probe,
    Trial,
    file_of,
    probed,
    ran,
    tried,
)
from mote.optimize.compress.quantize.pipeline import Methods
from mote.optimize.compress.quantize.post_training import MOST_SAMPLES, Quantized
from mote.optimize.compress.quantize.types.precision import Precision
from mote.optimize.search import Runner, digest, front
from mote.optimize.search.choices import Choice, PricedOption, Table, first_good, neighbours, path
from mote.optimize.search.session import searching, sendable

PRECISIONS = (Precision.INT4, Precision.INT8, Precision.INT16, Precision.FLOAT32)
"""Precisions from the least to the most precise."""
EVALUATIONS = 40
AT_ONCE = 4
"""Candidates per round; constant, so that results do not depend on the number of workers."""
PLANS: Mapping[str, Mapping[str, Any]] = {
    "instructions": {"optimize": "balanced"},
    "flash": {"optimize": "size"},
    "ram": {"ram": "min"},
}
"""Planner options for each objective, unless the user sets them."""
MEASURED = 8
"""Maximum number of points that are run on the emulated target."""

WORDS = {tried: "models scored", probed: "layers probed", ran: "models run"}
"""Progress messages by evaluation function."""


class MixOptions(CompileOptions, total=False):
    """Keyword arguments of `mote.quantize.mix`: those of a compilation and the fields of `MixingPlan`."""

    precisions: Sequence[str]
    cheapest: str
    metric: str
    evaluations: int
    methods: Methods | None
    samples: int
    measure: bool | None
    compiler: str | None
    emulator: str | None
    journal: str | Path | None
    scheduler: str
    workers: int


@dataclass(frozen=True, kw_only=True)
class MixingPlan:
    """Precisions to choose from, objective, and how candidates are measured."""

    precisions: Sequence[str] = PRECISIONS
    cheapest: str = AXES[0]
    metric: str = ""
    evaluations: int = EVALUATIONS
    methods: Methods | None = None
    samples: int = MOST_SAMPLES
    io: str = "int8"
    measure: bool | None = None
    """Whether the best models are run on the emulated target; None: if the tools are installed."""
    compiler: str | None = None
    emulator: str | None = None
    journal: str | Path | None = None
    scheduler: str = ""
    workers: int = 0

    def __post_init__(self) -> None:
        check_at_least("evaluations", self.evaluations, len(self.precisions))
        check_at_least("samples", self.samples, 0)
        if self.cheapest not in AXES:
            raise MoteError(f"'{self.cheapest}' is not one of {', '.join(AXES)}", where="option cheapest")


@explaining()
def mix(
    model: Any,
    data: Any,
    test: Any,
    settings: Any = None,
    *,
    max_accuracy_drop: str | float,
    validate: Any = None,
    example_inputs: Any = None,
    say: Say = silent,
    **options: Unpack[MixOptions],
) -> Mixed:
    """Quantize a model with precisions layer by layer, as cheaply as the allowed accuracy drop permits.

    `data` calibrates (`samples` of it at most, 0: all), `test` has labels; both are what `mote.frontends.data.dataset`
    takes. `max_accuracy_drop` is allowed against the float model: "1%" of all samples, or for distances (rmse, mae) of
    the distance, by the `metric` (without one, as suits the labels). The constraint holds for `test`; `validate` is
    held-out data that nothing is chosen by. `precisions` are chosen from so that `cheapest` (instructions, flash or
    ram) is least, with `evaluations` models at most; `methods` and `io` are those of `mote.quantize`. `measure`: run
    the best on the emulated target. `journal` is a file of results, from which an interrupted search continues;
    `scheduler` and `workers` (`mote.search.running`) do not change the result. Other options are the fields of
    Settings, `target` first of all."""
    allowed = drop(max_accuracy_drop)
    plan, others = recorded(MixingPlan, options, MixOptions.__annotations__)
    settings = chosen_settings(settings, {**PLANS[plan.cheapest], **others} if settings is None else others)
    no_tools = missing_tools(settings.target, plan.compiler, plan.emulator)
    if plan.measure and no_tools:
        raise no_tools
    source = source_of(
        model,
        shapes=settings.shapes,
        edges=settings.edges,
        example_inputs=example_inputs,
        signature=settings.signature,
        constants=settings.constants,
    )
    held_out = None if validate is None else dataset(validate, labelled=True)
    task = MixedPrecisionTask(
        sendable(source),
        dataset(data),
        dataset(test, labelled=True),
        plan.metric,
        plan.methods or Methods(),
        plan.io,
        settings,
        plan.samples,
        plan.compiler,
        plan.emulator,
    )
    runners = searching(task, scheduler=plan.scheduler, workers=plan.workers, journal=plan.journal)
    with naming(source.where), runners as runner:
        search = _Search(runner, task, _ordered(plan.precisions), plan.cheapest, allowed, plan.evaluations, say)
        return search.run(held_out, measure=plan.measure is not False and no_tools is None)


def drop(text: str | float) -> float:
    """Parses the allowed accuracy drop: "1%" or 0.01."""
    stated = str(text).strip()
    try:
        value = float(stated.removesuffix("%")) / (100 if stated.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1:
        raise MoteError(
            f"'{stated}' is no part of the accuracy",
            where="option max-accuracy-drop",
            remedy="give percent of all samples, such as 1% or 0.5%",
        )
    return value


def _ordered(names: Sequence[str]) -> tuple[str, ...]:
    """Sorts precisions from the least to the most precise."""
    unknown = [name for name in names if name not in PRECISIONS]
    if unknown or not names:
        raise MoteError(
            f"'{unknown[0]}' is no precision to choose from" if unknown else "there is no precision to choose from",
            where="option precisions",
            remedy=f"name some of {', '.join(PRECISIONS)}",
        )
    return tuple(str(p) for p in PRECISIONS if p in names)


class _Search:
    def __init__(
        self,
        runner: Runner,
        task: MixedPrecisionTask,
        precisions: tuple[str, ...],
        cheapest: str,
        allowed: float,
        budget: int,
        say: Say,
    ) -> None:
        self.runner, self.task, self.precisions, self.cheapest = runner, task, precisions, cheapest
        self.allowed, self.budget, self.say = allowed, budget, say
        self.points: dict[Choice, MixedPoint] = {}
        self.seen: set[Choice] = set()
        """Choices that were evaluated, including those that do not fit the target."""
        self.reference: Mapping[str, Any] = {}

    def run(self, held_out: Dataset | None, *, measure: bool) -> Mixed:
        task = self.task
        if not task.units:
            raise MoteError("has no layers with weights to choose precisions for", remedy="compile the model as it is")
        self.say("scoring the float model...")
        self.reference = self._results(tried, [Trial(())])[0]
        uniform = [(p,) * len(task.units) for p in self.precisions]
        self._try(uniform)
        probes, table = self._probe()
        self._descend(path(table))
        self._improve(table)
        tools = self._measure() if measure else ""
        chosen, test = self._verified()
        best = self._front()
        if set(chosen) == {Precision.FLOAT32}:
            raise self._nothing_gained()
        quantized = file_of(task, chosen)
        return Mixed(
            model=task.model.where,
            target=task.settings.target.name,
            unit=task.settings.costs.unit,
            cheapest=self.cheapest,
            metric=self.reference["metric"],
            allowed=self.allowed,
            guard=self._guard(),
            test=test,
            validation=None if held_out is None else self._held_out(quantized, held_out),
            chosen=self.points[chosen],
            layers=tuple(
                MixedLayer(unit.layer, unit.name, unit.op, chosen[i], probes[i], unit.short)
                for i, unit in enumerate(task.units)
            ),
            points=tuple(best),
            dominated=tuple(p for p in self._by_cost(self.points.values()) if p not in best),
            evaluations=len(self.seen),
            tools=tools,
            quantized=quantized,
            warnings=(*quantized.warnings, *self._sample_size_warnings(test.samples)),
        )

    def _results(self, function: Callable[[MixedPrecisionTask, Any], Any], items: Sequence[Any]) -> list[Any]:
        """Runs evaluations, skipping those already in the journal."""
        key = self.task.key
        done = counted(self.say, WORDS[function])
        results = []
        for i, (_, result) in enumerate(self.runner.run(function, items, key=lambda x: digest(key, x), name=_name)):
            done(i + 1, len(items))
            results.append(result)
        return results

    def _try(self, choices: Iterable[Choice]) -> list[MixedPoint]:
        """Scores choices as far as the budget allows; returns points of those that fit the target."""
        asked = list(dict.fromkeys(choices))
        new = [choice for choice in asked if choice not in self.seen][: max(0, self.budget - len(self.seen))]
        self.seen.update(new)
        for choice, result in zip(new, self._results(tried, [Trial(choice) for choice in new]), strict=True):
            lost = loss(result, self.reference)
            costs = result["costs"]
            if costs is not None:
                self.points[choice] = MixedPoint(
                    *(choice, result["value"], lost, lost <= self.allowed),
                    **costs,
                    noise=result.get("noise"),
                    context=result.get("context", ""),
                )
        return [self.points[choice] for choice in asked if choice in self.points]

    def _probe(self) -> tuple[list[tuple[Sensitivity, ...]], Table]:
        """Probes all layers in all precisions; returns sensitivities and the noise-cost table that guides the
        search."""
        count = len(self.task.units)
        names = [str(p) for p in self.precisions if p != Precision.FLOAT32]
        base = self._base()
        known = self.points.get((base,) * count)
        items = [Probe(i, name, base) for i in range(count) for name in self.precisions]
        probes = dict(zip(items, self._results(probed, items), strict=True))
        sensitivities, table = [], []
        for i in range(count):
            here = {name: probes[Probe(i, name, base)] for name in self.precisions}
            sensitivities.append(
                tuple(Sensitivity(n, here[n]["noise"], here[n]["value"]) for n in names if "refused" not in here[n])
            )
            table.append(
                {
                    name: PricedOption(_price(result["costs"], known, self.cheapest), _power(result["noise"]))
                    for name, result in here.items()
                    if "refused" not in result and result["costs"] is not None
                }
            )
            if not table[-1]:
                table[-1] = {base: PricedOption(0.0, 0.0)}
        return sensitivities, table

    def _base(self) -> str:
        """Precision of the cheapest uniform model (ties: the most precise), used as baseline for per-layer costs."""
        count = len(self.task.units)
        known = {p: self.points[(p,) * count] for p in self.precisions if (p,) * count in self.points}
        return min(reversed(known), key=lambda p: known[p].cost(self.cheapest), default=self.precisions[-1])

    def _descend(self, choices: Sequence[Choice]) -> None:
        """Bisects a path of choices for the first one within the allowed accuracy drop."""

        def good(numbers: Sequence[int]) -> list[bool]:
            tried_now = {p.precisions: p.kept for p in self._try([choices[n] for n in numbers])}
            return [tried_now.get(choices[n], False) for n in numbers]

        first_good(len(choices), AT_ONCE, good)

    def _improve(self, table: Table) -> None:
        """Local search: moves from the best choice to cheaper neighbours while evaluations are left."""
        while (best := self._best()) is not None:
            known = all(name in options for options, name in zip(table, best.precisions, strict=True))
            near = [c for c in neighbours(table, best.precisions) if c not in self.seen] if known else []
            if not near or len(self.seen) >= self.budget:
                return
            self._try(near[:AT_ONCE])

    def _by_cost(self, points: Iterable[MixedPoint]) -> list[MixedPoint]:
        """Sorts points by cost, measured ones first; ties by accuracy drop, then by noise."""
        others = [axis for axis in AXES if axis != self.cheapest]
        return sorted(
            points,
            key=lambda p: (
                p.measured is None,
                p.cost(self.cheapest),
                p.lost,
                *(p.cost(axis) for axis in others),
                _power(p.noise),
                p.precisions,
            ),
        )

    def _best(self) -> MixedPoint | None:
        return next((p for p in self._by_cost(self.points.values()) if p.kept), None)

    def _verified(self) -> tuple[Choice, Guarded]:
        """The cheapest choice whose accuracy drop is allowed on all labelled data, and its score."""
        reference = self.reference if len(self.task.test) <= SEARCHED else self._results(tried, [Trial((), True)])[0]
        for point in self._by_cost(p for p in self.points.values() if p.kept):
            if reference is self.reference:
                value, lost, context = point.value, point.lost, point.context
            else:
                result = self._results(tried, [Trial(point.precisions, True)])[0]
                value, lost, context = result["value"], loss(result, reference), result.get("context", "")
            if lost <= self.allowed:
                where, samples = self.task.test.shown, len(self.task.test)
                return point.precisions, Guarded(where, samples, value, reference["value"], lost, context)
            self.points[point.precisions] = replace(point, kept=False)
        raise self._missed()

    def _missed(self) -> MoteError:
        """The error raised when no choice meets the accuracy constraint."""
        if not self.points:
            return MoteError(
                f"does not fit the target '{self.task.settings.target.name}', whatever its precisions",
                remedy="use a part with more memory, or a smaller model",
            )
        best = min(self._by_cost(self.points.values()), key=_lost)
        left = [p for p in PRECISIONS if p not in self.precisions]
        more = f"allow more precise types with --precisions ({', '.join(left)}), " if left else ""
        return MoteError(
            f"no choice of {', '.join(self.precisions)} is within the allowed accuracy drop: the best of"
            f" {len(self.points)} ({best.name}) has {self.reference['metric']} {best.value:.4g}, {best.lost:.2%} worse"
            f" than the float model ({self.reference['value']:.4g}) and {best.lost - self.allowed:.2%} more than the"
            f" {self.allowed:.2%} that may be lost",
            where=self.task.test.where,
            remedy=f"{more}give more calibration data, fine-tune it (mote.quantize.prepare), or allow a larger drop",
        )

    def _nothing_gained(self) -> MoteError:
        """The error raised when the unquantized model was chosen."""
        others = [p for p in self.points.values() if p.name != Precision.FLOAT32]
        best = min(others, key=lambda p: (p.lost, p.precisions), default=None)
        other = "" if best is None else f"; of {len(others)} other choices the best loses {best.lost:.2%}"
        return MoteError(
            f"float in all layers is the cheapest choice within the allowed accuracy drop of {self.allowed:.2%}{other}",
            where=self.task.test.where,
            remedy="compile the model as it is, or allow a larger drop",
        )

    def _front(self) -> list[MixedPoint]:
        """The Pareto front, of measured points if there are any."""
        measured = [p for p in self.points.values() if p.measured is not None]
        return front(self._by_cost(measured or self.points.values()), _lost, *map(_cost, AXES))

    def _measure(self) -> str:
        """Runs the cheapest allowed points, uniform ones and others of the front on the emulated target; returns the
        tools' names."""
        cheapest = self._by_cost(self.points.values())
        uniform = [p for p in cheapest if p.name != MIXED]
        kept = [p for p in cheapest if p.kept][: MEASURED // 2]
        wanted = dict.fromkeys(p.precisions for p in (*kept, *uniform, *self._front()))
        some = list(wanted)[:MEASURED]
        results = self._results(ran, some)
        for choice, result in zip(some, results, strict=True):
            self.points[choice] = replace(self.points[choice], measured={axis: result[axis] for axis in AXES})
        return str(results[0]["tools"]) if results else ""

    def _held_out(self, quantized: Quantized, data: Dataset) -> Guarded:
        """Scores the chosen model on held-out data."""
        metric = self.reference["metric"]
        exact, other = score(self.task.graph, data, metric), score(quantized.graph, data, metric)
        lost = loss({"value": other.value}, {"value": exact.value, "better": exact.better})
        return Guarded(data.shown, len(data), other.value, exact.value, lost, other.context)

    def _guard(self) -> float:
        exact = float(self.reference["value"])
        return exact - self.allowed if self.reference["better"] == HIGHER else exact * (1 + self.allowed)

    def _sample_size_warnings(self, samples: int) -> Iterator[str]:
        if self.reference["better"] == HIGHER and self.allowed < 1 / samples:
            yield f"one of {samples} samples is more than the {self.allowed:.2%} that may be lost: label more of them"


def _lost(point: MixedPoint) -> float:
    return point.lost


def _cost(axis: str) -> Callable[[MixedPoint], float]:
    return lambda point: point.cost(axis)


def _name(item: Probe | Trial | Choice) -> str:
    if isinstance(item, Probe):
        return f"layer {item.unit} as {item.precision}"
    return ",".join(item.precisions if isinstance(item, Trial) else item) or "float model"


def _price(costs: Mapping[str, int], base: MixedPoint | None, axis: str) -> float:
    return costs[axis] - (0 if base is None else getattr(base, axis))


def _power(decibels: float | None) -> float:
    """Noise power as a fraction of the signal's."""
    return 0.0 if decibels is None else float(10 ** (-decibels / 10))
