"""`mote prune`: prunes a float model, and reports the accuracy that it costs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from math import inf, log10
from pathlib import Path
from typing import Any, Unpack

from mote.base.errors import BudgetError, MoteError, explaining, naming
from mote.base.files import write_file
from mote.base.notebook import table
from mote.base.progress import Say, silent
from mote.base.results import ItemTable, Record, Result
from mote.bench.evaluation.score import score
from mote.bench.metrics import Score
from mote.compiler.compiled import Compiled
from mote.compiler.line import compile_graph
from mote.compiler.options.records import recorded
from mote.compiler.passes.normal_form import normal
from mote.compiler.settings import Settings
from mote.compiler.subject import given_model
from mote.frontends import read
from mote.frontends.data.dataset import Dataset, dataset
from mote.frontends.data.scale import scale_warnings
from mote.frontends.tflite.export import export
from mote.frontends.tflite.file.schema import IDENTIFIER, IDENTIFIER_AT
from mote.ir.graph import Graph
from mote.ir.graph.types import DType
from mote.optimize.compress.prune.costs import PrunedCosts, costs_of, obstacle, prices
from mote.optimize.compress.prune.importance import distances
from mote.optimize.compress.prune.limits import PruningTarget, compiled_cost, first_within
from mote.optimize.compress.prune.pruning_plan import PruneOptions, PruningPlan
from mote.optimize.compress.prune.schedule import KINDS, Cases, Change, Prices, PruningSchedule
from mote.optimize.compress.quantize.pipeline import CalibratedModel, Methods, prepared
from mote.optimize.compress.quantize.post_training import quantized_graph
from mote.optimize.compress.quantize.quantizer import quantized
from mote.optimize.search import run as searched

SHARES = (0.75, 0.5, 0.35)
"""Relative costs of the points of a front."""
JUDGED = 64
"""Number of samples for noise measurements, held out from refitting if there are enough."""
UNPRUNED = "unpruned"
TUNING = "mote.optimize.train.tuning"
"""Module that needs PyTorch, imported only for fine-tuning."""
UNTRAINED = "weights were refitted, not trained: fine-tuning (--fine-tune EPOCHS, with PyTorch) keeps more accuracy"
PLAIN = Methods(equalize=False, correct_biases=False, rounding="nearest")
"""Quantization methods used for cost estimates."""


@dataclass(frozen=True)
class PrunedPoint(Record):
    """A pruned model's costs, noise and accuracy."""

    JSON = (
        "name, macs, costs, noise, metric, accuracy, int8_accuracy, interval=int8_score.interval,"
        " largest_class=int8_score.largest_class"
    )

    name: str
    """Name of the point, such as "unpruned" or "50%"."""
    macs: int
    """MACs of nonzero weights."""
    costs: PrunedCosts | None
    """Costs of the int8 model on the target; None if it does not fit."""
    noise: float
    """Noise in dB against the unpruned model, before a final SOFTMAX."""
    score: Score | None = None
    """Score of the pruned float model on labelled data; None without such data."""
    int8_score: Score | None = None
    """Score of the pruned model quantized to int8; None without labelled data."""

    @property
    def metric(self) -> str:
        """Name of the accuracy metric; empty without labelled data."""
        return "" if self.score is None else self.score.metric

    @property
    def accuracy(self) -> float | None:
        """Accuracy of the float model on the labelled data."""
        return None if self.score is None else self.score.value

    @property
    def int8_accuracy(self) -> float | None:
        """Accuracy of the quantized model on the labelled data."""
        return None if self.int8_score is None else self.int8_score.value

    def json(self) -> dict[str, Any]:
        """Costs, noise and accuracy as JSON types; no noise is None."""
        return super().json() | {"noise": None if self.noise == inf else self.noise}


@dataclass(frozen=True)
class Pruned(Result):
    """Result of `mote prune`: a pruned float model."""

    TITLE = "{model} for {target}"
    FACTS = "file=data!n:size, kind, MACs left=after.macs"
    NOTES = "warnings, notes"
    JSON = (
        "model, kind, target, optimize, bytes=data!n, counts, layers, before, after, points, not_run=estimated?,"
        " fine_tuned, samples, warnings, notes"
    )

    model: str
    """Model file name, or a description of the model object."""
    kind: str
    """Kind of pruning: channels, blocks or clusters."""
    target: str
    """Name of the target."""
    optimize: str
    """Optimization policy of the costs: balanced, size or speed."""
    data: bytes = field(repr=False)
    """Contents of the pruned `.tflite` file."""
    graph: Graph
    """The pruned graph."""
    counts: str
    """Unit of the layers' counts: channels, weights or distinct weights."""
    layers: tuple[Change, ...]
    """Layers with their counts before and after pruning."""
    before: PrunedPoint
    """The unpruned model."""
    after: PrunedPoint
    """The pruned model."""
    points: tuple[PrunedPoint, ...]
    """Points of the front if requested, starting with the unpruned model; else empty."""
    estimated: str
    """Reason why instructions were not counted on the emulated target; empty if they were."""
    fine_tuned: int
    """Epochs of fine-tuning; 0 without."""
    samples: tuple[int, int]
    """(samples used for refitting, samples available)."""
    warnings: tuple[str, ...] = ()
    """Warnings about the model and the data."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the accuracies and on how to keep more of them."""
        score = self.after.int8_score
        context = () if score is None or not score.context else (f"{score.metric} of pruned int8: {score.context}",)
        trained = self.fine_tuned or self.kind == "clusters"
        return context if trained else (*context, UNTRAINED)

    def __repr__(self) -> str:
        macs = f"{self.before.macs:,} -> {self.after.macs:,} MACs"
        rating = "" if self.after.accuracy is None else f", {self.after.metric} {self.after.accuracy:.4g}"
        return f"<Pruned {self.model!r} for {self.target}: {self.kind}, {macs}{rating}>"

    def write(self, path: str | Path) -> None:
        """Writes the file atomically; replaces an existing `.tflite` file."""
        write_file(str(path), self.data, IDENTIFIER, IDENTIFIER_AT)

    def points_table(self) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        """The heads and rows of a table of the costs before and after, or of the front."""
        metric = self.after.metric
        head = ("", "MACs", "instructions", "cycles", "flash", "RAM", "noise", *([metric, "in int8"] if metric else []))
        points = [*(self.points or (self.before,)), replace(self.after, name="pruned")]
        return head, [_costs_row(point)[: len(head)] for point in points]

    @property
    def layer_columns(self) -> ItemTable:
        """The columns of a table of layers, in the unit of the counts."""
        return ItemTable(
            "layers", f"#=index, layer=short, op, {self.counts}=before, left=after", left=3, title="layers"
        )

    def _parts(self) -> list[str]:
        return [table(*self.points_table()), self.layer_columns.html(self)]

    def json(self) -> dict[str, Any]:
        """Costs, layers and points as JSON types."""
        return super().json() | {"samples": self.samples[0]}


def _costs_row(point: PrunedPoint) -> tuple[object, ...]:
    costs = point.costs
    taken = (None,) * 4 if costs is None else (costs.instructions, costs.cycles, costs.flash, costs.ram)
    noise = "-" if point.noise == inf else f"{-point.noise:.1f} dB"
    shares = (None if share is None else f"{share:.4f}" for share in (point.accuracy, point.int8_accuracy))
    return (point.name, point.macs, *taken, noise, *shares)


@dataclass(frozen=True, eq=False)
class _Job:
    """Shared input of the evaluation of all points, sent to workers once."""

    plan: PruningPlan
    schedule: PruningSchedule
    cases: Cases
    settings: Settings
    run: bool
    data: Dataset
    test: Dataset | None
    others: Cases
    """Held-out samples for measuring noise."""
    teacher: Graph
    """Unpruned model, the distillation teacher of fine-tuning."""


@explaining()
def prune(
    model: Any,
    data: Any,
    *,
    test: Any = None,
    example_inputs: Any = None,
    say: Say = silent,
    **options: Unpack[PruneOptions],
) -> Pruned:
    """Prune a float model, given as to `compile`, until it meets one target: `macs`, `flash` or `cycles`, each a number
    or a percentage ("50%") of the unpruned cost.

    `data`: inputs (and labels, for fine-tuning) as `mote.frontends.data.dataset` takes them. `kind`: whole channels,
    "blocks" of weights that kernels skip, or "clusters": few distinct weights for the coded kernels of
    `optimize="size"`. Costs are those of the int8 model on `target`. `test`: labelled data to measure the accuracy
    with; `fine_tune`: epochs of training with PyTorch, on `device`, with data augmentation (`augment="flip,shift=4"`);
    `samples`: how many refit the weights; `front`: points at 75%, 50% and 35% as well, computed by `workers` processes
    or a Dask cluster (`scheduler`). `shapes`, `signature` and `constants` say how the model is read, as to
    `compile`."""
    plan, others = recorded(PruningPlan, options, PruneOptions.__annotations__)
    kind, limit, settings = plan.kind, plan.limit, plan.settings(**others)
    source = given_model(model, settings, example_inputs)
    samples, test_data = dataset(data), None if test is None else dataset(test, labelled=True)
    with naming(source.where):
        model_read = read(source)
        as_read = model_read.graph()
        graph = normal(as_read)
        _check_float(graph)
        cases, held_out = split(samples.cases(graph), plan.samples)
        say("judging layers...")
        calibrated = (
            CalibratedModel(graph, {}, {}, (), PLAIN) if limit.unit == "macs" else prepared(graph, cases, PLAIN)
        )
        schedule = _schedule(graph, cases, kind, prices(graph, calibrated, settings, limit.unit))
        not_run = obstacle(settings.target)
        job = _Job(plan, schedule, cases, settings, not not_run, samples, test_data, held_out, graph)
        if plan.fine_tune:
            say("the unpruned model learns the data...")
            job = replace(job, teacher=_tuned_teacher(job))
        candidates = _search(job, limit, calibrated, source.where, say)
        points = _points(job, candidates, say)
        exported = export(points[-1][1], source.where, preprocess=samples.steps or model_read.preprocess)
    before, after = points[0][0], points[-1][0]
    return Pruned(
        model=source.where,
        kind=kind,
        target=settings.target.name,
        optimize=settings.optimize,
        data=exported.data,
        graph=points[-1][1],
        counts=schedule.counts,
        layers=tuple(schedule.changes(candidates[-1].number)),
        before=before,
        after=after,
        points=tuple(point for point, _ in points[:-1]) if plan.front else (),
        estimated=not_run,
        fine_tuned=plan.fine_tune,
        samples=(len(cases), len(samples)),
        warnings=scale_warnings(as_read, samples),
    )


def _check_float(graph: Graph) -> None:
    """Raises an error for models with quantized weights."""
    quantized_ones = [t for t in graph.tensors.values() if t.quant is not None and t.dtype != DType.FLOAT32]
    if quantized_ones:
        t = quantized_ones[0]
        raise MoteError(
            f"is quantized (tensor '{t.name}' is {t.dtype}): only float models can be pruned",
            remedy="give the float model that it was made from; `mote quantize` quantizes the pruned one",
        )


def split(cases: Cases, count: int) -> tuple[Cases, Cases]:
    """Splits samples into `count` evenly spaced ones for refitting, and others for measuring noise; with too few
    samples both are the same."""
    chosen = _spread(range(len(cases)), count)
    rest = sorted(set(range(len(cases))) - set(chosen)) or chosen
    return [cases[i] for i in chosen], [cases[i] for i in _spread(rest, JUDGED)]


def _spread(numbers: Sequence[int], count: int) -> Sequence[int]:
    return numbers if len(numbers) <= count else [numbers[i * len(numbers) // count] for i in range(count)]


def _schedule(graph: Graph, cases: Cases, kind: str, prices: Prices) -> PruningSchedule:
    schedule = KINDS[kind].of(graph, cases, prices)
    if len(schedule) == 1:
        raise MoteError(
            f"has no {kind} to prune: no layer with weights has inputs or outputs that are not the model's own",
            remedy="`mote inspect` lists its layers",
        )
    return schedule


@dataclass(frozen=True)
class _Wanted:
    """A point to evaluate: pruning step number, and flash budget to compile it for."""

    name: str
    number: int
    flash: int | None = None


def _search(job: _Job, limit: PruningTarget, calibrated: CalibratedModel, model: str, say: Say) -> list[_Wanted]:
    """Points to evaluate: the unpruned model, those of a front, and last the requested one. While searching, models are
    quantized with the unpruned model's activation ranges."""
    schedule = job.schedule

    def compiled(number: int, flash: int | None) -> Compiled:
        integer = quantized(schedule.cut(number), calibrated.ranges, insides=calibrated.insides)
        return compile_graph(integer, replace(job.settings, flash=flash))

    by_compiling = compiled_cost(limit.unit, compiled)

    @cache
    def cost(number: int, most: int | None) -> float:
        say(f"trying way {number} of {len(schedule) - 1}...")
        return schedule.macs(number) if limit.unit == "macs" else by_compiling(number, most)

    def wanted(name: str, limit: PruningTarget) -> _Wanted:
        number, most = first_within(limit, len(schedule), cost, model)
        return _Wanted(name, number, most if limit.unit == "flash" else None)

    candidates = [_Wanted(UNPRUNED, 0)]
    for share in SHARES if job.plan.front else ():
        with suppress(MoteError):
            candidates.append(wanted(f"{share:.0%}", PruningTarget(limit.unit, share=share)))
    return [*candidates, wanted("pruned", limit)]


def _points(job: _Job, wanted: list[_Wanted], say: Say) -> list[tuple[PrunedPoint, Graph]]:
    points, plan = [], job.plan
    results = searched(point_of, wanted, job, scheduler=plan.scheduler, workers=plan.workers, name=lambda w: w.name)
    for point_wanted, point in results:
        points.append(point)
        say(f"{point_wanted.name}: {len(points)} of {len(wanted)} points")
    return points


def point_of(job: _Job, wanted: _Wanted) -> tuple[PrunedPoint, Graph]:
    """Evaluates a point: refits the weights, optionally fine-tunes, measures costs and accuracy."""
    schedule, number = job.schedule, wanted.number
    graph = schedule.refit(number, job.cases)
    if job.plan.fine_tune and number:
        graph = _tuned(job, graph, number)
    integer = quantized_graph(graph, job.data.cases(graph))
    try:
        costs = costs_of(integer, replace(job.settings, flash=wanted.flash), run=job.run)
    except BudgetError:
        costs = None
    far = distances(schedule.graph, graph, job.others) if number else 0.0
    point = PrunedPoint(wanted.name, schedule.macs(number), costs, -10 * log10(far) if far > 0.0 else inf)
    if job.test is None:
        return point, graph
    return replace(point, score=score(graph, job.test), int8_score=score(integer, job.test)), graph


def _tuned(job: _Job, graph: Graph, number: int) -> Graph:
    """Fine-tunes a pruned graph on labels (if any) and by distillation from the unpruned model."""
    tuning = import_module(TUNING)
    how = tuning.Tuning(job.plan.fine_tune, job.plan.augment, job.plan.device)
    tuned: Graph = tuning.fine_tuned(graph, job.teacher, job.data, job.schedule.kept(number), how)
    return tuned


def _tuned_teacher(job: _Job) -> Graph:
    """The unpruned model, fine-tuned with the same settings."""
    tuning = import_module(TUNING)
    how = tuning.Tuning(job.plan.fine_tune, job.plan.augment, job.plan.device)
    taught: Graph = tuning.tuned_teacher(job.teacher, job.data, how)
    return taught
