"""About the cycles that functions of CMSIS-NN take on a core."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from mote.graph import Graph, Op
from mote.targets import Target


def cycles(graph: Graph, op: Op, target: Target) -> float:
    """The estimate of a table that was fitted to emulated cores: cycles for each multiplication, for each element of
    the output, and for the call."""
    tables = _tables()
    table = tables.get(target.costs) or tables["cortex-m4"]
    mac, element, call = table.get(op.kind) or table["CONV_2D"]
    return float(op.macs(graph) * mac + op.output(graph).size * element + call)


@cache
def _tables() -> dict[str, dict[str, tuple[float, float, float]]]:
    tables: dict[str, dict[str, tuple[float, float, float]]]
    tables = json.loads((files(__package__) / "costs.json").read_text(encoding="utf-8"))
    return tables
