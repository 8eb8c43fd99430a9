"""A model of the flash that kernels take: constants, and code shared by layers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from weakref import WeakKeyDictionary

from mote.graph.region import Numbers
from mote.kernels.contract import Packed

KERNEL = 500
"""Estimated bytes of code of a kernel written in C, once per project."""
LARGER = {"depthwise_s8": 1150, "fully_connected4_s8": 780, "fully_connected4_twice_s8": 780, "softmax_s8": 900}
"""Estimated bytes of code for headers that take more (gcc -Os, Cortex-M4)."""
INSTANCE = 700
"""Estimated bytes of code of a macro instance."""
LINE = 3.4
"""Estimated bytes of code of a line of shape-specific assembly."""
DECODER, DECODING = 280, 160
"""Estimated bytes of code that decode weights, and of each kernel that calls it."""


_known: WeakKeyDictionary[Packed, dict[str, float]] = WeakKeyDictionary()


def code(kernel: Packed) -> dict[str, float]:
    """Bytes of the pieces of code that a kernel needs, which others may share."""
    if kernel not in _known:
        _known[kernel] = _code(kernel)
    return _known[kernel]


def _code(kernel: Packed) -> dict[str, float]:
    made = {str(i): LINE * len(i.code) if i.code else INSTANCE for i in kernel.instances}
    decoding = {"coded": DECODER, f"{kernel.name} coded": DECODING} if kernel.price.coding is not None else {}
    header = " ".join(kernel.headers)
    return {header: LARGER.get(header, KERNEL), **made, **decoding}


def flash(kernels: Iterable[Packed]) -> float:
    """Bytes of flash of a set of kernels."""
    given = list(kernels)
    pieces = {name: nbytes for kernel in given for name, nbytes in code(kernel).items()}
    return sum(kernel.own_flash for kernel in given) + sum(pieces.values())


def smallest(offered: Mapping[Numbers, Sequence[Packed]]) -> dict[Numbers, Packed]:
    """Chooses a kernel per operator to minimize total flash, heuristically. Each has the one that takes least where
    nothing is shared at first; then one piece of code after another is left out, if that saves something, and each
    operator has the best for what the others need. Of kernels that take the same the first one is taken."""
    best = _settled(offered, {ops: _least(kernels, set()) for ops, kernels in offered.items()})
    improved = True
    while improved:
        improved = False
        for name in sorted({name for kernel in best.values() for name in code(kernel)}):
            without = {ops: [k for k in kernels if name not in code(k)] or kernels for ops, kernels in offered.items()}
            other = {ops: k if k in without[ops] else _least(without[ops], set()) for ops, k in best.items()}
            other = _settled(without, other)
            if flash(other.values()) < flash(best.values()):
                best, improved = other, True
    return best


def _settled(offered: Mapping[Numbers, Sequence[Packed]], chosen: Mapping[Numbers, Packed]) -> dict[Numbers, Packed]:
    """Iterates until each operator has the kernel that adds the least flash beside the others'."""
    settled = dict(chosen)
    needed = Counter(name for kernel in settled.values() for name in code(kernel))
    changed = True
    while changed:
        changed = False
        for ops, kernels in offered.items():
            needed.subtract(code(settled[ops]).keys())
            shared = {name for name, times in needed.items() if times}
            best = _least(kernels, shared)
            if _more(best, shared) < _more(settled[ops], shared):
                settled[ops], changed = best, True
            needed.update(code(settled[ops]).keys())
    return settled


def _least(kernels: Sequence[Packed], shared: set[str]) -> Packed:
    return min(kernels, key=lambda kernel: _more(kernel, shared))


def _more(kernel: Packed, shared: set[str]) -> float:
    """Bytes that a kernel adds to already present pieces of code."""
    return kernel.own_flash + sum(nbytes for name, nbytes in code(kernel).items() if name not in shared)
