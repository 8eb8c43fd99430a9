"""The kernels that tests compile, as records: what the stock runtime is made of. See `benchmarks/kernels.py`."""

from __future__ import annotations

import atexit
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from mote import frontends
from mote.compiler.emit.image.entries import has_checks
from mote.compiler.emit.image.kernels import KernelRecord, merged, record
from mote.compiler.kernels import catalogue
from mote.compiler.kernels.contract import NHWC, Call, Kernel, Layout, Packed, Refusal, View
from mote.compiler.passes.pipeline import optimize
from mote.compiler.plan.selection.candidates import Candidates
from mote.compiler.plan.selection.request import Lowering
from mote.frontends import Source
from mote.frontends.model import Model
from mote.hardware import targets
from mote.ir.graph import Graph
from mote.ir.graph.region import Numbers
from tests.helpers import support

RECORD = "MOTE_RECORD_KERNELS"
"""The variable that names the folder for records."""
OWN_CODE = ("formula_f32", "lines_s8", "lines_f32", "forest_code")
"""Headers of kernels that are code of one model."""
FEATURES = tuple(dict.fromkeys(targets.load(name).features for name in targets.names()))


def seen(graph: Graph) -> list[KernelRecord]:
    """The records of kernels that a stock runtime can have, of a graph and of the bodies in it."""
    optimized, _ = optimize(graph, own_code=False)
    bodies = [body for op in optimized.ops for body in op.bodies]
    found = [record(packed) for g in (optimized, *bodies) for packed in kernels(g)]
    return merged(filter(for_everybody, found))


def for_everybody(record: KernelRecord) -> bool:
    """Whether a kernel is no code that was made for one model or shape, and something checks its parameters."""
    return not record.assembly and record.headers[0] not in OWN_CODE and has_checks(record.headers)


def kernels(graph: Graph) -> Iterator[Packed]:
    """Every kernel that any core could choose for an operator of a graph, or for several together."""
    for features in FEATURES:
        candidates, singles = Candidates(graph), [(n,) for n in range(len(graph.ops))]
        planar = {layout for ops in singles for layout in _layouts(graph, ops, features)}
        for ops in (*singles, *candidates.regions(Lowering(features))):
            given = tuple(graph.ops[n] for n in ops)
            if not any(op.bodies or op.is_view or not op.outputs for op in given):
                for reads in _layouts(graph, ops, features):
                    for writes in planar:
                        yield from _asked(View(graph, given, reads, writes), features)


def _layouts(graph: Graph, ops: Numbers, features: frozenset[str]) -> list[Layout]:
    """How the first input of operators can lie."""
    return [NHWC, *catalogue.wanted_layouts(View(graph, tuple(graph.ops[n] for n in ops)), features)]


def _asked(view: View, features: frozenset[str]) -> Iterator[Packed]:
    yield from catalogue.candidates(view, features, coded=True)
    yield from (found for _, found in catalogue.attempts(view, features) if not isinstance(found, Refusal))
    for call in (Call.ADDS, Call.RING):
        if (found := catalogue.by_call(view, call)) is not None:
            yield found


def note(folder: Path) -> None:
    """From now on, note the kernels of what is read; what would only be compared is read and no more."""
    noted: dict[int, KernelRecord] = {}
    read: Callable[[Source], Model] = frontends.read

    def noting(source: Source) -> Model:
        model = read(source)
        try:
            for one in seen(model.graph()):
                noted[one.id] = one.joined(noted[one.id]) if one.id in noted else one
        except Exception as error:
            print(f"{source.where} is not recorded: {error!r}")
        return model

    bind = Kernel.bind

    def binding(self: Kernel, view: View) -> Packed | Refusal:
        found = bind(self, view)
        if isinstance(found, Packed) and for_everybody(one := record(found)):
            noted[one.id] = one.joined(noted[one.id]) if one.id in noted else one
        return found

    def write() -> None:
        found = [one.to_json() for one in merged(noted.values())]
        (folder / f"{os.getpid()}.json").write_text(json.dumps(found), encoding="utf-8")

    Kernel.bind = binding  # type: ignore[method-assign]
    frontends.read = noting
    support.check = lambda model, *_, **__: noting(frontends.source_of(model))  # type: ignore[assignment]
    atexit.register(write)
