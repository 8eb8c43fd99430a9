"""A graph on its way from the one that was read to the one that is planned."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from mote.base.errors import MoteError
from mote.base.text import printable
from mote.compiler.passes.saving import Saving
from mote.frontends.labels import classes
from mote.ir.graph import Graph

if TYPE_CHECKING:
    from mote.frontends.features.attaching import FrontEnd
    from mote.frontends.features.postprocess.attaching import BackEnd

Labels = tuple[tuple[str, ...], ...]
"""Names of the classes of each output."""


@dataclass(frozen=True, eq=False)
class PreparedGraph:
    """A graph on its way to the planner: the result of every step."""

    source: Graph
    """The graph of the model as it was read."""
    learning: Graph
    """The graph with what learns on the device; `source` where nothing does."""
    model: Graph
    """The optimized graph, without preprocessing and post-processing."""
    front: FrontEnd | None
    """The preprocessing that is compiled before the model."""
    back: BackEnd | None
    """The post-processing that is compiled behind the model."""
    whole: Graph
    """The graph that is planned."""
    savings: tuple[Saving, ...]
    """The passes that changed the graph, and what each removed."""
    names: tuple[str, ...] = ()
    """The class names that options give."""

    @cached_property
    def labels(self) -> Labels:
        """The class names of each output of the C."""
        return output_labels(self.learning, self.names)[: len(self.whole.outputs)]


def unchanged(graph: Graph) -> PreparedGraph:
    """A graph that is planned as it is."""
    return PreparedGraph(graph, graph, graph, None, None, graph, ())


def output_labels(graph: Graph, given: tuple[str, ...]) -> Labels:
    """The labels of each output: those of the model, or the given ones for outputs with as many classes. Where no
    output tells its number of classes, the first one has the given ones."""
    tensors = [graph.tensors[t] for t in graph.outputs]
    counts = [classes(t) for t in tensors]
    if not given:
        return tuple(t.labels for t in tensors)
    if any(counts) and len(given) not in counts:
        name, count = next((t.name, count) for t, count in zip(tensors, counts, strict=True) if count)
        raise MoteError(
            f"there are {len(given)} labels, and output '{printable(name)}' has {count} classes",
            where="option labels",
            remedy="give a label for each class, in the order of the output",
        )
    fits = [count == len(given) if any(counts) else not i for i, count in enumerate(counts)]
    return tuple(given if fit else t.labels for fit, t in zip(fits, tensors, strict=True))
