"""The list of all kernels, and which of them can compute an operator on a core.

An instruction set is a folder: its kernels come before the portable ones, which compute everything on any core.
"""

from __future__ import annotations

from collections.abc import Iterator

from mote.kernels.armv7em import KERNELS as ARMV7EM
from mote.kernels.contract import Call, Kernel, Layout, Packed, Refusal, View
from mote.kernels.portable import KERNELS as PORTABLE

KERNELS: tuple[Kernel, ...] = (*ARMV7EM, *PORTABLE)


def candidates(view: View, features: frozenset[str], *, coded: bool = False) -> list[Packed]:
    """The kernels to choose from, without those that another one beats in every way."""
    found = [packed for _, packed in asked(view, features, coded=coded) if isinstance(packed, Packed)]
    beaten = {name for packed in found for name in packed.beats}
    return [packed for packed in found if packed.family not in beaten]


def asked(view: View, features: frozenset[str], *, coded: bool = False) -> Iterator[tuple[Kernel, Packed | Refusal]]:
    """Every kernel that a core with these features has for the operator, bound to it or with the reason why not."""
    for kernel in KERNELS:
        if kernel.call is None and kernel.isa <= features and (coded or not kernel.coded) and kernel.computed(view):
            yield kernel, view.once(kernel.bind)


def fused(features: frozenset[str]) -> list[Kernel]:
    """The kernels that compute a chain of operators."""
    return [kernel for kernel in KERNELS if len(kernel.computes) > 1 and kernel.isa <= features]


def called(view: View, call: Call) -> Packed | None:
    """The kernel that is called in a way of its own: with running sums, or for a ring buffer; None where none fits."""
    for kernel in KERNELS:
        if kernel.call is call and kernel.computed(view):
            found = view.once(kernel.bind)
            if isinstance(found, Packed):
                return found
    return None


def wanted_layout(view: View, features: frozenset[str]) -> Layout | None:
    """The layout other than NHWC in which a kernel of the core would rather read the operator's input."""
    for kernel in KERNELS:
        if kernel.reads is not None and kernel.isa <= features and isinstance(view.op, kernel.computes[0]):
            layout = kernel.reads(view) if kernel.types.admits(view) else None
            if layout is not None:
                return layout
    return None
