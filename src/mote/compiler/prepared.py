"""From the graph as it was read to the graph that is planned: training, passes, streaming, pre- and post-processing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mote.base.deferred import deferred
from mote.base.errors import MoteError
from mote.compiler.kernels.contract import Fixed
from mote.compiler.passes.pipeline import optimize
from mote.compiler.passes.rewriting import split_layers
from mote.compiler.passes.saving import Saving
from mote.compiler.passes.streaming import stream as streaming
from mote.compiler.passes.training.spec import Spec
from mote.compiler.prepared_graph import PreparedGraph, output_labels
from mote.compiler.settings import PassOptions
from mote.compiler.stages import CompilerStage, session
from mote.frontends.data.dataset_type import Dataset
from mote.frontends.features.attaching import attached
from mote.frontends.features.postprocess.attaching import followed
from mote.ir.graph import Graph
from mote.ir.graph.io_order import code_axis

if TYPE_CHECKING:
    from mote.compiler.training import with_training
else:
    with_training = deferred("mote.compiler.training.with_training")

CAUSAL = "another model than the windowed one: what was before the stream takes the place of padding"
"""Warning for a causal stream of a padded model."""


def prepared(graph: Graph, options: PassOptions, fixed: Fixed | None = None) -> PreparedGraph:
    """Prepares a graph for the planner, by the options of passes. `fixed`: only for kernels of a runtime. Equal inputs
    give the same object, so that all targets and plans of a model share packed weights."""
    return session().result(PREPARED, graph, fixed is None, settings=options)


def _prepared(
    graph: Graph,
    own_code: bool,
    *,
    io: str,
    numerics: str,
    shrink: bool,
    stream: int | None,
    hop: int,
    causal: bool,
    train: Spec | None,
    train_data: Dataset | None,
    preprocess: str,
    postprocess: str,
    labels: tuple[str, ...],
    encrypt: str,
) -> PreparedGraph:
    learning = with_training.with_training(graph, train, train_data) if train is not None else graph
    model, changes = optimize(learning, io=io, numerics=numerics, shrinking=shrink, own_code=own_code)
    savings = tuple(changes)
    if stream is not None:
        model, saving = _streamed(model, stream, hop, causal)
        savings = (*savings, saving)
    front = attached(model, preprocess) if preprocess else None
    whole = model if front is None else front.whole
    back = None
    if postprocess:
        names = output_labels(learning, labels)[0] if graph.outputs else ()
        timing = (None, None) if front is None else (front.period, model.inputs[0])
        back = followed(whole, postprocess, names, *timing)
        whole = back.whole
    whole = split_layers.run(whole) if encrypt else whole
    return PreparedGraph(graph, learning, model, front, back, whole, savings, labels)


PREPARED = CompilerStage(
    "prepared",
    _prepared,
    (
        *("io", "numerics", "shrink", "stream", "hop", "causal", "train", "train_data"),
        *("preprocess", "postprocess", "labels", "encrypt"),
    ),
    files=("encrypt",),
)


def _streamed(graph: Graph, given_axis: int, hop: int, causal: bool) -> tuple[Graph, Saving]:
    axis = _stream_axis(graph, given_axis)
    streamed = streaming.run(graph, axis, hop, causal=causal)
    before, after = (sum(op.macs(g) for op in g.ops) for g in (graph, streamed))
    kept = sum(state.initial.nbytes for state in streamed.states)
    detail = f"{after:,} MACs each time instead of {before:,}, {kept:,} bytes kept in {len(streamed.states)} windows"
    return streamed, Saving("stream", 0, detail, CAUSAL if causal and _is_padded(graph, axis, hop) else "")


def _stream_axis(graph: Graph, axis: int) -> int:
    """The axis of the graph's input along which the window slides; settings name the model's axis."""
    return code_axis(graph.tensors[graph.inputs[0]], axis) if graph.inputs else axis


def _is_padded(graph: Graph, axis: int, hop: int) -> bool:
    """Whether the model pads along the stream, so that only a causal stream is possible."""
    try:
        streaming.run(graph, axis, hop)
    except MoteError:
        return True
    return False
