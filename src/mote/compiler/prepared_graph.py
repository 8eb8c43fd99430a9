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
"""The class names of each output."""


@dataclass(frozen=True, eq=False)
class PreparedGraph:
    """The stages of a graph between reading and planning."""

    source: Graph
    """The graph of the model as it was read."""
    learning: Graph
    """The graph with on-device training; `source` if the model does not learn."""
    model: Graph
    """The optimized graph, without preprocessing and post-processing."""
    front: FrontEnd | None
    """The preprocessing that is compiled before the model."""
    back: BackEnd | None
    """The post-processing that is compiled behind the model."""
    whole: Graph
    """The graph that is planned: the model with pre- and post-processing."""
    savings: tuple[Saving, ...]
    """The passes that changed the graph, and what each removed."""
    names: tuple[str, ...] = ()
    """The class names that the options give; empty: those of the model."""

    @cached_property
    def labels(self) -> Labels:
        """The class names of each output of the generated C."""
        return output_labels(self.learning, self.names)[: len(self.whole.outputs)]


def unchanged(graph: Graph) -> PreparedGraph:
    """A graph that is planned without passes or processing."""
    return PreparedGraph(graph, graph, graph, None, None, graph, ())


def output_labels(graph: Graph, given: tuple[str, ...]) -> Labels:
    """The class names of each output: the model's, or the names in `given` for outputs with as many classes. If no
    output has a known number of classes, the first output gets those in `given`."""
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
