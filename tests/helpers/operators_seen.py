"""What tests compile, as a record of the operators that Mote has: see `mote.ui.api.operators`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from mote import frontends
from mote.compiler.kernels import catalogue
from mote.compiler.kernels.contract import View
from mote.frontends import Source
from mote.frontends.model import Model, SourceLayer
from mote.frontends.tflite import variables
from mote.hardware import targets
from mote.ir.graph import Graph, Op
from mote.ir.ops.moves.constant import ConstantOutput
from tests.helpers import support

RECORD = "MOTE_RECORD_OPERATORS"
"""The variable that names the folder for records."""
FEATURES = frozenset(targets.features())
Form = dict[str, Any]
Seen = dict[str, dict[str, Form]]


def types_of(graph: Graph, layer: SourceLayer) -> str:
    """The types of what a layer reads and gives, where they differ; weights count where they have another one."""
    if not layer.ops:
        return str(graph.tensors[layer.outputs[0]].dtype)
    op = layer.ops[0]
    first = next((t for t in op.activations(graph)), None) or op.tensor(graph, 0)
    out = op.output(graph).dtype
    if first is None:
        return str(out)
    weights = op.tensor(graph, 1) if op.macs(graph) else None
    other = weights is not None and weights.data is not None and weights.dtype != first.dtype
    given = f"{first.dtype} with {weights.dtype}" if other and weights is not None else str(first.dtype)
    return given if out == first.dtype else f"{given} to {out}"


def forms(model: Model) -> Iterator[tuple[str, str, SourceLayer, Graph]]:
    """The layers that are compiled, or computed while the file is read, with their types."""
    graph = replace(model.partial(), tensors=model.tensors)
    for layer in model.layers:
        if layer.outputs and not layer.problem and layer.code not in variables.OPERANDS:
            yield layer.code, types_of(graph, layer), layer, graph


def form(layer: SourceLayer, graph: Graph) -> Form:
    """How a layer is computed, as the catalogue has it."""
    portable: set[str] = set()
    tuned: dict[str, set[str]] = {}
    found: Form = {"rows": False, "streams": False, "in_place": False}
    for op in layer.ops:
        if op.bodies or op.is_view:
            portable.add("bodies" if op.bodies else "view")
        if isinstance(op, ConstantOutput) or op.bodies or op.is_view or not op.activations(graph):
            continue
        view = View(graph, (op,))
        for packed in catalogue.candidates(view, FEATURES):
            kernel = next(k for k in catalogue.KERNELS if k.name == packed.family and k.computed(view))
            if packed.isa:
                tuned.setdefault("+".join(sorted(packed.isa)), set()).add(kernel.name)
            found["in_place"] |= bool(packed.needs.in_place)
        portable |= {packed.family for packed in catalogue.candidates(view, frozenset())}
        found["rows"] |= op.reads(graph, 0, 0) is not None
        found["streams"] |= type(op).increment is not Op.increment
    return {"portable": sorted(portable), "tuned": {k: sorted(v) for k, v in sorted(tuned.items())}, **found}


def merged(seen: Seen, other: Seen) -> Seen:
    """Everything that either has seen."""
    for name, kinds in other.items():
        for types, new in kinds.items():
            old = seen.setdefault(name, {}).setdefault(types, new)
            old["portable"] = sorted({*old["portable"], *new["portable"]})
            for needed, names in new["tuned"].items():
                old["tuned"][needed] = sorted({*old["tuned"].get(needed, ()), *names})
            for flag in ("rows", "streams", "in_place"):
                old[flag] = old[flag] or new[flag]
    return seen


def record(folder: Path) -> None:
    """From now on, note what is read in a file of this process; what would only be compared is read and no more."""
    seen: Seen = {}
    read: Callable[[Source], Model] = frontends.read

    def noting(source: Source) -> Model:
        model = read(source)
        for name, types, layer, graph in forms(model):
            try:
                merged(seen, {name: {types: form(layer, graph)}})
            except Exception as error:
                print(f"{name} {types} is not recorded: {error!r}")
        (folder / f"{os.getpid()}.json").write_text(json.dumps(seen), encoding="utf-8")
        return model

    frontends.read = noting
    support.check = lambda model, *_, **__: noting(frontends.source_of(model))  # type: ignore[assignment]
