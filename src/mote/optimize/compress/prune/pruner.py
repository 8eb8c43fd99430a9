"""`mote prune`: prunes a float model, and reports the accuracy that it costs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib import import_module
from math import inf, log10
from pathlib import Path
from typing import Any, Unpack

from mote.base.errors import BudgetError, MoteError, explaining, naming
from mote.base.files import write_file
from mote.base.notebook import card, folded, sizes, table
from mote.base.progress import Say, silent
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
from mote.optimize.compress.prune.limits import PruningTarget, compiled_cost, reached
from mote.optimize.compress.prune.pruning_plan import PruneOptions, PruningPlan
from mote.optimize.compress.prune.schedule import KINDS, Cases, Change, Prices, Ways
from mote.optimize.compress.quantize.pipeline import CalibratedModel, Methods, prepared
from mote.optimize.compress.quantize.post_training import quantized_graph
from mote.optimize.compress.quantize.quantizer import quantized
from mote.optimize.search import run as searched

SHARES = (0.75, 0.5, 0.35)
"""Shares of the unpruned cost at which a front has points."""
JUDGED = 64
"""Samples for noise measurements: held out from refitting where the data has enough."""
UNPRUNED = "unpruned"
TUNING = "mote.optimize.train.tuning"
"""Loaded only for fine-tuning, as it needs PyTorch."""
UNTRAINED = "weights were refitted, not trained: fine-tuning (--fine-tune EPOCHS, with PyTorch) keeps more accuracy"
PLAIN = Methods(equalize=False, correct_biases=False, rounding="nearest")
"""Quantization methods for cost estimates."""


@dataclass(frozen=True)
class PrunedPoint:
    """A pruned model's costs, noise and accuracy."""

    name: str
    """The name of the point."""
    macs: int
    """MACs with nonzero weights."""
    costs: PrunedCosts | None
    """Costs of the int8 model on the target; None where it does not fit."""
    noise: float
    """Noise in dB against the unpruned model, before a final SOFTMAX."""
    score: Score | None = None
    """The score of the float model, which is the file of a pruned one; None without labelled data."""
    int8_score: Score | None = None
    """The score of it quantized as `mote quantize` does with the same data."""

    @property
    def metric(self) -> str:
        """The metric of the accuracies; empty without labelled data."""
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
        """All fields as JSON types; no noise is None."""
        scores = {
            "metric": self.metric,
            "accuracy": self.accuracy,
            "int8_accuracy": self.int8_accuracy,
            "interval": self.int8_score and self.int8_score.interval,
            "largest_class": self.int8_score and self.int8_score.largest_class,
        }
        costs = self.costs and asdict(self.costs)
        noise = None if self.noise == inf else self.noise
        return {"name": self.name, "macs": self.macs, "costs": costs, "noise": noise, **scores}


@dataclass(frozen=True)
class Pruned:
    """A pruned float model."""

    model: str
    """The model's file, or what its object is called."""
    kind: str
    """The kind of pruning: channels, blocks or clusters."""
    target: str
    """The target's name."""
    optimize: str
    """The optimization that costs are for."""
    data: bytes = field(repr=False)
    """The `.tflite` file."""
    graph: Graph
    """The pruned graph."""
    counts: str
    """The unit of the counts: channels, blocks or distinct values."""
    layers: tuple[Change, ...]
    """The layers before and after."""
    before: PrunedPoint
    """The unpruned model."""
    after: PrunedPoint
    """The pruned model."""
    points: tuple[PrunedPoint, ...]
    """The front, if requested, starting with the unpruned model."""
    estimated: str
    """The reason why instructions were not counted; empty where they were."""
    fine_tuned: int
    """Epochs of fine-tuning."""
    samples: tuple[int, int]
    """Samples used for refitting, and samples available."""
    warnings: tuple[str, ...] = ()
    """Warnings about the model and the data."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the accuracies, and on how to keep more of them."""
        score = self.after.int8_score
        context = () if score is None or not score.context else (f"{score.metric} of pruned int8: {score.context}",)
        trained = self.fine_tuned or self.kind == "clusters"
        return context if trained else (*context, UNTRAINED)

    def __repr__(self) -> str:
        macs = f"{self.before.macs:,} -> {self.after.macs:,} MACs"
        rating = "" if self.after.accuracy is None else f", {self.after.metric} {self.after.accuracy:.4g}"
        return f"<Pruned {self.model!r} for {self.target}: {self.kind}, {macs}{rating}>"

    def _repr_html_(self) -> str:
        points = [*(self.points or (self.before,)), replace(self.after, name="pruned")]
        rows = [_costs_row(point) for point in points]
        head = ("", "MACs", "instructions", "cycles", "flash", "RAM", "noise in dB", "accuracy", "accuracy in int8")
        layers = table(
            ("#", "op", "name", self.counts, "left"),
            [(x.index, x.op, x.name, x.before, x.after) for x in self.layers],
            left=3,
        )
        facts = {"file": sizes(len(self.data)), "kind": self.kind, "MACs left": self.after.macs}
        title = f"{self.model} for {self.target}"
        return card(title, facts, table(head, rows), folded("layers", layers), notes=(*self.warnings, *self.notes))

    def write(self, path: str | Path) -> None:
        """Writes the file atomically; replaces an existing `.tflite` file."""
        write_file(str(path), self.data, IDENTIFIER, IDENTIFIER_AT)

    def json(self) -> dict[str, Any]:
        """Costs, layers and points as JSON types."""
        return {
            "model": self.model,
            "kind": self.kind,
            "target": self.target,
            "optimize": self.optimize,
            "bytes": len(self.data),
            "counts": self.counts,
            "layers": [asdict(layer) for layer in self.layers],
            "before": self.before.json(),
            "after": self.after.json(),
            "points": [point.json() for point in self.points],
            "not_run": self.estimated or None,
            "fine_tuned": self.fine_tuned,
            "samples": self.samples[0],
            "warnings": list(self.warnings),
            "notes": list(self.notes),
        }


def _costs_row(point: PrunedPoint) -> tuple[object, ...]:
    costs = point.costs
    taken = (None,) * 4 if costs is None else (costs.instructions, costs.cycles, costs.flash, costs.ram)
    noise = None if point.noise == inf else -point.noise
    return (point.name, point.macs, *taken, noise, point.accuracy, point.int8_accuracy)


@dataclass(frozen=True, eq=False)
class _Job:
    """The inputs of every point, sent to workers."""

    plan: PruningPlan
    ways: Ways
    cases: Cases
    settings: Settings
    run: bool
    data: Dataset
    test: Dataset | None
    others: Cases
    """Held-out samples for noise."""
    teacher: Graph
    """The unpruned model, as the teacher of fine-tuning."""


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
    given, held = dataset(data), None if test is None else dataset(test, labelled=True)
    with naming(source.where):
        model_read = read(source)
        as_read = model_read.graph()
        graph = normal(as_read)
        _check_float(graph)
        cases, beside = split(given.cases(graph), plan.samples)
        say("judging layers...")
        seen = CalibratedModel(graph, {}, {}, (), PLAIN) if limit.unit == "macs" else prepared(graph, cases, PLAIN)
        ways = _ways(graph, cases, kind, prices(graph, seen, settings, limit.unit))
        why_not = obstacle(settings.target)
        job = _Job(plan, ways, cases, settings, not why_not, given, held, beside, graph)
        if plan.fine_tune:
            say("the unpruned model learns the data...")
            job = replace(job, teacher=_taught(job))
        candidates = _search(job, limit, seen, source.where, say)
        points = _points(job, candidates, say)
        exported = export(points[-1][1], source.where, preprocess=given.steps or model_read.preprocess)
    before, after = points[0][0], points[-1][0]
    return Pruned(
        model=source.where,
        kind=kind,
        target=settings.target.name,
        optimize=settings.optimize,
        data=exported.data,
        graph=points[-1][1],
        counts=ways.counts,
        layers=tuple(ways.changes(candidates[-1].number)),
        before=before,
        after=after,
        points=tuple(point for point, _ in points[:-1]) if plan.front else (),
        estimated=why_not,
        fine_tuned=plan.fine_tune,
        samples=(len(cases), len(given)),
        warnings=scale_warnings(as_read, given),
    )


def _check_float(graph: Graph) -> None:
    """Refuses models with quantized weights."""
    quantized_ones = [t for t in graph.tensors.values() if t.quant is not None and t.dtype != DType.FLOAT32]
    if quantized_ones:
        t = quantized_ones[0]
        raise MoteError(
            f"is quantized (tensor '{t.name}' is {t.dtype}): only float models can be pruned",
            remedy="give the float model that it was made from; `mote quantize` quantizes the pruned one",
        )


def split(cases: Cases, count: int) -> tuple[Cases, Cases]:
    """Splits cases: a number of them, evenly spread, and held-out ones; both are the same where there are too few."""
    chosen = _spread(range(len(cases)), count)
    rest = sorted(set(range(len(cases))) - set(chosen)) or chosen
    return [cases[i] for i in chosen], [cases[i] for i in _spread(rest, JUDGED)]


def _spread(numbers: Sequence[int], count: int) -> Sequence[int]:
    return numbers if len(numbers) <= count else [numbers[i * len(numbers) // count] for i in range(count)]


def _ways(graph: Graph, cases: Cases, kind: str, prices: Prices) -> Ways:
    ways = KINDS[kind].of(graph, cases, prices)
    if len(ways) == 1:
        raise MoteError(
            f"has no {kind} to prune: no layer with weights has inputs or outputs that are not the model's own",
            remedy="`mote inspect` lists its layers",
        )
    return ways


@dataclass(frozen=True)
class _Wanted:
    """A pruning step by number, and the flash budget that it is compiled for."""

    name: str
    number: int
    flash: int | None = None


def _search(job: _Job, limit: PruningTarget, seen: CalibratedModel, model: str, say: Say) -> list[_Wanted]:
    """The unpruned model, the points of a front, and last the requested step. Candidates are quantized with the ranges
    of the unpruned model."""
    ways = job.ways

    def compiled(number: int, flash: int | None) -> Compiled:
        integer = quantized(ways.cut(number), seen.ranges, insides=seen.insides)
        return compile_graph(integer, replace(job.settings, flash=flash))

    by_compiling = compiled_cost(limit.unit, compiled)

    @cache
    def cost(number: int, most: int | None) -> float:
        say(f"trying way {number} of {len(ways) - 1}...")
        return ways.macs(number) if limit.unit == "macs" else by_compiling(number, most)

    def wanted(name: str, limit: PruningTarget) -> _Wanted:
        number, most = reached(limit, len(ways), cost, model)
        return _Wanted(name, number, most if limit.unit == "flash" else None)

    candidates = [_Wanted(UNPRUNED, 0)]
    for share in SHARES if job.plan.front else ():
        with suppress(MoteError):
            candidates.append(wanted(f"{share:.0%}", PruningTarget(limit.unit, share=share)))
    return [*candidates, wanted("pruned", limit)]


def _points(job: _Job, wanted: list[_Wanted], say: Say) -> list[tuple[PrunedPoint, Graph]]:
    points, plan = [], job.plan
    results = searched(point_of, wanted, job, scheduler=plan.scheduler, workers=plan.workers, name=lambda w: w.name)
    for one, point in results:
        points.append(point)
        say(f"{one.name}: {len(points)} of {len(wanted)} points")
    return points


def point_of(job: _Job, wanted: _Wanted) -> tuple[PrunedPoint, Graph]:
    """Evaluates a pruning step: refits, optionally fine-tunes, and measures."""
    ways, number = job.ways, wanted.number
    graph = ways.refit(number, job.cases)
    if job.plan.fine_tune and number:
        graph = _tuned(job, graph, number)
    integer = quantized_graph(graph, job.data.cases(graph))
    try:
        costs = costs_of(integer, replace(job.settings, flash=wanted.flash), run=job.run)
    except BudgetError:
        costs = None
    far = distances(ways.graph, graph, job.others) if number else 0.0
    point = PrunedPoint(wanted.name, ways.macs(number), costs, -10 * log10(far) if far > 0.0 else inf)
    if job.test is None:
        return point, graph
    return replace(point, score=score(graph, job.test), int8_score=score(integer, job.test)), graph


def _tuned(job: _Job, graph: Graph, number: int) -> Graph:
    """Fine-tunes with labels, where the data has them, and by distillation from the unpruned model."""
    tuning = import_module(TUNING)
    how = tuning.Tuning(job.plan.fine_tune, job.plan.augment, job.plan.device)
    tuned: Graph = tuning.fine_tuned(graph, job.teacher, job.data, job.ways.kept(number), how)
    return tuned


def _taught(job: _Job) -> Graph:
    """The unpruned model, fine-tuned in the same way."""
    tuning = import_module(TUNING)
    how = tuning.Tuning(job.plan.fine_tune, job.plan.augment, job.plan.device)
    taught: Graph = tuning.taught(job.teacher, job.data, how)
    return taught
