"""Quantization-aware training: `mote.quantize.prepare`, `train` and `convert`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mote.base.errors import MoteError, explaining, naming
from mote.bench.evaluation.converter import differences
from mote.bench.execute.torch.module import GraphModule
from mote.compiler.options.parsing import check_at_least
from mote.frontends import EDGES, Source, read, source_of
from mote.frontends.data.dataset import dataset
from mote.frontends.reading import reading
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.optimize.compress.quantize import pipeline
from mote.optimize.compress.quantize.pipeline import Methods, QuantizationResult
from mote.optimize.compress.quantize.post_training import MOST_SAMPLES, Quantized, checked, scheme_of, spread, written
from mote.optimize.compress.quantize.quantizer import IO, Integers
from mote.optimize.compress.quantize.types.precision import Precision, Scheme
from mote.optimize.compress.quantize_aware.aware import AwareModule
from mote.optimize.compress.quantize_aware.prepared import Prepared
from mote.optimize.train import training
from mote.optimize.train.training import Augment, Progress, Recipe

RATE = 3e-3
"""Default learning rate, relative to the magnitude of weights."""


@dataclass(frozen=True, eq=False)
class Origin:
    """The source model of a prepared one, with its calibration."""

    source: Source
    warnings: tuple[str, ...]
    given: pipeline.CalibratedModel
    """Calibration results, with the float graph before training."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Origin:
        """Copies of a prepared model share this object."""
        return self


@explaining()
def prepare(
    model: Any,
    example_inputs: Any = None,
    data: Any = None,
    *,
    precision: str = Precision.INT8,
    layers: Mapping[int, str] | None = None,
    method: str = Methods.calibration,
    equalize: bool = Methods.equalize,
    correct_biases: bool = Methods.correct_biases,
    rounding: str = "adaptive",
    io: str = "int8",
    shapes: Mapping[str, Sequence[int]] | Sequence[str] = (),
    signature: str = "",
    constants: Mapping[str, Any] | Sequence[str] = (),
    edges: str = EDGES[0],
    inputs: str = "",
    samples: int = MOST_SAMPLES,
) -> Prepared:
    """A PyTorch module that is bit-exact with the quantized model and can be trained.

    `model` is a PyTorch module (exported with `example_inputs`) or any other float model that `mote.compile` takes;
    `data` is calibration data, of which `samples` evenly spaced ones are used. The result has the model's inputs and
    outputs and starts from the integers of `post_training` with the same options. Train it with `train` or any other
    loop, then `convert` it. Zero weights stay zero."""
    check_at_least("samples", samples, 1)
    methods = Methods(method, equalize, correct_biases, rounding)
    source = source_of(model, **reading(shapes, signature, constants), edges=edges, example_inputs=example_inputs)
    scheme = scheme_of(precision, layers)
    with naming(source.where):
        model_read = read(source)
        graph = checked(model_read.graph(), scheme)
        if data is None:
            raise MoteError(
                "there is no calibration data, so that the ranges of activations are unknown",
                remedy="give a few hundred typical inputs: data=...",
            )
        cases = spread(dataset(data, inputs=inputs).cases(graph), samples)
        return prepare_graph(graph, cases, source, scheme, methods, io, warnings=model_read.warnings)


def prepare_graph(
    graph: Graph,
    cases: Sequence[Mapping[int, Array]],
    source: Source,
    scheme: Scheme,
    methods: Methods,
    io: str = IO[0],
    *,
    warnings: Sequence[str] = (),
) -> Prepared:
    """Prepares a float graph in normal form, given its source and calibration samples."""
    given = pipeline.prepared(graph, cases, methods, scheme.default)
    aware = AwareModule(given.exact, given.ranges, scheme, io, wide=given.wide)
    _keep_zeros(aware.real)
    if methods.correct_biases or methods.rounding == "adaptive":
        aware.begin_with(pipeline.finished(given, scheme).integers)
    return Prepared(aware, Origin(source, (*warnings, *differences(graph)), given)).eval()


def _keep_zeros(module: GraphModule) -> None:
    """Masks zero weights so that they stay zero in training."""
    graph = module.source
    weights = {op.inputs[1] for op in graph.ops if op.macs(graph) and str(op.inputs[1]) in module.constants}
    for i in weights:
        data = graph.tensors[i].data
        if data is not None and data.any() and not data.all():
            module.mask(i, data != 0)


@explaining()
def train(
    prepared: Prepared,
    data: Any,
    *,
    epochs: int = Recipe.epochs,
    batch: int = Recipe.batch,
    rate: float = RATE,
    optimizer: str = Recipe.optimizer,
    decay: float = Recipe.decay,
    distill: bool = False,
    temperature: float = Recipe.temperature,
    recalibrate: bool = True,
    augment: Augment | None = None,
    device: str = "auto",
    seed: int = Recipe.seed,
    progress: Progress | None = None,
    inputs: str = "",
    labels: str = "",
) -> None:
    """Train a prepared model in place, with labelled data, by distillation from the float model (`distill`), or both.

    Integer labels are classes, float labels regression targets. `rate` is in proportion to the size of each
    layer's weights: see `Recipe`. `recalibrate`: when half of the epochs are over, the ranges of activations are
    measured once more on the calibration data; then they stay. `augment` transforms batches of channels-last inputs.
    `progress(epoch, epochs, loss)` is called after each epoch."""
    origin = _origin(prepared)
    samples = dataset(data, inputs=inputs, labels=labels)
    recipe = Recipe(epochs, batch, rate, optimizer, decay, temperature, seed, relative=True)
    with naming(origin.source.where):
        training.train(
            prepared.aware,
            samples,
            recipe,
            teacher=GraphModule(origin.given.exact) if distill else None,
            augment=augment,
            device=device,
            progress=recalibrating(prepared, progress) if recalibrate else progress,
        )


def recalibrating(prepared: Prepared, progress: Progress | None = None) -> Progress:
    """Wraps a progress callback so that activation ranges are recalibrated after half of the epochs."""
    origin = _origin(prepared)

    def between(epoch: int, epochs: int, loss: float) -> None:
        if epoch == epochs - epochs // 2 and epoch < epochs:
            _recalibrate(prepared, origin)
        if progress is not None:
            progress(epoch, epochs, loss)

    return between


def _recalibrate(prepared: Prepared, origin: Origin) -> None:
    """Recalibrates activation ranges with the current weights."""
    aware, methods = prepared.aware, replace(origin.given.methods, equalize=False)
    calibrated = pipeline.prepared(aware.graph(), origin.given.cases, methods, aware.scheme.default)
    aware.set_ranges(calibrated.ranges, calibrated.wide)


@explaining()
def convert(prepared: Prepared) -> Quantized:
    """Converts a prepared model to a `.tflite` file, bit-exact with the prepared one."""
    origin, aware = _origin(prepared), prepared.aware
    with naming(origin.source.where):
        calibrated = replace(origin.given, exact=aware.graph(), ranges=aware.ranges, wide=aware.wide)
        quantized = replace(aware.integers, graph=aware.integer_graph().verify())
        _check(quantized)
        return written(origin.source, QuantizationResult(calibrated, quantized), aware.scheme, origin.warnings)


def _check(quantized: Integers) -> None:
    """Raises an error for weight scales that no kernel supports."""
    for op in quantized.whole.values():
        if problem := op.unsupported(quantized.graph):
            remedy = "train with a lower rate, or prepare the model with more calibration data"
            raise MoteError(f"after training it cannot be computed: {problem}", where=op.where, remedy=remedy)


def _origin(prepared: Any) -> Origin:
    origin = getattr(prepared, "origin", None)
    if not isinstance(origin, Origin):
        remedy = "give what mote.quantize.prepare gave"
        raise MoteError(f"a {type(prepared).__name__} is no prepared model", remedy=remedy)
    return origin
