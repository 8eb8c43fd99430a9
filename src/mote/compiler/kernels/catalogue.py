"""The list of all kernels, and the queries for those that can compute an operator on a core.

Each instruction set has a folder. Order is priority: kernels of instruction sets come before the portable ones, which
compute everything on any core, and a kernel comes before those that it may make redundant (`Packed.beats`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableSequence
from functools import lru_cache
from importlib import import_module
from itertools import product
from typing import Any

from mote.compiler.kernels.contract import Call, Fixed, Kernel, Knob, Knobs, Layout, Packed, Refusal, Variant, View
from mote.compiler.kernels.files import SETS
from mote.hardware.targets import ALIGNED, Target, declare
from mote.ir.graph import Op

FOLDERS = {
    "mve": "helium",
    "dsp": "armv7em",
    "armv7m": "armv7m",
    "armv6m": "armv6m",
    "fpu": "vfp",
    "zve32x": "rvv",
    "rv32m": "rv32m",
    "mul32": "scalar",
    "vectors": "vectors",
    "avre": "avre",
}
"""The folder of each feature's kernels. Features that imply others come first."""
FLOATS = frozenset({"fpu", "float32"})
"""Features of cores that compute float32."""
UNMEASURED = Refusal("its costs on this core are not measured")
PROVIDERS = ("helium", "armv7em", "armv7m", "armv6m", "vfp", "rvv", "rv32m", "scalar", "vectors", "avre", "portable")
"""Folders of kernels, in the order in which they are tried."""


class KernelList(MutableSequence[Kernel]):
    """A list of kernels whose folders are imported at the first access: an existing plan needs none of them."""

    def __init__(self, folders: Iterable[str]) -> None:
        self._folders = tuple(folders)
        self._own: tuple[Kernel, ...] = ()
        self._kernels: list[Kernel] | None = None

    @property
    def kernels(self) -> list[Kernel]:
        """All kernels of the list."""
        if self._kernels is None:
            modules = [import_module(f"mote.compiler.kernels.{folder}.kernels") for folder in self._folders]
            self._own = tuple(kernel for module in modules for kernel in module.KERNELS)
            self._kernels = [*self._own]
        return self._kernels

    @property
    def changed(self) -> tuple[Kernel, ...]:
        """All kernels if users have changed the list; otherwise empty."""
        return () if self._kernels is None or self._own == tuple(self._kernels) else tuple(self._kernels)

    def __getitem__(self, index: Any) -> Any:
        return self.kernels[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        self.kernels[index] = value

    def __delitem__(self, index: Any) -> None:
        del self.kernels[index]

    def __len__(self) -> int:
        return len(self.kernels)

    def __iter__(self) -> Iterator[Kernel]:
        return iter(self.kernels)

    def insert(self, index: int, value: Kernel) -> None:
        self.kernels.insert(index, value)


KERNELS = KernelList(PROVIDERS)


def instruction_sets(target: Target) -> tuple[str, ...]:
    """The folders of instruction sets whose C files a target needs. Hosts need those of the FPU too: their float
    primitives keep a C compiler from contracting multiplications and additions. Cores without an FPU need functions of
    float32 in integers."""
    has = {folder for feature, folder in FOLDERS.items() if feature in target.features}
    has.update(target.core.kernels(target.cpu))
    has.add("vfp" if target.is_host else "softfloat" if not FLOATS & target.features else "")
    return tuple(name for name in SETS if name in has)


def register(kernel: Kernel) -> None:
    """Adds a user's kernel before all others, replacing one of the same name for the same operators.
    Declares its features, so that targets may have them."""
    declare(kernel.isa)
    KERNELS[:] = [kernel, *(k for k in KERNELS if (k.name, k.computes) != (kernel.name, kernel.computes))]


def label(kernel: Packed, features: frozenset[str]) -> str:
    """The kernel's name with its knobs, followed by a slash and its instruction set if it uses one on a core with these
    features."""
    if not kernel.isa or not kernel.isa <= features:
        return kernel.variant
    folder = next((FOLDERS[feature] for feature in FOLDERS if feature in kernel.isa), "+".join(sorted(kernel.isa)))
    return f"{kernel.variant}/{folder}"


def candidates(
    view: View,
    features: frozenset[str],
    *,
    coded: bool = False,
    fixed: Fixed | None = None,
    priced: frozenset[str] | None = None,
) -> list[Packed]:
    """The kernels for an operator that the planner chooses from. Kernels that an earlier one makes redundant
    (`Packed.beats`) are skipped without packing."""
    kernels: dict[str, Packed] = {}
    beaten: set[str] = set()
    for kernel in _available(view, features, coded=coded, general=fixed is not None):
        packed = _allowed(view.once(kernel.bind), fixed, priced) if kernel.name not in beaten else None
        if isinstance(packed, Packed):
            kernels[kernel.name] = packed
            beaten.update(packed.beats)
    late = beaten & kernels.keys()
    assert not late, f"{late} come before what beats them"
    return list(kernels.values())


def attempts(
    view: View, features: frozenset[str], fixed: Fixed | None = None, priced: frozenset[str] | None = None
) -> Iterator[tuple[Kernel, Packed | Refusal]]:
    """All kernels of a core for an operator, each with its `Packed` or the reason why it does not fit."""
    return (
        (kernel, _allowed(view.once(kernel.bind), fixed, priced))
        for kernel in _available(view, features, general=fixed is not None)
    )


def variants(
    view: View, features: frozenset[str], *, coded: bool = False, fixed: Fixed | None = None
) -> Iterator[Packed]:
    """All kernels of a core for an operator with every combination of knob values, the defaults first."""
    for kernel in _available(view, features, coded=coded, general=fixed is not None):
        choices = kernel.choices(view)
        for values in product(*choices.values()):
            packed = _bound(view, kernel, tuple(zip(choices, values, strict=True)), fixed)
            if isinstance(packed, Packed):
                yield packed


def with_knobs(
    view: View,
    features: frozenset[str],
    knobs: Knobs,
    *,
    named: str = "",
    coded: bool = False,
    fixed: Fixed | None = None,
) -> Iterator[tuple[Kernel, Packed | Refusal]]:
    """All kernels of a core that have knobs, each bound with the values in `knobs`, or the reason why that fails.
    `named`: only the kernel of that name, if it exists."""
    kernels = [
        kernel for kernel in _available(view, features, coded=coded, general=fixed is not None) if kernel.choices(view)
    ]
    for kernel in [kernel for kernel in kernels if kernel.name == named] or kernels:
        yield kernel, _bound(view, kernel, knobs, fixed)


def knobs(view: View, features: frozenset[str], *, coded: bool = False) -> dict[str, Mapping[str, tuple[Knob, ...]]]:
    """The knobs and their possible values of each kernel for an operator, by kernel name; kernels without knobs are
    left out."""
    offered = {kernel.name: kernel.choices(view) for kernel in _available(view, features, coded=coded)}
    return {name: choices for name, choices in offered.items() if choices}


def _bound(view: View, kernel: Kernel, knobs: Knobs, fixed: Fixed | None) -> Packed | Refusal:
    """A kernel bound with knob values, memoized in the view; values that equal the defaults are dropped first, so that
    the default variant is packed once."""
    choices = kernel.choices(view)
    changed = tuple((name, value) for name, value in knobs if value not in choices.get(name, ())[:1])
    return _allowed(view.once(Variant(kernel, changed) if changed else kernel.bind), fixed)


def _allowed(packed: Packed | Refusal, fixed: Fixed | None, priced: frozenset[str] | None = None) -> Packed | Refusal:
    """The bound kernel, or a refusal if a fixed firmware lacks it (`fixed`) or no cost was measured for it (`priced`:
    the families with costs)."""
    if isinstance(packed, Refusal):
        return packed
    if priced is not None and not _measured(packed, priced):
        return UNMEASURED
    why = fixed.lacks(packed) if fixed else ""
    return Refusal(why) if why else packed


def _measured(packed: Packed, families: frozenset[str]) -> bool:
    """Whether a kernel's cost is known: stated by itself, or all its families are among those with costs."""
    price = packed.price
    if price.parts:
        return all(_measured(part, families) for part in price.parts)
    return price.cost is not None or {price.costs, price.more or price.costs} <= families


def _available(view: View, features: frozenset[str], *, coded: bool = False, general: bool = False) -> Iterator[Kernel]:
    for kernel in _computing(tuple(KERNELS), tuple(map(type, view.ops))):
        if (
            kernel.call is None
            and (coded or not kernel.coded)
            and (general or not kernel.general)
            and kernel.computed(view)
            and _runs(kernel, view, features)
        ):
            yield kernel


@lru_cache(maxsize=1024)
def _computing(kernels: tuple[Kernel, ...], kinds: tuple[type[Op], ...]) -> tuple[Kernel, ...]:
    """The kernels whose operator classes match these."""
    return tuple(k for k in kernels if len(k.computes) == len(kinds) and all(map(issubclass, kinds, k.computes)))


@lru_cache(maxsize=1024)
def _reading(kernels: tuple[Kernel, ...], kinds: tuple[type[Op]]) -> tuple[Kernel, ...]:
    """The kernels whose first operator class matches and that read a layout other than NHWC."""
    return tuple(k for k in kernels if k.reads is not None and issubclass(kinds[0], k.computes[0]))


def _runs(kernel: Kernel, view: View, features: frozenset[str]) -> bool:
    """Whether a core with these features can run it, including alignment, and has no kernel that is always better."""
    return kernel.on(features) and (ALIGNED not in features or kernel.keeps_alignment(view))


def fused(features: frozenset[str]) -> list[Kernel]:
    """The kernels of a core that fuse several operators."""
    return [kernel for kernel in KERNELS if len(kernel.computes) > 1 and kernel.on(features)]


def by_call(view: View, call: Call, fixed: Fixed | None = None, priced: frozenset[str] | None = None) -> Packed | None:
    """The first kernel that fits with the calling convention `call` (ADDS: running sums, RING: ring buffer); None if
    none fits."""
    for kernel in _computing(tuple(KERNELS), tuple(map(type, view.ops))):
        if kernel.call is call and kernel.computed(view):
            packed = _allowed(view.once(kernel.bind), fixed, priced)
            if isinstance(packed, Packed):
                return packed
    return None


def wanted_layouts(view: View, features: frozenset[str], *, fixed: bool = False) -> list[Layout]:
    """The layout other than NHWC that the first matching kernel of the core prefers for the operator's input, or no
    layout; with `fixed` kernels, the layouts of all of them."""
    layouts: dict[Layout, None] = {}
    for kernel in _reading(tuple(KERNELS), (type(view.op),)):
        if kernel.reads is None or (kernel.general and not fixed):
            continue
        layout = view.once(kernel.reads) if _runs(kernel, view, features) and kernel.types.admits(view) else None
        if layout is not None:
            layouts[layout] = None
            if not fixed:
                break
    return list(layouts)
