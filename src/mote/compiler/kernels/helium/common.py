"""Shared by Helium kernels: the required core features, a common reason for refusing a layer, and portable kernels
whose loops are primitives with vectors."""

from __future__ import annotations

from dataclasses import replace

from mote.compiler.kernels.contract import Kernel, Packed, Refusal, View

HELIUM = frozenset({"mve"})
HELIUM_FLOAT = HELIUM | {"fpu"}
NO_CONSTANTS = Refusal("no constants requantize its sums exactly in lanes")


def vectorized(kernel: Kernel, isa: frozenset[str] = HELIUM, costs: str = "") -> Kernel:
    """A portable kernel whose primitives have vectors, with a cost of its own."""

    def pack(view: View) -> Packed | Refusal:
        packed = kernel.pack(view)
        return packed if isinstance(packed, Refusal) else replace(packed, beats=(*packed.beats, kernel.name))

    name = f"{kernel.name}_helium"
    header = kernel.header or kernel.name
    return replace(kernel, name=name, pack=pack, header=header, isa=isa, tuned=False, costs=costs or name)
