"""Pins: kernels that a user, a file of pins or a test requires for layers (`--kernel LAYER=NAME`).

A pin is the name of a kernel or a family, optionally with values of its knobs (parameters of its code generator) in
brackets: `gemm4[columns=2,rows=1]`. Every kernel with constants also has the knob `constants`: `ram` copies them before
the layer runs, `flash` leaves them there; without it the planner decides.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from mote.base.errors import MoteError
from mote.base.text import did_you_mean
from mote.compiler.kernels.contract import Knob, Knobs, Layout, Packed, written
from mote.compiler.offload.backends import known as backends
from mote.compiler.plan.scheduling.rows import is_alias
from mote.compiler.plan.selection.candidates import Candidates
from mote.compiler.plan.selection.request import Lowering
from mote.compiler.plan.selection.select import PinError, loadable
from mote.ir.graph import Graph, Op
from mote.ir.graph.region import Numbers

WHERE = "option kernel"
CONSTANTS = "constants"
"""The knob that every kernel with constants has."""
RAM, FLASH = "ram", "flash"
_PIN = re.compile(r"([^\[\]=,/]+)(?:\[([^\[\]/]*)\])?(?:/[^\[\]]*)?")


@dataclass(frozen=True)
class Pin:
    """A required kernel: its name or family, values of its knobs, and the place of its constants (ram, flash, or
    empty)."""

    kernel: str
    knobs: Knobs = ()
    constants: str = ""

    @staticmethod
    def parse(text: str) -> Pin:
        """Parses `NAME` or `NAME[knob=value,...]`; an instruction set after a slash is ignored."""
        match = _PIN.fullmatch(text)
        if match is None:
            raise _malformed(text)
        pairs = [pair.partition("=") for pair in (match[2] or "").split(",") if match[2] is not None]
        given = {name.strip(): _value(value.strip()) for name, _, value in pairs}
        if len(given) < len(pairs) or not all(name and value != "" for name, value in given.items()):
            raise _malformed(text)
        constants = given.pop(CONSTANTS, "")
        if constants not in ("", RAM, FLASH):
            raise MoteError(f"constants lie in ram or flash, not in '{constants}'", where=WHERE, remedy=_HOW)
        return Pin(match[1].strip(), tuple(given.items()), str(constants))

    def __str__(self) -> str:
        places = ((CONSTANTS, self.constants),) if self.constants else ()
        return f"{self.kernel}{written((*self.knobs, *places))}"

    def admits(self, kernel: Packed) -> bool:
        """Whether a kernel has the required name or family."""
        return self.kernel in (kernel.name, kernel.family)


_HOW = "write it like gemm4, gemm4[columns=2] or gemm4[constants=ram]; `mote plan --layer LAYER` lists kernels"


def _malformed(text: str) -> MoteError:
    return MoteError(f"'{text}' is not the name of a kernel with values of knobs", where=WHERE, remedy=_HOW)


def _value(text: str) -> Knob:
    return int(text) if re.fullmatch(r"-?[0-9]{1,9}", text, re.ASCII) else text


def pinned(inner: Candidates, pins: Mapping[str, str], how: Lowering, cores: int = 1) -> Candidates:
    """The candidates restricted by pins: kernel (name or family) by layer (name or number)."""
    if not pins:
        return inner
    for text in pins.values():
        _check_place(Pin.parse(text), how, cores)
    graph = inner.graph
    ops = graph.ops
    numbered = {n: op for n, op in zip(graph.numbers, ops, strict=True) if not is_alias(graph, op)}
    layers = {n: (op.name, graph.short_name(op)) for n, op in numbered.items()}
    chosen = {layer: numbered[one_layer(layers, layer, WHERE)] for layer in pins}
    candidates = PinnedCandidates(inner, {_key(chosen[layer]): Pin.parse(kernel) for layer, kernel in pins.items()})
    for n, op in enumerate(ops):
        if _key(op) in candidates.pins:
            candidates.check((n,), how)
    return candidates


def _check_place(pin: Pin, how: Lowering, cores: int) -> None:
    """Refuses the knob `constants=ram` where constants are in RAM anyway, or cannot be copied."""
    if pin.constants != RAM:
        return
    for elsewhere, why in (
        (how.sealed, "encrypted constants are in RAM while the layer runs anyway"),
        (how.copied, "constants are copied to RAM anyway"),
        (how.fixed is not None, "images are read where they lie"),
        (cores > 1, "two cores would wait for the copy"),
    ):
        if elsewhere:
            raise MoteError(f"'{pin}' cannot be had: {why}", where=WHERE, remedy=f"pin {pin.kernel} without it")


def one_layer(layers: Mapping[str, Collection[str]], layer: str, where: str) -> str:
    """The number of the layer with this name or number. `layers`: the names of each layer, by number."""
    if layer in layers:
        return layer
    numbers = [number for number, names in layers.items() if layer in names]
    if len(numbers) > 1:
        raise MoteError(
            f"the layers {', '.join(numbers)} are all called '{layer}'", where=where, remedy="give the number"
        )
    if not numbers:
        remedy = f"{did_you_mean(layer, chain(*layers.values()))}`mote plan` lists layers with their numbers"
        raise MoteError(f"there is no layer '{layer}'", where=where, remedy=remedy)
    return numbers[0]


def _not_asked(kernel: str, families: Collection[str]) -> str:
    """The hint that a pinned kernel is a backend which `--backend` does not name; else empty."""
    return f"ask for it with --backend {kernel}" if kernel in backends() and kernel not in families else ""


Key = tuple[int, str, str]
"""Identifies an operator in every graph of a model: index and name of its layer in the model, and its kind, since
passes may turn a layer into several operators."""


def _key(op: Op) -> Key:
    return op.index, op.name, op.kind


class PinnedCandidates(Candidates):
    """Restricts other candidates to pinned kernels. `pins`: the required kernel of each pinned operator."""

    def __init__(self, inner: Candidates, pins: Mapping[Key, Pin]) -> None:
        super().__init__(inner.graph)
        self.inner, self.pins = inner, pins
        self._copies: dict[Packed, Packed] = {}

    def of(self, graph: Graph) -> Candidates:
        return PinnedCandidates(self.inner.of(graph), self.pins)

    def external_regions(self) -> list[Numbers]:
        return self.inner.external_regions()

    def regions(self, how: Lowering) -> list[Numbers]:
        return self.inner.regions(how)

    def kernels(self, ops: Numbers, how: Lowering) -> list[Packed]:
        wanted = self._wanted(ops)
        if not wanted:
            return self.inner.kernels(ops, how)
        kernels = [k for k in self._with_knobs(ops, how, wanted) if all(pin.admits(k) for pin in wanted)]
        if all(pin.constants != RAM for pin in wanted):
            return kernels
        return [k if k.loaded else self._copied(ops, k) for k in kernels if k.loaded or loadable(k)]

    def _with_knobs(self, ops: Numbers, how: Lowering, wanted: set[Pin]) -> list[Packed]:
        """Candidate kernels of operators with the knob values of their pins; none if pins of a fused region differ."""
        (first, *others) = {(pin.kernel, pin.knobs) for pin in wanted}
        if others:
            return []
        name, knobs = first
        return (
            self.inner.with_knobs(ops, replace(how, coded=True), knobs, name) if knobs else self.all_kernels(ops, how)
        )

    def _copied(self, ops: Numbers, kernel: Packed) -> Packed:
        if kernel not in self._copies:
            self._copies[kernel] = self.inner.loaded(ops, kernel)
        return self._copies[kernel]

    def may_load(self, ops: Numbers) -> bool:
        return all(pin.constants != FLASH for pin in self._wanted(ops)) and self.inner.may_load(ops)

    def all_kernels(self, ops: Numbers, how: Lowering) -> list[Packed]:
        return self.inner.all_kernels(ops, replace(how, coded=True))

    def accumulating(self, ops: Numbers, how: Lowering) -> Packed | None:
        return self._unless_excluded(ops, self.inner.accumulating(ops, how))

    def ring_kernel(self, ops: Numbers, how: Lowering) -> Packed | None:
        return self._unless_excluded(ops, self.inner.ring_kernel(ops, how))

    def wanted_layouts(self, ops: Numbers, how: Lowering) -> list[Layout]:
        return self.inner.wanted_layouts(ops, how)

    def pinned(self, ops: Numbers) -> set[str]:
        return set(map(str, self._wanted(ops)))

    def _wanted(self, ops: Numbers) -> set[Pin]:
        return {self.pins[key] for n in ops if (key := _key(self.graph.ops[n])) in self.pins}

    def _unless_excluded(self, ops: Numbers, kernel: Packed | None) -> Packed | None:
        wanted = self._wanted(ops)
        able = kernel is not None and all(
            pin.admits(kernel) and not pin.knobs and pin.constants != RAM for pin in wanted
        )
        return kernel if able else None

    def check(self, ops: Numbers, how: Lowering) -> None:
        """Raises PinError if no kernel of the layer matches its pin, alone or fused with neighbours."""
        pieces = [ops, *(region for region in self.regions(how) if ops[0] in region)]
        if any(self._all(self, piece, how) for piece in pieces):
            return
        every = replace(how, coded=True)
        known = [k for piece in pieces for k in self._all(self.inner, piece, every)]
        choice = dict.fromkeys(k.name if k.family in k.name[:-3] else f"{k.name} ({k.family})" for k in known)
        remedy = f"there is to choose from: {', '.join(choice)}"
        refusals = [
            self.inner.refusal(ops, pin.kernel) or _not_asked(pin.kernel, [k.family for k in known])
            for pin in self._wanted(ops)
        ]
        if any(refusals):
            remedy = f"{'; '.join(filter(None, refusals))}; {remedy}"
        named = [k for k in known if all(pin.admits(k) for pin in self._wanted(ops))]
        if named:
            remedy = "; ".join(dict.fromkeys(self._knobs_of(k, pieces, every) for k in named))
        raise PinError(
            f"layer '{self.op(ops).name}' has no kernel '{', '.join(self.pinned(ops))}'",
            [self.graph.numbers[n] for n in ops],
            remedy=remedy,
        )

    def _knobs_of(self, kernel: Packed, pieces: Sequence[Numbers], how: Lowering) -> str:
        """The knobs of a kernel and their possible values, as text for an error."""
        layouts = [replace(how, reads=kernel.needs.reads), how]
        known = [self.inner.knobs(piece, each) for piece in pieces for each in layouts]
        choices = next((knobs[kernel.family] for knobs in known if kernel.family in knobs), {})
        texts = [f"{name}={'|'.join(map(str, values))}" for name, values in choices.items()]
        texts += [f"{CONSTANTS}={RAM}|{FLASH}"] if loadable(kernel) else []
        return f"{kernel.name} has {'the knobs ' + ', '.join(texts) if texts else 'no knobs'}"

    def _all(self, candidates: Candidates, ops: Numbers, how: Lowering) -> list[Packed]:
        """All candidate kernels of operators, with the first input in the model's layout or in the preferred one."""
        layout = candidates.preferred(ops, how)
        planar = [] if layout is None else candidates.kernels(ops, replace(how, reads=layout))
        called = (candidates.accumulating(ops, how), candidates.ring_kernel(ops, how))
        return [*candidates.kernels(ops, how), *planar, *(k for k in called if k is not None)]
