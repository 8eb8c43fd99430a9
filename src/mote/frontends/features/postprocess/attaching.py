"""Post-processing behind a model: one graph from the model's inputs to a decision."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mote.frontends.features.postprocess.answer import Answer
from mote.frontends.features.postprocess.pipeline import with_postprocessing
from mote.ir.graph import Graph


@dataclass(frozen=True, eq=False)
class BackEnd:
    """Post-processing behind a model."""

    graph: Graph
    """From the tensors of the model that its steps read to the results."""
    whole: Graph
    """The model, and the same behind it."""


def followed(
    model: Graph, steps: str, labels: tuple[str, ...] = (), period: float | None = None, given: int | None = None
) -> BackEnd:
    """A model before its post-processing. `labels` are names of its classes, `period` the seconds from one inference to
    the next, `given` the model's input, where preprocessing is before it."""
    whole = with_postprocessing(Answer.of(model, labels, period, given), steps).graph
    ops, states = whole.ops[len(model.ops) :], whole.states[len(model.states) :]
    own = {t for op in ops for t in op.outputs} | {s.before for s in states}
    read = tuple(dict.fromkeys(t for op in ops for t in op.inputs if t not in own))
    tensors = {t: whole.tensors[t] for op in ops for t in (*op.inputs, *op.outputs)}
    inputs = {t: replace(tensors[t], data=None) for t in read}
    behind = Graph("postprocessing", {**tensors, **inputs}, ops, read, whole.outputs, states)
    return BackEnd(behind.verify(), whole)
