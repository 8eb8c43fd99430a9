"""The generator: which functions it claims, and what it makes for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from mote.compiler.kernels.contract import Refusal
from mote.compiler.offload.contract import SCRATCH, Artifact, Blob, Generator, Invocation, Pointer
from mote.hardware.targets import Target
from mote.ir.graph import Graph, Op
from mote.ir.graph.region import Region, joined

C = Path(__file__).resolve().parent / "c"
MOST = 65535
"""Elements of a tensor: the C functions count in 16 bits."""
CALL, LOOKED_UP, TWICE, COPIED = 40.0, 8.0, 11.0, 2.0
"""Cycles of a call, of an element of one table, of an element of two, and of copying a byte of a table."""


class LookupTables(Generator):
    """Functions of one int8 tensor, each a table of 256 bytes."""

    name = "lookup-tables"
    about = "int8 functions as lookup tables"

    def claims(self, graph: Graph, target: Target) -> Iterable[Op]:
        """Every function, and every two functions of one tensor. The planner takes what saves most."""
        for readers in graph.consumers.values():
            functions = [op for op in readers if op.table(graph) is not None]
            yield from functions
            yield from (joined(graph, pair) for pair in zip(functions[::2], functions[1::2], strict=False))

    def build(self, region: Op, graph: Graph, target: Target) -> Refusal | Sequence[Artifact]:
        functions = region.ops if isinstance(region, Region) else (region,)
        tables = [function.table(graph) for function in functions]
        x, outputs = functions[0].inputs[0], region.outputs
        count = graph.tensors[x].size
        if any(table is None or table.size != 256 for table in tables):
            return Refusal("it is not a function of one int8 tensor")
        if count > MOST:
            return Refusal(f"{count:,} elements are more than {MOST:,}")
        together = np.stack([np.asarray(table).reshape(-1) for table in tables], axis=1).astype(np.int8)
        cycles = CALL + (LOOKED_UP if len(tables) == 1 else TWICE) * count

        def artifact(variant: str, cost: float, scratch: int) -> Artifact:
            table = ("tables", *([SCRATCH] if scratch else []))
            function = f"lookup_{len(tables)}{'_in_ram' if scratch else ''}"
            arguments = (*map(Pointer, (*table, x, *outputs)), count)
            return Artifact(
                calls=(Invocation(function, arguments),),
                cost=cost,
                header="lookup_tables.h",
                blobs=(Blob("tables", together, alignment=4),),
                sources=(str(C / "lookup_tables.c"),),
                includes=(str(C),),
                init="lookup_init",
                scratch=scratch,
                alignment=4,
                variant=variant,
                code=120,
            )

        flash = artifact("flash", cycles, 0)
        ram = artifact("ram", cycles + CALL + COPIED * together.nbytes, together.nbytes)
        return [flash, ram]
