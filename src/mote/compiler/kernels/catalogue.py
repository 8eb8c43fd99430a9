"""The list of all kernels, and which of them can compute an operator on a core.

An instruction set is a folder: its kernels come before the portable ones, which compute everything on any core, and a
kernel comes before those that it may beat.
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
"""The folder of the kernels for each feature, before those of features that their cores have as well."""
UNMEASURED = Refusal("its costs on this core are not measured")
PROVIDERS = ("helium", "armv7em", "armv7m", "armv6m", "vfp", "rvv", "rv32m", "scalar", "vectors", "avre", "portable")
"""The folders with kernels, in their order."""


class KernelList(MutableSequence[Kernel]):
    """Kernels of folders, which are imported when somebody asks for one: a plan that is made already needs none."""

    def __init__(self, folders: Iterable[str]) -> None:
        self._folders = tuple(folders)
        self._own: tuple[Kernel, ...] = ()
        self._kernels: list[Kernel] | None = None

    @property
    def kernels(self) -> list[Kernel]:
        """All of them."""
        if self._kernels is None:
            modules = [import_module(f"mote.compiler.kernels.{folder}.kernels") for folder in self._folders]
            self._own = tuple(kernel for module in modules for kernel in module.KERNELS)
            self._kernels = [*self._own]
        return self._kernels

    @property
    def changed(self) -> tuple[Kernel, ...]:
        """All of them, where these are not those of the folders alone."""
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
    """The folders of instruction sets with files for a target. A float operation in plain C may need those of the FPU:
    they keep a compiler from joining multiplications and additions, also on a host."""
    has = {folder for feature, folder in FOLDERS.items() if feature in target.features}
    has.update(target.core.kernels(target.cpu))
    return tuple(name for name in SETS if name in has or (name == "vfp" and target.is_host))


def register(kernel: Kernel) -> None:
    """Take a user's kernel, before all others, in place of one of his of the same name. Targets may then have the
    features that it asks for."""
    declare(kernel.isa)
    KERNELS[:] = [kernel, *(k for k in KERNELS if (k.name, k.computes) != (kernel.name, kernel.computes))]


def label(kernel: Packed, features: frozenset[str]) -> str:
    """The kernel's name with its knobs, and behind a slash the instruction set that it uses on a core with these
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
    """The kernels to choose from, without those that an earlier one beats in every way: they are not even packed."""
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


def asked(
    view: View, features: frozenset[str], fixed: Fixed | None = None, priced: frozenset[str] | None = None
) -> Iterator[tuple[Kernel, Packed | Refusal]]:
    """Every kernel that a core with these features has for the operator, bound to it or with the reason why not."""
    return (
        (kernel, _allowed(view.once(kernel.bind), fixed, priced))
        for kernel in _available(view, features, general=fixed is not None)
    )


def variants(
    view: View, features: frozenset[str], *, coded: bool = False, fixed: Fixed | None = None
) -> Iterator[Packed]:
    """Every kernel of the core for the operator with every combination of values of its knobs, the defaults first."""
    for kernel in _available(view, features, coded=coded, general=fixed is not None):
        choices = kernel.choices(view)
        for values in product(*choices.values()):
            packed = _bound(view, kernel, tuple(zip(choices, values, strict=True)), fixed)
            if isinstance(packed, Packed):
                yield packed


def turned(
    view: View,
    features: frozenset[str],
    knobs: Knobs,
    *,
    named: str = "",
    coded: bool = False,
    fixed: Fixed | None = None,
) -> Iterator[tuple[Kernel, Packed | Refusal]]:
    """Every kernel of the core that has knobs, bound to the operator with some values for them, or the reason why not;
    `named`: only that of this name, if there is one."""
    kernels = [
        kernel for kernel in _available(view, features, coded=coded, general=fixed is not None) if kernel.choices(view)
    ]
    for kernel in [kernel for kernel in kernels if kernel.name == named] or kernels:
        yield kernel, _bound(view, kernel, knobs, fixed)


def knobs(view: View, features: frozenset[str], *, coded: bool = False) -> dict[str, Mapping[str, tuple[Knob, ...]]]:
    """The knobs of the core's kernels for the operator and their values, by the name of the kernel; only of those that
    have some."""
    offered = {kernel.name: kernel.choices(view) for kernel in _available(view, features, coded=coded)}
    return {name: choices for name, choices in offered.items() if choices}


def _bound(view: View, kernel: Kernel, knobs: Knobs, fixed: Fixed | None) -> Packed | Refusal:
    """A kernel with some knobs, bound to the operator once: where all have their defaults it is the usual one."""
    choices = kernel.choices(view)
    changed = tuple((name, value) for name, value in knobs if value not in choices.get(name, ())[:1])
    return _allowed(view.once(Variant(kernel, changed) if changed else kernel.bind), fixed)


def _allowed(packed: Packed | Refusal, fixed: Fixed | None, priced: frozenset[str] | None = None) -> Packed | Refusal:
    """A kernel that was bound to an operator, where the firmware has it, if that is fixed, and where its costs are
    measured, if some are not."""
    if isinstance(packed, Refusal):
        return packed
    if priced is not None and not _measured(packed, priced):
        return UNMEASURED
    why = fixed.lacks(packed) if fixed else ""
    return Refusal(why) if why else packed


def _measured(packed: Packed, families: frozenset[str]) -> bool:
    """Whether a kernel states its costs, or all of it is in families that have some."""
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
    """The kernels that compute operators of these kinds."""
    return tuple(k for k in kernels if len(k.computes) == len(kinds) and all(map(issubclass, kinds, k.computes)))


@lru_cache(maxsize=1024)
def _reading(kernels: tuple[Kernel, ...], kinds: tuple[type[Op]]) -> tuple[Kernel, ...]:
    """The kernels that compute an operator of this kind first, and read a layout other than NHWC."""
    return tuple(k for k in kernels if k.reads is not None and issubclass(kinds[0], k.computes[0]))


def _runs(kernel: Kernel, view: View, features: frozenset[str]) -> bool:
    """Whether a core with these features can run it, and has nothing that is always better."""
    return kernel.on(features) and (ALIGNED not in features or kernel.keeps_alignment(view))


def fused(features: frozenset[str]) -> list[Kernel]:
    """The kernels that compute several operators together."""
    return [kernel for kernel in KERNELS if len(kernel.computes) > 1 and kernel.on(features)]


def called(view: View, call: Call, fixed: Fixed | None = None, priced: frozenset[str] | None = None) -> Packed | None:
    """The kernel that is called in a way of its own: with running sums, or for a ring buffer; None where none fits."""
    for kernel in _computing(tuple(KERNELS), tuple(map(type, view.ops))):
        if kernel.call is call and kernel.computed(view):
            packed = _allowed(view.once(kernel.bind), fixed, priced)
            if isinstance(packed, Packed):
                return packed
    return None


def wanted_layouts(view: View, features: frozenset[str], *, fixed: bool = False) -> list[Layout]:
    """The layout other than NHWC in which a kernel of the core would rather read the operator's input; where kernels
    are fixed, those of all kernels."""
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
