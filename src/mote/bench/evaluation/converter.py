"""`mote convert`: converts a model of any format to a `.tflite` file and verifies it with LiteRT."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mote.base.errors import MoteError, explaining, naming
from mote.base.extras import installing
from mote.base.files import write_file
from mote.base.notebook import table
from mote.base.results import Result
from mote.bench.evaluation.verify import Judge, Mismatch
from mote.bench.execute import reference
from mote.bench.execute.format_references import runtime
from mote.bench.execute.stimuli import stimuli
from mote.compiler.options.parsing import check_at_least
from mote.frontends import EDGES, Format, Source, read, source_of
from mote.frontends.reading import reading
from mote.frontends.tflite.export import Exported, export
from mote.frontends.tflite.file.schema import IDENTIFIER, IDENTIFIER_AT
from mote.frontends.tflite.rounding import as_litert_rounds
from mote.ir.graph import Graph, Tensor
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.io_order import model_shape
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.tolerance import compare
from mote.ir.graph.types import DType
from mote.ir.ops.common import ROUNDED_INPUTS

LACKING = "no reference kernel"
NONE_SUCH = "LiteRT has no such operator"
"""Reason that operators without a reference kernel in LiteRT state."""


@dataclass(frozen=True)
class Check:
    """Comparison of LiteRT's results on the new file with a reference, tensor by tensor."""

    reference: str
    """Name of the reference."""
    inputs: int
    """Number of inputs."""
    tensors: int
    """Number of tensors compared on each input."""
    passed: bool
    """Whether integers are equal, and floats within rounding tolerance."""
    exact: bool
    """Whether everything is bit-exact."""
    max_abs_diff: float
    """Largest element difference."""
    mismatches: list[Mismatch]
    """Tensors that differ."""


@dataclass(frozen=True)
class Edge:
    """An input or output of the file."""

    name: str
    """The name."""
    dtype: str
    """The element type."""
    shape: Shape
    """The shape."""


def edge_table(inputs: Sequence[Edge], outputs: Sequence[Edge]) -> str:
    """Inputs and outputs of a file as HTML."""
    named = [*(("input", x) for x in inputs), *(("output", x) for x in outputs)]
    rows = [(what, x.name, x.dtype, "x".join(map(str, x.shape)) or "scalar") for what, x in named]
    return table(("", "name", "type", "shape"), rows, left=4)


@dataclass(frozen=True)
class Converted(Result):
    """A model as a `.tflite` file."""

    TITLE = "{model}"
    FACTS = "file=data!n:size, operators, bit-exact=check.exact"
    NOTES = "warnings, notes"
    JSON = "model, format, inputs, outputs, operators, warnings, notes, check, bytes=data!n"

    model: str
    """Model file name, or a description of the model object."""
    format: str
    """The format of the model."""
    data: bytes = field(repr=False)
    """Contents of the `.tflite` file."""
    inputs: list[Edge]
    """The inputs of the file."""
    outputs: list[Edge]
    """The outputs of the file."""
    operators: int
    """Number of operators in the file."""
    warnings: tuple[str, ...]
    """Warnings about the model."""
    notes: tuple[str, ...]
    """Differences between file and model, and why they were not compared if so."""
    check: Check | None
    """Comparison with LiteRT; None if not requested or if LiteRT cannot run the model (see `notes`)."""

    def __repr__(self) -> str:
        checked = "not checked" if self.check is None else "checked" if self.check.passed else "DIFFERENT"
        return f"<Converted {self.model!r}: {self.operators} operators, {len(self.data):,} bytes, {checked}>"

    def write(self, path: str | Path) -> None:
        """Writes the file atomically; replaces an existing `.tflite` file."""
        write_file(str(path), self.data, IDENTIFIER, IDENTIFIER_AT)

    def _parts(self) -> list[str]:
        return [edge_table(self.inputs, self.outputs)]


@explaining()
def convert(
    model: Any,
    *,
    example_inputs: Any = None,
    shapes: Mapping[str, Sequence[int]] | Sequence[str] = (),
    signature: str = "",
    constants: Mapping[str, Any] | Sequence[str] = (),
    edges: str = EDGES[0],
    verify: bool = True,
    inputs: int = 8,
    seed: int = 0,
) -> Converted:
    """Converts a model, given as to `compile`, to a `.tflite` file: `convert(model).write("model.tflite")`. With
    `verify`, LiteRT runs the file on `inputs` random inputs, and every tensor that the model also has is compared."""
    check_at_least("inputs", inputs, 1)
    check_at_least("seed", seed, 0)
    source = source_of(model, **reading(shapes, signature, constants), edges=edges, example_inputs=example_inputs)
    with naming(source.where):
        model_read = read(source)
        own = model_read.graph()
        graph, rounded = (own, 0) if source.format == Format.TFLITE else as_litert_rounds(own)
        exported = export(graph, source.where)
        notes = differences(graph, rounded)
        check = None
        mistakes = _mistakes(graph)
        if verify and not all(mistakes.values()):
            notes.append(f"not compared with LiteRT: {', '.join(mistakes)}")
        elif verify:
            _check_installed()
            judge = _judge(source, own, rounded, fast=bool(mistakes))
            check = _checked(judge, graph, exported, inputs, seed)
    return Converted(
        model=source.where,
        format=source.format,
        data=exported.data,
        inputs=edges_of(graph, graph.inputs),
        outputs=edges_of(graph, graph.outputs),
        operators=exported.operators,
        warnings=tuple(model_read.warnings),
        notes=tuple(notes),
        check=check,
    )


def edges_of(graph: Graph, ids: Sequence[int]) -> list[Edge]:
    """Describes tensors as inputs or outputs of the file."""
    return [Edge(t.name, t.dtype, t.shape) for t in (graph.tensors[i] for i in ids)]


def _mistakes(graph: Graph) -> dict[str, bool]:
    """Reasons why operators cannot be compared with LiteRT's reference kernels (wrong or missing), and whether the
    kernel is missing. Excludes weights that LiteRT would quantize dynamically (written as float) and operators that
    TFLite lacks (decomposed)."""
    reasons = {reason: op for op in graph.ops if (reason := op.misjudged(graph))}
    written_out = {ROUNDED_INPUTS, NONE_SUCH, *(f"LiteRT has no {op.kind}" for op in reasons.values())}
    return {reason: LACKING in reason for reason in reasons if reason not in written_out}


def differences(graph: Graph, rounded: int = 0) -> list[str]:
    """Text descriptions of the differences between file and model."""
    texts = []
    for what, ids in (("input", graph.inputs), ("output", graph.outputs)):
        for t in (graph.tensors[i] for i in ids):
            if t.arrangement is not None:
                shapes = ["x".join(map(str, shape)) for shape in (model_shape(t), t.shape)]
                texts.append(f"{what} '{t.name}' is {shapes[0]} in the model and {shapes[1]} in the file")
    if rounded:
        texts.append(
            f"{rounded} layers round halves to even in the model, away from zero in the file: LiteRT's results may be a"
            " step off"
        )
    return texts


@dataclass(frozen=True)
class _Judge:
    """Reference to compare the new file with, by the graph's tensor ids."""

    name: str
    values: reference.Reference | None
    """Computes the reference values; None: evaluate each operator on LiteRT's inputs to it, since floats halfway
    between two steps may be rounded either way."""
    of_file: bool
    """Whether values have the model's layout instead of the graph's."""
    fast: bool
    """Whether LiteRT runs its optimized kernels, as it lacks reference kernels for some layers."""


def _check_installed() -> None:
    if not reference.litert_installed():
        raise MoteError(
            "LiteRT is not installed, so that the file was not verified",
            remedy=f"{installing('reference')}, or convert without the check (--no-verify)",
        )


def _judge(source: Source, own: Graph, rounded: int, *, fast: bool) -> _Judge:
    """Chooses a reference: the original file, the format's own runtime, or Mote's reference with LiteRT's rounding."""
    if source.format == Format.TFLITE:
        return _Judge("the file that was read", reference.litert_of(source, own, fast=fast), True, fast)
    if rounded:
        return _Judge("Mote's operators with LiteRT's rounding, each by itself", None, False, fast)
    values, name = runtime(source, own)
    return _Judge(name, values, True, fast)


def _checked(wanted: _Judge, graph: Graph, exported: Exported, inputs: int, seed: int) -> Check:
    written, magnitudes = reference.litert(exported.data, fast=wanted.fast), reference.magnitudes(graph)
    compared = {t for t in graph.producers if t in exported.tensors and not graph.tensors[t].inner}
    judge, cases, loose = Judge(), stimuli(graph, inputs, seed), _decided(graph)
    for number, case in enumerate(cases):
        values, sizes = written({exported.tensors[t]: value for t, value in case.items()}), magnitudes(case)
        assert values is not None
        got = {t: _stored(graph.tensors[t], values[i]) for t, i in exported.tensors.items() if i in values}
        want = _each_alone(graph, got) if wanted.values is None else wanted.values(case)
        assert want is not None
        compared = {t for t in compared if t in got and _source(graph, wanted, t) in want}
        alone = _each_alone(graph, got) if loose else {}
        for t in sorted(compared):
            tensor, value = graph.tensors[t], want[_source(graph, wanted, t)]
            expected = (tensor.part(value) if wanted.of_file else value).reshape(tensor.shape)
            if t in loose and t in alone and compare(got[t], expected, sizes.get(t, 0.0))[1]:
                expected = alone[t].reshape(tensor.shape)
            judge.compare(tensor, "", graph.producers[t].kind, number, got[t], expected, sizes.get(t, 0.0))
    return Check(
        reference=wanted.name,
        inputs=len(cases),
        tensors=len(compared),
        passed=not judge.mismatches,
        exact=not judge.mismatches and judge.worst == 0,
        max_abs_diff=judge.worst,
        mismatches=judge.mismatches,
    )


def _stored(t: Tensor, value: Array) -> Array:
    """A tensor of the file in the graph's type: uint8 becomes int8 by subtracting 128."""
    signed = value.dtype == np.uint8 and t.dtype == DType.INT8
    return ((value ^ np.uint8(128)).view(np.int8) if signed else value).reshape(t.shape)


def _decided(graph: Graph) -> frozenset[int]:
    """Tensors that depend on a comparison of floats: where these are equal up to rounding either result is right, so
    later operators are evaluated on LiteRT's choice."""
    decided: set[int] = set()
    for op in graph.ops:
        reals = any(t.dtype.real for t in op.activations(graph))
        chooses = reals and any(not graph.tensors[t].dtype.real for t in op.outputs)
        if chooses or decided.intersection(op.inputs):
            decided.update(op.outputs)
    return frozenset(decided)


def _each_alone(graph: Graph, got: Mapping[int, Array]) -> dict[int, Array]:
    """Evaluates each operator on LiteRT's inputs to it; stateful ones are skipped."""
    values: dict[int, Array] = {}
    for op in graph.ops:
        known = [None if i == ABSENT else got.get(i, graph.tensors[i].data) for i in op.inputs]
        if op.updates or op.bodies or any(v is None for v, i in zip(known, op.inputs, strict=True) if i != ABSENT):
            continue
        for t, value in zip(op.outputs, op.evaluate(graph, known), strict=True):
            values[t] = np.asarray(value).astype(graph.tensors[t].dtype.numpy, copy=False)
    return values


def _source(graph: Graph, wanted: _Judge, t: int) -> int:
    return graph.tensors[t].source if wanted.of_file else t
