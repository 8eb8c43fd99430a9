"""Checks the outputs of a profiled run against the graph's reference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.base.errors import MoteError
from mote.ir.graph import Graph
from mote.ir.graph.tolerance import REALS, Magnitudes, allowed_difference


def check_outputs(graph: Graph, inputs: Sequence[bytes], outputs: Sequence[bytes], *, where: str) -> None:
    """Raises an error if outputs of the first inference differ from the reference: integers must be equal, floats
    within rounding."""
    given = {t: np.frombuffer(data, graph.tensors[t].dtype.numpy) for t, data in zip(graph.inputs, inputs, strict=True)}
    with np.errstate(all="ignore"):
        values = graph.evaluate({t: x.reshape(graph.tensors[t].shape) for t, x in given.items()})
        magnitudes = Magnitudes(graph).step(values)
    for t, data in zip(graph.outputs, outputs, strict=True):
        expected = values[t]
        own = np.frombuffer(data, graph.tensors[t].dtype.numpy).reshape(expected.shape)
        tolerance = allowed_difference(expected, magnitudes.get(t, 0.0)) if expected.dtype in REALS else 0
        with np.errstate(all="ignore"):
            same = np.array_equal(own, expected) or bool(np.all(np.abs(own.astype(float) - expected) <= tolerance))
        if not same:
            raise MoteError(
                f"the output '{graph.tensors[t].name}' is not the reference's",
                where=where,
                remedy="this is a bug of Mote, of the compiler or of the core",
            )
