"""The plan as a graph: layers and the tensors between them, folded into blocks where there are many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from mote.bench.evaluation.inferences import as_taken, posed
from mote.compiler.plan.plan import Plan, Step
from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.io_order import model_shape
from mote.ir.graph.types import Activation, DType
from mote.ir.ops.common import Axis
from mote.ir.ops.control.control_flow import Control, If
from mote.ui.reporter.blocks import DrawnNode, FoldedBlock, Part, blocks
from mote.ui.reporter.section import Section
from mote.ui.reporter.subject import LayerWork, PlannedLayer, Subject, Subjects, members
from mote.ui.reporter.values import activations, channel_ranges, histogram, rounded

SAMPLES = 32
"""Samples that activations are shown of."""
ELEMENTS = 1 << 25
"""Most elements of activations that are looked at, in all samples."""
WORK = 10**9
"""Most multiplications of the NumPy reference for them: about two seconds."""


def graph(subject: Subject) -> dict[str, Any]:
    """Nodes in the order in which they run, edges by the tensors that they hand on, blocks, and what each layer is."""
    plan = subject.compiled.plan
    layers = subject.works
    drawn = _drawn(plan.graph, [({"layer": layer.number}, op) for layer, op, _ in layers])
    return {
        "nodes": drawn.what,
        "edges": [list(edge) for edge in drawn.edges],
        "parts": _json(blocks(drawn.nodes)),
        "layers": {layer.number: _layer(plan, layer, op, steps) for layer, op, steps in layers},
        "tensors": {str(t): _tensor(plan.graph, t) for t in sorted(_shown(plan.graph, layers))},
        "unit": subject.compiled.costs.unit,
    }


def values(subjects: Subjects) -> dict[str, Any]:
    """Histograms of constants, and of activations where there is data: by tensors, which all targets have in common."""
    constants: dict[int, Any] = {}
    for subject in subjects.targets:
        g = subject.compiled.plan.graph
        for _, op, _ in subject.works:
            for member in members(op):
                for position, t in enumerate(member.inputs):
                    if t != ABSENT and g.tensors[t].data is not None and t not in constants:
                        constants[t] = _constant(g.tensors[t], member, position)
    samples, seen = _activations(subjects)
    return {
        "constants": {str(t): known for t, known in constants.items() if known},
        "activations": {str(t): known for t, known in seen.items()},
        "samples": samples,
    }


class _Drawn:
    """The nodes of a drawing in the order in which they run, and the edges between them."""

    def __init__(self) -> None:
        self.nodes: list[DrawnNode] = []
        self.what: list[dict[str, Any]] = []
        self.edges: list[tuple[int, int, int]] = []
        """From a node, to a node, and the tensor."""
        self.maker: dict[int, int] = {}

    def add(self, what: dict[str, Any], kind: str, reads: Iterable[tuple[int, int]], made: Iterable[Tensor]) -> None:
        """Adds a node that reads tensors (of whom, and which), and makes some."""
        place, reads = len(self.nodes), list(dict.fromkeys(reads))
        tensors = list(made)
        size = tuple(tensors[0].shape[1:-1]) if tensors else ()
        self.nodes.append(DrawnNode(kind, tuple(dict.fromkeys(source for source, _ in reads)), size))
        self.what.append(what)
        self.edges += [(source, place, t) for source, t in reads]
        self.maker |= {t.id: place for t in tensors}


def _drawn(g: Graph, works: Iterable[tuple[dict[str, Any], Op]]) -> _Drawn:
    """Operators of a graph by what they are called, each input before its first reader, and each output behind its
    operator."""
    drawn, views = _Drawn(), {op.outputs[0]: op.inputs[0] for op in g.ops if op.is_view}

    def source(t: int) -> int:
        while t not in drawn.maker and t in views:
            t = views[t]
        return t

    def add_input(t: int) -> None:
        drawn.add({"input": t}, "", (), [g.tensors[t]])

    def add_output(t: int) -> None:
        drawn.add({"output": t}, "", [(drawn.maker[source(t)], t)], ())

    waiting = list(g.outputs)
    for what, op in works:
        read = [t for t in op.inputs if t != ABSENT]
        for t in map(source, read):
            if t in g.inputs and t not in drawn.maker:
                add_input(t)
        reads = [(drawn.maker[source(t)], t) for t in read if source(t) in drawn.maker]
        drawn.add(what, op.kind, reads, [g.tensors[t] for t in op.outputs])
        for t in [t for t in waiting if source(t) in drawn.maker]:
            add_output(t)
            waiting.remove(t)
    for t in g.inputs:
        if t not in drawn.maker:
            add_input(t)
    for t in waiting:
        if source(t) in drawn.maker:
            add_output(t)
    return drawn


def _json(parts: Iterable[Part]) -> list[Any]:
    return [
        {"title": part.title, "parts": _json(part.parts)} if isinstance(part, FoldedBlock) else part for part in parts
    ]


def _layer(plan: Plan, layer: PlannedLayer, op: Op, steps: tuple[Step, ...]) -> dict[str, Any]:
    g = plan.graph
    return {
        "operators": [_operator(g, member) for member in members(op)],
        "runs": str(plan.runs(steps)),
        "steps": len(steps),
        "family": steps[0].kernel.family or steps[0].kernel.name,
        "options": [
            [o.kernel, o.family, o.cost, o.constants, o.scratch, int(o.chosen), o.why]
            for o in plan.choices.get(steps[0].ops, ())
        ],
        "bodies": [body for member in members(op) if isinstance(member, Control) for body in _bodies(member)],
    }


def _bodies(op: Control) -> Iterator[dict[str, Any]]:
    """The graphs that an operator of control flow runs: their operators, inputs and outputs, and the edges between."""
    titles = ("then", "else") if isinstance(op, If) else ("condition", "body")
    for title, body in zip(titles[-len(op.bodies) :], op.bodies, strict=True):
        inner = [member for member in body.ops if not member.is_view]
        drawn = _drawn(body, [(_operator(body, member), member) for member in inner])
        nodes = [what if "kind" in what else _end(body, what) for what in drawn.what]
        yield {"title": title, "nodes": nodes, "edges": [[a, b] for a, b, _ in drawn.edges]}


def _end(g: Graph, what: Mapping[str, int]) -> dict[str, Any]:
    """An input or output of a body."""
    ((kind, t),) = what.items()
    return {"kind": kind.capitalize(), "shape": list(model_shape(g.tensors[t]))}


def _operator(g: Graph, op: Op) -> dict[str, Any]:
    return {
        "kind": op.kind,
        "name": op.name,
        "attributes": dict(_attributes(op)),
        "inputs": [t for t in op.inputs if t != ABSENT],
        "outputs": list(op.outputs),
        "shape": list(model_shape(g.tensors[op.outputs[0]])) if op.outputs else [],
    }


def _attributes(op: Op) -> Iterator[tuple[str, str]]:
    """Attributes of an operator as text, without arrays, graphs and those that are not set."""
    attributes = op.attributes()
    sides = [attributes.pop(name, None) for name in ("vertical", "horizontal")]
    if isinstance(sides[0], Axis) and isinstance(sides[1], Axis):
        yield from _window(*sides)
    for name, value in attributes.items():
        text = _text(value)
        if text and value is not Activation.NONE:
            yield name.replace("_", " "), text


def _window(y: Axis, x: Axis) -> Iterator[tuple[str, str]]:
    """The window of a convolution or pooling: height by width."""
    yield "window", f"{y.kernel}x{x.kernel}"
    yield "stride", f"{y.stride}x{x.stride}"
    if (y.dilation, x.dilation) != (1, 1):
        yield "dilation", f"{y.dilation}x{x.dilation}"
    if any((y.before, y.after, x.before, x.after)):
        yield "padding", f"top {y.before}, bottom {y.after}, left {x.before}, right {x.after}"


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, int | float | str):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type | Graph | Op):
        parts = ((f.name.replace("_", " "), _text(getattr(value, f.name))) for f in fields(value))
        return ", ".join(f"{name} {text}" for name, text in parts if text)
    if isinstance(value, tuple) and len(value) <= 16:
        texts = [_text(part) or "0" for part in value if isinstance(part, int | float | str | tuple)]
        return "(" + ", ".join(texts) + ")" if texts and len(texts) == len(value) else ""
    return ""


def _shown(g: Graph, layers: Sequence[LayerWork]) -> set[int]:
    """The tensors that layers and edges name."""
    ops = [member for _, op, _ in layers for member in members(op)]
    return {*g.inputs, *g.outputs, *(t for op in ops for t in (*op.inputs, *op.outputs) if t != ABSENT)}


def _tensor(g: Graph, number: int) -> dict[str, Any]:
    t = g.tensors[number]
    known: dict[str, Any] = {"name": t.name, "shape": list(model_shape(t)), "type": str(t.stored or t.dtype)}
    if t.data is not None:
        known["constant"] = t.nbytes
    if any(number in (s.before, s.after) for s in g.states):
        known["state"] = True
    if t.quant is not None:
        scales = [float(s) for s in (t.quant.scale.min(), t.quant.scale.max())]
        known["scale"] = [rounded(float(f"{s:.6g}")) for s in dict.fromkeys(scales)]
        known["zero"] = sorted({int(z) for z in t.quant.zero_point})[:3]
        known["scales"] = int(t.quant.scale.size)
    return known


def _constant(t: Tensor, op: Op, position: int) -> dict[str, Any] | None:
    """The distribution of a constant; None of one that has nothing to see."""
    if t.data is None or t.size < 2 or t.dtype in (DType.BOOL, DType.COMPLEX64):
        return None
    known: dict[str, Any] = {"histogram": histogram(t, t.data).json(), "count": t.size}
    if position == op.weights and t.shape:
        axis = t.quant.axis if t.quant is not None and t.quant.per_channel else 0
        known["channels"], known["ranges"] = t.shape[axis], channel_ranges(t, axis)
    known["zeros"] = rounded(float((t.data == (t.zero_point if t.quant is not None else 0)).mean()))
    return known


def _activations(subjects: Subjects) -> tuple[int, Mapping[int, Any]]:
    """Distributions of activations, computed by the NumPy reference, and on how many samples."""
    if subjects.data is None:
        return 0, {}
    compiled = subjects.first.compiled
    g = compiled.plan.graph
    questions = posed(g, as_taken(g, subjects.data), axis=compiled.settings.stream)
    elements = sum(g.tensors[t].size for t in g.producers)
    chosen = questions.some(max(1, min(SAMPLES, ELEMENTS // max(elements, 1), WORK // max(g.work, 1))))
    return len(chosen), activations(g, [questions.cases[i] for i in chosen])


SECTION = Section("graph", "Graph", each=graph, whole=values, scripts=("layout",))
