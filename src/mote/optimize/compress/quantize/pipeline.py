"""Post-training quantization pipeline: statistics, ranges, refined constants, integer graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mote.base.errors import MoteError
from mote.base.progress import Done, nobody
from mote.bench.execute.batch import evaluate
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.optimize.compress.quantize.attention_masks import with_clamped_masks
from mote.optimize.compress.quantize.calibration import ranges
from mote.optimize.compress.quantize.constants import ConstantOverrides
from mote.optimize.compress.quantize.encode import Range
from mote.optimize.compress.quantize.inside import Insides, recording_insides
from mote.optimize.compress.quantize.quantizer import IO, Integers, integers
from mote.optimize.compress.quantize.refinement.equalize import equalized
from mote.optimize.compress.quantize.refinement.refine import refined
from mote.optimize.compress.quantize.statistics import observed
from mote.optimize.compress.quantize.types.precision import Precision, Scheme
from mote.optimize.compress.quantize.types.type_assignment import Ranges

ROUNDINGS = ("adaptive", "nearest")


@dataclass(frozen=True)
class Methods:
    """Choice of quantization methods."""

    calibration: str = "percentile"
    """Calibration method: min-max, percentile, mse or entropy (see `mote.optimize.compress.quantize.calibration`)."""
    equalize: bool = False
    """Whether to apply cross-layer equalization, for networks with very uneven channels. Combined with bias correction
    and adaptive rounding it gains nothing on the benchmark's networks."""
    correct_biases: bool = True
    """Whether to apply bias correction, which removes the mean error of each layer."""
    rounding: str = ROUNDINGS[0]
    """Weight rounding: `adaptive` minimizes the error of layer outputs, `nearest` rounds to nearest."""

    def __post_init__(self) -> None:
        if self.rounding not in ROUNDINGS:
            raise MoteError(f"'{self.rounding}' is not one of {', '.join(ROUNDINGS)}", where="option rounding")


@dataclass(frozen=True, eq=False)
class CalibratedModel:
    """A calibrated float model, ready to quantize in any precision."""

    exact: Graph
    """Float graph in normal form, equivalent to the model up to equalization and clamped attention masks."""
    ranges: Ranges
    wide: Ranges
    """Activation ranges for int16 tensors: min-max, since clipping gains nothing there."""
    cases: Sequence[Mapping[int, Array]]
    methods: Methods
    insides: Insides = field(default_factory=dict)
    """Ranges of intermediate values of composite layers."""


@dataclass(frozen=True, eq=False)
class QuantizationResult:
    """A quantized model and the calibration behind it."""

    prepared: CalibratedModel
    integers: Integers


def prepared(
    graph: Graph,
    cases: Sequence[Mapping[int, Array]],
    methods: Methods | None = None,
    precision: Precision = Precision.INT8,
    done: Done = nobody,
) -> CalibratedModel:
    """Calibrates a float graph in normal form; `precision` is that of most layers. `done` is a progress callback
    (processed samples, total)."""
    methods = methods or Methods()
    if not cases:
        return CalibratedModel(graph, {}, {}, cases, methods)
    masked = with_clamped_masks(graph, cases)
    graph = masked.graph
    equalizes = methods.equalize and precision.activations == DType.INT8
    total = len(cases) * (1 + equalizes)
    insides: dict[int, dict[str, Range]] = {}
    statistics = observed(
        graph, recording_insides(graph, _reporting(graph, _all_activations(graph, cases), done, 0, total), insides)
    )
    if equalizes:
        graph = equalized(graph, statistics, precision)
        insides = {}
        again = _reporting(graph, _all_activations(graph, cases), done, len(cases), total)
        statistics = observed(graph, recording_insides(graph, again, insides))
    narrow, wide = (_raised(ranges(statistics, method), masked.least) for method in (methods.calibration, "min-max"))
    return CalibratedModel(graph, narrow, wide, cases, methods, insides)


def _all_activations(graph: Graph, cases: Sequence[Mapping[int, Array]]) -> Iterator[dict[int, Array]]:
    """Runs the samples and yields batches of all activations, including initial states."""
    return evaluate(graph, cases, {*graph.inputs, *graph.producers, *(s.before for s in graph.states)})


def _reporting(
    graph: Graph, batches: Iterator[dict[int, Array]], done: Done, before: int, total: int
) -> Iterator[dict[int, Array]]:
    """Passes through batches of activations and reports progress."""
    for values in batches:
        yield values
        before += max(len(values[t]) for t in graph.inputs) if graph.inputs else 1
        done(before, total)


def _raised(ranges: Ranges, least: Mapping[int, float]) -> Ranges:
    """Ranges raised to the smallest values that matter."""
    return {t: (max(low, least.get(t, low)), high) for t, (low, high) in ranges.items()}


def finished(
    given: CalibratedModel, scheme: Scheme | None = None, *, io: str = IO[0], done: Done = nobody
) -> QuantizationResult:
    """Quantizes a calibrated model in the precisions of a scheme, with weights and biases refined by its methods;
    `done` is a progress callback counting operators."""
    scheme, methods = scheme or Scheme(), given.methods

    def quantized(io: str, chosen: ConstantOverrides | None = None) -> Integers:
        return integers(given.exact, given.ranges, scheme, io=io, chosen=chosen, wide=given.wide, insides=given.insides)

    adaptive = methods.rounding == "adaptive"
    if not given.cases or not (adaptive or methods.correct_biases):
        return QuantizationResult(given, quantized(io))
    nearest = quantized(IO[0])
    biases = methods.correct_biases
    chosen = refined(given.exact, nearest, given.cases, rounding=adaptive, biases=biases, done=done)
    return QuantizationResult(given, quantized(io, chosen))
