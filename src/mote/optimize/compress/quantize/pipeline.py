"""Post-training quantization as a pipeline: statistics, ranges, refined constants, integer graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mote.base.errors import MoteError
from mote.base.progress import Done, nobody
from mote.bench.execute.batch import evaluate
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.optimize.compress.quantize.attention_masks import softened
from mote.optimize.compress.quantize.calibration import ranges
from mote.optimize.compress.quantize.constants import Chosen
from mote.optimize.compress.quantize.encode import Range
from mote.optimize.compress.quantize.inside import Insides, followed
from mote.optimize.compress.quantize.quantizer import IO, Integers, integers
from mote.optimize.compress.quantize.refinement.equalize import equalized
from mote.optimize.compress.quantize.refinement.refine import refined
from mote.optimize.compress.quantize.statistics import observed
from mote.optimize.compress.quantize.types.precision import Precision, Scheme
from mote.optimize.compress.quantize.types.type_assignment import Ranges

ROUNDINGS = ("adaptive", "nearest")


@dataclass(frozen=True)
class Methods:
    """Quantization methods."""

    calibration: str = "percentile"
    """Calibration method (`mote.optimize.compress.quantize.calibration`)."""
    equalize: bool = False
    """Cross-layer equalization, for networks with very uneven channels. With bias correction and adaptive rounding it
    gains nothing on the networks of the benchmark."""
    correct_biases: bool = True
    """Bias correction: no layer has an error on average."""
    rounding: str = ROUNDINGS[0]
    """Weight rounding. adaptive: minimizes the error of the layers' results; nearest: rounds to nearest."""

    def __post_init__(self) -> None:
        if self.rounding not in ROUNDINGS:
            raise MoteError(f"'{self.rounding}' is not one of {', '.join(ROUNDINGS)}", where="option rounding")


@dataclass(frozen=True, eq=False)
class CalibratedModel:
    """Calibration results of a model, for any precision of its layers."""

    exact: Graph
    """The float graph in normal form; equivalent to the model, with other constants after equalization or mask
    reduction."""
    ranges: Ranges
    wide: Ranges
    """Ranges for int16 tensors: min-max, as clipping gains nothing."""
    cases: Sequence[Mapping[int, Array]]
    methods: Methods
    insides: Insides = field(default_factory=dict)
    """Ranges of values inside layers."""


@dataclass(frozen=True, eq=False)
class QuantizationResult:
    """A quantized model."""

    prepared: CalibratedModel
    integers: Integers


def prepared(
    graph: Graph,
    cases: Sequence[Mapping[int, Array]],
    methods: Methods | None = None,
    precision: Precision = Precision.INT8,
    done: Done = nobody,
) -> CalibratedModel:
    """Calibrates a float graph in normal form, for layers that mostly have this precision. `done` is a callback with
    the processed and the total number of samples."""
    methods = methods or Methods()
    if not cases:
        return CalibratedModel(graph, {}, {}, cases, methods)
    masked = softened(graph, cases)
    graph = masked.graph
    equalizes = methods.equalize and precision.activations == DType.INT8
    total = len(cases) * (1 + equalizes)
    insides: dict[int, dict[str, Range]] = {}
    seen = observed(graph, followed(graph, _told(graph, _all(graph, cases), done, 0, total), insides))
    if equalizes:
        graph = equalized(graph, seen, precision)
        insides = {}
        again = _told(graph, _all(graph, cases), done, len(cases), total)
        seen = observed(graph, followed(graph, again, insides))
    narrow, wide = (_above(ranges(seen, method), masked.least) for method in (methods.calibration, "min-max"))
    return CalibratedModel(graph, narrow, wide, cases, methods, insides)


def _all(graph: Graph, cases: Sequence[Mapping[int, Array]]) -> Iterator[dict[int, Array]]:
    """Batches of all tensors, with initial states."""
    return evaluate(graph, cases, {*graph.inputs, *graph.producers, *(s.before for s in graph.states)})


def _told(
    graph: Graph, batches: Iterator[dict[int, Array]], done: Done, before: int, total: int
) -> Iterator[dict[int, Array]]:
    """Batches of all tensors of a graph; reports progress."""
    for values in batches:
        yield values
        before += max(len(values[t]) for t in graph.inputs) if graph.inputs else 1
        done(before, total)


def _above(ranges: Ranges, least: Mapping[int, float]) -> Ranges:
    """Ranges without what lies below the smallest meaningful values."""
    return {t: (max(low, least.get(t, low)), high) for t, (low, high) in ranges.items()}


def finished(
    given: CalibratedModel, scheme: Scheme | None = None, *, io: str = IO[0], done: Done = nobody
) -> QuantizationResult:
    """Quantizes in the precisions of a scheme, with the constants that the methods choose; `done` counts operators."""
    scheme, methods = scheme or Scheme(), given.methods

    def made(io: str, chosen: Chosen | None = None) -> Integers:
        return integers(given.exact, given.ranges, scheme, io=io, chosen=chosen, wide=given.wide, insides=given.insides)

    adaptive = methods.rounding == "adaptive"
    if not given.cases or not (adaptive or methods.correct_biases):
        return QuantizationResult(given, made(io))
    nearest = made(IO[0])
    biases = methods.correct_biases
    chosen = refined(given.exact, nearest, given.cases, rounding=adaptive, biases=biases, done=done)
    return QuantizationResult(given, made(io, chosen))
