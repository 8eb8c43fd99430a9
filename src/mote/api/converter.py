"""`mote convert`: a model of any format as a `.tflite` file, and the check that LiteRT computes the same with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mote.api import reference
from mote.api.options import check_at_least, parsed
from mote.api.stimuli import stimuli
from mote.api.verifier import Judge, Mismatch
from mote.errors import MoteError, explaining, naming
from mote.files import write_file
from mote.frontends import EDGES, Format, Source, read, source_of
from mote.frontends.tflite.export import Exported, export
from mote.frontends.tflite.schema import IDENTIFIER
from mote.graph import Graph
from mote.graph.tensor import Shape
from mote.ops.common import ROUNDED_INPUTS

IDENTIFIER_AT = 4
"""Where a `.tflite` file says that it is one."""


@dataclass(frozen=True)
class Check:
    """What LiteRT computed with the new file, tensor by tensor, on so many inputs."""

    reference: str
    """What its results were compared with."""
    inputs: int
    tensors: int
    passed: bool
    """Integers are equal, and floating point within what roundings explain."""
    exact: bool
    """Everything is equal bit for bit."""
    max_abs_diff: float
    mismatches: list[Mismatch]


@dataclass(frozen=True)
class Edge:
    """An input or output of the file."""

    name: str
    dtype: str
    shape: Shape


@dataclass(frozen=True)
class Converted:
    """A model as a `.tflite` file."""

    model: str
    format: str
    data: bytes
    """The file."""
    inputs: list[Edge]
    outputs: list[Edge]
    operators: int
    warnings: tuple[str, ...]
    """What is odd about the model, and what the file says otherwise than the model does."""
    check: Check | None
    """None: nobody asked for it, or LiteRT is no judge of this model, which a warning then says."""

    def write(self, path: str) -> None:
        """Write the file as a whole; another `.tflite` file that is there is replaced."""
        write_file(path, self.data, IDENTIFIER, IDENTIFIER_AT)

    def json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "data"} | {"bytes": len(self.data)}


@explaining()
def convert(
    model: Any,
    *,
    example_inputs: Any = None,
    shapes: Mapping[str, Sequence[int]] | Sequence[str] = (),
    edges: str = EDGES[0],
    verify: bool = True,
    inputs: int = 8,
    seed: int = 0,
) -> Converted:
    """What Mote reads of a model, given as to `compile`, as a `.tflite` file: `convert(model).write("model.tflite")`.
    With `verify` LiteRT runs the file on so many inputs, and every tensor that the model has too is compared."""
    check_at_least("inputs", inputs, 1)
    check_at_least("seed", seed, 0)
    wanted = parsed({"shapes": shapes})["shapes"]
    source = source_of(model, shapes=wanted, edges=edges, example_inputs=example_inputs)
    with naming(source.where):
        found = read(source)
        graph = found.graph()
        exported = export(graph, source.where)
        warnings = list(found.warnings)
        check = None
        if verify:
            mistakes = _mistakes(graph)
            warnings += [f"not compared with LiteRT: {mistakes}"] if mistakes else []
            check = None if mistakes else _checked(source, graph, exported, inputs, seed)
    return Converted(
        model=source.where,
        format=source.format,
        data=exported.data,
        inputs=_listed(graph, graph.inputs),
        outputs=_listed(graph, graph.outputs),
        operators=exported.operators,
        warnings=tuple(warnings),
        check=check,
    )


def _listed(graph: Graph, ids: Sequence[int]) -> list[Edge]:
    return [Edge(t.name, t.dtype, t.shape) for t in (graph.tensors[i] for i in ids)]


def _mistakes(graph: Graph) -> str:
    """What LiteRT computes wrongly in a model, or lacks. It rounds nothing to 8 bits here: weights that it would do
    that for are written as real numbers."""
    reasons = (op.misjudged(graph) for op in graph.ops)
    return ", ".join(dict.fromkeys(reason for reason in reasons if reason and reason != ROUNDED_INPUTS))


def _checked(source: Source, graph: Graph, exported: Exported, inputs: int, seed: int) -> Check:
    if not reference.litert_installed():
        raise MoteError(
            "LiteRT is not installed, so that nobody can say whether the file is right",
            remedy="pip install 'moteml[reference]', or convert without the check (--no-verify)",
        )
    written = reference.litert(exported.data)
    litert = source.format == Format.TFLITE
    wanted = reference.litert(source.data) if litert else reference.numpy(graph)
    magnitudes = reference.magnitudes(graph)
    compared = [t for t in graph.producers if t in exported.tensors and not graph.tensors[t].inner]
    judge, cases = Judge(), stimuli(graph, inputs, seed)
    for number, case in enumerate(cases):
        given = {exported.tensors[t]: value for t, value in case.items()}
        got, want, sizes = written(given), wanted(case), magnitudes(case)
        assert got is not None and want is not None
        for t in compared:
            tensor, op = graph.tensors[t], graph.producers[t]
            if (litert and tensor.source not in want) or exported.tensors[t] not in got:
                continue
            expected = tensor.part(want[tensor.source] if litert else want[t]).reshape(tensor.shape)
            found = tensor.part(got[exported.tensors[t]]).reshape(tensor.shape)
            judge.compare(tensor, "", op.kind, number, found, expected, sizes.get(t, 0.0))
    return Check(
        reference="the file that was read" if litert else f"what Mote's reference computes of the {source.title} model",
        inputs=len(cases),
        tensors=len(compared),
        passed=not judge.mismatches,
        exact=not judge.mismatches and judge.worst == 0,
        max_abs_diff=judge.worst,
        mismatches=judge.mismatches,
    )
