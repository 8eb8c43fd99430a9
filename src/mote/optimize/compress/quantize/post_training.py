"""`mote quantize`: post-training quantization of a float model to a `.tflite` file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from mote.base.errors import MoteError, explaining, naming
from mote.base.files import write_file
from mote.base.progress import Say, counted, silent
from mote.base.results import ItemTable, Result
from mote.base.text import did_you_mean
from mote.bench.evaluation.converter import Edge, differences, edge_table, edges_of
from mote.bench.execute.batch import is_stream
from mote.bench.execute.stimuli import stimuli
from mote.compiler.given import ReadKeywords
from mote.compiler.options.parsing import check_at_least
from mote.compiler.options.records import recorded
from mote.compiler.passes.normal_form import normal
from mote.frontends import EDGES, Format, Source, read, source_of
from mote.frontends.calibration import RANDOM
from mote.frontends.data.dataset import Dataset, dataset
from mote.frontends.data.scale import scale_warnings
from mote.frontends.reading import reading
from mote.frontends.tflite.export import export
from mote.frontends.tflite.file.schema import IDENTIFIER, IDENTIFIER_AT
from mote.ir.graph import Graph, Op
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.matrix.blockwise import BlockwiseFullyConnected, BlockwiseLookup
from mote.optimize.compress.quantize.noise import signal_to_noise
from mote.optimize.compress.quantize.pipeline import Methods, QuantizationResult, finished, prepared
from mote.optimize.compress.quantize.types.precision import Precision, Scheme
from mote.optimize.compress.quantize.types.type_assignment import is_real

MOST_SAMPLES = 512
"""Default maximum number of calibration samples; more take longer without gain."""
MOST_COMPARED = 64
"""Number of calibration samples on which layer noise is measured."""
RANDOM_CASES = 16
INTEGERS = (DType.INT8, DType.UINT8, DType.INT16, DType.UINT16)
"""Activation types by which an already quantized model is recognized."""


@dataclass(frozen=True)
class QuantizedLayer:
    """Report of one operator's quantization."""

    index: int
    """Layer number, by which `layers` chooses precisions."""
    name: str
    """The name of the layer."""
    op: str
    """Operator kind."""
    precision: str
    """The precision of the layer."""
    reason: str
    """Why the precision differs from the requested one; empty if it does not."""
    low: float | None
    """Lower end of the output's calibrated range; None for outputs that are not float."""
    high: float | None
    """Upper end of the output's calibrated range; None for outputs that are not float."""
    scale: float | None
    """Scale of a quantized output."""
    zero_point: int | None
    """Zero point of a quantized output."""
    noise: float | None
    """Signal-to-noise ratio of the output in dB, against the float model on calibration data; None if equal or without
    data."""
    short: str = ""
    """The layer's short name, the same in all reports."""


@dataclass(frozen=True, eq=False, repr=False)
class Quantized(Result):
    """A quantized model as a `.tflite` file."""

    LINE = "{model!r} as {precision}: {layers!n} layers, {data!n:,} bytes, {samples:,} samples"
    TITLE = "{model}"
    FACTS = "precision, file=data!n:size, samples"
    ROWS = ItemTable(
        "layers",
        "#=index, layer=short, op, precision, low:.5g, high:.5g, scale:.5g, zero=zero_point:d, SNR dB=noise:.1f",
        left=4,
    )
    NOTES = "warnings, notes, reasons"
    JSON = (
        "model, format, precision, bytes=data!n, samples, available, methods, inputs, outputs, layers, warnings, notes"
    )

    model: str
    """Model file name, or a description of the model object."""
    format: str
    """The format of the float model."""
    precision: str
    """Requested precision."""
    data: bytes
    """Contents of the `.tflite` file."""
    graph: Graph
    """Quantized graph."""
    float_graph: Graph
    """The float model in normal form."""
    layers: tuple[QuantizedLayer, ...]
    """Reports of the layers."""
    inputs: list[Edge]
    """Inputs of the quantized model."""
    outputs: list[Edge]
    """Outputs of the quantized model."""
    samples: int
    """Number of calibration samples used; 0 for none or random ones."""
    methods: Methods
    """Quantization methods that were used."""
    warnings: tuple[str, ...]
    """Warnings about the model and the data."""
    available: int = 0
    """Number of calibration samples available; 0 if all were used."""
    notes: tuple[str, ...] = ()
    """Notes on how the file differs from the model."""

    @cached_property
    def source(self) -> Source:
        """The model as `mote.compile` and the other functions take it."""
        return Source(str(Path(self.model).with_suffix(".tflite")), Format.TFLITE, self.data)

    def write(self, path: str | Path) -> None:
        """Writes the file atomically; replaces an existing `.tflite` file."""
        write_file(str(path), self.data, IDENTIFIER, IDENTIFIER_AT)

    @property
    def reasons(self) -> list[str]:
        """Which layers have another precision than was asked for, and why."""
        return [f"layer {x.index} {x.op} '{x.short}' is {x.precision}: {x.reason}" for x in self.layers if x.reason]

    def _parts(self) -> list[str]:
        return [*super()._parts(), edge_table(self.inputs, self.outputs)]

    def json(self) -> dict[str, Any]:
        """All fields but the file and the graphs as JSON types."""
        return super().json() | {"available": self.available or self.samples}


class QuantizeOptions(ReadKeywords, total=False):
    """Keyword arguments of `mote.quantize`: those for reading the model and the fields of `QuantizationPlan` and
    `Methods`."""

    precision: str
    layers: Mapping[int, str] | None
    calibration: str
    equalize: bool
    correct_biases: bool
    rounding: str
    io: str
    random_calibration: bool
    edges: str
    inputs: str
    samples: int


@dataclass(frozen=True, kw_only=True)
class QuantizationPlan:
    """Precisions, input and output types, and calibration data options of `mote.quantize`."""

    precision: str = Precision.INT8
    layers: Mapping[int, str] | None = None
    """Precisions of individual layers by layer number."""
    io: str = "int8"
    random_calibration: bool = False
    edges: str = EDGES[0]
    inputs: str = ""
    """Names of the data's arrays or columns that are inputs; empty for all but labels."""
    samples: int = MOST_SAMPLES

    @property
    def scheme(self) -> Scheme:
        """Precisions of all layers."""
        return scheme_of(self.precision, self.layers)


@explaining()
def post_training(
    model: Any, data: Any = None, *, example_inputs: Any = None, say: Say = silent, **options: Unpack[QuantizeOptions]
) -> Quantized:
    """Quantize a float model, given as to `compile`: `post_training(model, samples).write("model.tflite")`.

    `data` is what `mote.frontends.data.dataset` takes (`inputs` are its arrays or columns that are inputs); a few
    hundred typical inputs are enough. `precision` is that of all layers but those that `layers` names by their numbers
    in the report. `samples`: take at most this many of the data, evenly spread (0: all). With `random_calibration`
    instead of data the file has the right size, and no accuracy that means anything. `calibration`, `equalize`,
    `correct_biases` and `rounding` are the methods (`mote quantize --help`), `io` is the type of the file's inputs and
    outputs (int8, float32), `edges` their layout; `shapes`, `signature` and `constants` say how the model is read, as
    to `compile`. `say` is a callback for progress."""
    plan, others = recorded(QuantizationPlan, options, QuantizeOptions.__annotations__)
    methods, others = recorded(Methods, others, QuantizeOptions.__annotations__)
    scheme = plan.scheme
    check_at_least("samples", plan.samples, 0)
    source = source_of(model, **reading(**others), edges=plan.edges, example_inputs=example_inputs)
    with naming(source.where):
        model_read = read(source)
        graph = checked(model_read.graph(), scheme)
        if plan.random_calibration:
            methods = replace(methods, equalize=False, correct_biases=False, rounding="nearest")
            samples = None
        else:
            samples = _calibration_data(data, plan)
        cases = stimuli(graph, RANDOM_CASES, 0) if plan.random_calibration else samples.cases(graph) if samples else []
        data_warnings = () if samples is None else scale_warnings(model_read.graph(), samples)
        result = _result(graph, _calibrated(graph, cases, plan.samples), scheme, methods, plan.io, say)
        file = written(
            source,
            result,
            scheme,
            (*model_read.warnings, *data_warnings),
            random=plan.random_calibration,
            preprocess=(samples.steps if samples else "") or model_read.preprocess,
        )
        return replace(file, available=0 if plan.random_calibration else len(cases))


def _calibration_data(data: Any, plan: QuantizationPlan) -> Dataset | None:
    """Opens the calibration data; None if no layer needs any."""
    if data is not None:
        return dataset(data, inputs=plan.inputs)
    if any(p.integer for p in (plan.scheme.default, *plan.scheme.layers.values())):
        raise MoteError(
            "there is no calibration data, so that the ranges of activations are unknown",
            remedy="give a few hundred typical inputs (--data); with --random-calibration only the size of the file"
            " means something",
        )
    return None


def quantized_graph(graph: Graph, cases: Sequence[Mapping[int, Array]]) -> Graph:
    """The int8 graph that `post_training` makes of a float graph with default options and this calibration data."""
    scheme = scheme_of(Precision.INT8)
    normalized = checked(graph, scheme)
    chosen = _calibrated(normalized, cases, MOST_SAMPLES)
    return _result(normalized, chosen, scheme, Methods(), "int8", silent).integers.graph


def written(
    source: Source,
    result: QuantizationResult,
    scheme: Scheme,
    warnings: Sequence[str],
    *,
    random: bool = False,
    preprocess: str = "",
) -> Quantized:
    """Exports a quantization result as a `.tflite` file. `random`: calibration data was random; `preprocess`:
    preprocessing steps of the calibration data, stored in the file's metadata."""
    graph, given = result.integers.graph, result.prepared
    exported = export(graph, source.where, RANDOM if random else "", preprocess)
    return Quantized(
        model=source.where,
        format=source.format,
        precision=scheme.default,
        data=exported.data,
        graph=graph,
        float_graph=given.exact,
        layers=_layers(result, [] if random else given.cases),
        inputs=edges_of(graph, graph.inputs),
        outputs=edges_of(graph, graph.outputs),
        samples=0 if random else len(given.cases),
        methods=given.methods,
        warnings=(*warnings, *([RANDOM] if random else [])),
        notes=tuple(differences(given.exact)),
    )


def scheme_of(precision: str, layers: Mapping[int, str] | None = None) -> Scheme:
    """Parses the precisions that users name, for all layers and for some by number."""
    return Scheme(_precision(precision), {i: _precision(p) for i, p in (layers or {}).items()})


def spread(cases: Sequence[Mapping[int, Array]], most: int) -> Sequence[Mapping[int, Array]]:
    """At most `most` samples (0: all), evenly spaced, since data may be sorted by class."""
    if not most or len(cases) <= most:
        return cases
    return [cases[i] for i in np.linspace(0, len(cases) - 1, most).round().astype(int)]


def _calibrated(graph: Graph, cases: Sequence[Mapping[int, Array]], most: int) -> Sequence[Mapping[int, Array]]:
    """At most `most` calibration samples: the first ones of a stream, else evenly spaced ones."""
    return cases[:most] if most and is_stream(graph) else spread(cases, most)


def _precision(text: str) -> Precision:
    known = [p.value for p in Precision]
    if text not in known:
        remedy = f"{did_you_mean(text, known)}known are {', '.join(known)}"
        raise MoteError(f"'{text}' is no precision", where="option precision", remedy=remedy)
    return Precision(text)


def checked(graph: Graph, scheme: Scheme) -> Graph:
    """The model in normal form; raises an error if it cannot be quantized."""
    for op in graph.ops:
        if (dtype := _quantized_type(graph, op)) is not None:
            raise MoteError(
                f"the model is quantized already: it has {dtype} numbers",
                where=op.where,
                remedy="quantize the float model that it was made from",
            )
    normalized = normal(graph)
    unknown = [i for i in scheme.layers if i not in {op.index for op in normalized.ops}]
    if unknown:
        remedy = "the report numbers the layers"
        raise MoteError(f"there is no layer {unknown[0]}", where="option layers", remedy=remedy)
    return normalized


def _quantized_type(graph: Graph, op: Op) -> DType | None:
    """Integer type of an operator's quantized input, output or weights; None if it is float."""
    tensors = [graph.tensors[t] for t in (*op.inputs, *op.outputs) if t != ABSENT]
    if isinstance(op, BlockwiseFullyConnected | BlockwiseLookup):
        return op.input(graph, 1).dtype
    return next((t.dtype for t in tensors if t.quant is not None and t.dtype in INTEGERS), None)


def _result(
    graph: Graph, cases: Sequence[Mapping[int, Array]], scheme: Scheme, methods: Methods, io: str, say: Say
) -> QuantizationResult:
    calibrated = prepared(graph, cases, methods, scheme.default, counted(say, "calibrating"))
    say("choosing integers...")
    result = finished(calibrated, scheme, io=io, done=counted(say, "rounding the weights of layers"))
    precisions = result.integers.precisions
    gained = [op for op in graph.ops if precisions.get(op.index, Precision.FLOAT32) is not Precision.FLOAT32]
    if not any(op.macs(graph) or precisions[op.index] is Precision.FLOAT16 for op in gained):
        kinds = ", ".join(sorted({op.kind for op in graph.ops})) or "no layers at all"
        raise MoteError(
            f"there is nothing to quantize: no layer with weights among {kinds}", remedy="compile the model as it is"
        )
    return result


def _layers(result: QuantizationResult, cases: Sequence[Mapping[int, Array]]) -> tuple[QuantizedLayer, ...]:
    exact, quantized, ranges = result.prepared.exact, result.integers, result.prepared.ranges
    noise = signal_to_noise(exact, quantized.graph, _calibrated(exact, cases, MOST_COMPARED)) if cases else {}
    layers = []
    for op in exact.ops:
        t = op.outputs[0]
        low, high = ranges.get(t, (None, None)) if is_real(exact, t) else (None, None)
        quant = quantized.graph.tensors[t].quant if t in quantized.graph.tensors else None
        decibels = noise.get(t)
        layers.append(
            QuantizedLayer(
                index=op.index,
                name=op.name or exact.tensors[t].name,
                op=op.kind,
                precision=quantized.precisions.get(op.index, exact.tensors[t].dtype),
                reason=quantized.refused.get(op.index, ""),
                low=low,
                high=high,
                scale=None if quant is None else float(quant.scale[0]),
                zero_point=None if quant is None else int(quant.zero_point[0]),
                noise=decibels if decibels is not None and isfinite(decibels) else None,
                short=exact.short_name(op),
            )
        )
    return tuple(layers)
