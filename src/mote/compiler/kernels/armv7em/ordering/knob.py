"""The knob `order`: a kernel's code in source order, or scheduled for a core."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace

from mote.compiler.kernels.armv7em.ordering.schedule import Order, ordered
from mote.compiler.kernels.contract import Entry, Instance, Kernel, Knob, Packed, Refusal, View

WRITTEN = "written"
SINGLE: tuple[Order, ...] = (Order.M4,)
DUAL: tuple[Order, ...] = (Order.M7,)
"""Instruction schedules for single-issue cores, and for dual-issue cores."""
BOTH = (*SINGLE, *DUAL)


def order_knob(view: View) -> Mapping[str, tuple[Knob, ...]]:
    """The knob of kernels that schedule their code themselves."""
    return {"order": (WRITTEN, *BOTH)}


SAME = Refusal("its code is in that order already")


def with_order(kernel: Kernel, orders: tuple[Order, ...] = BOTH) -> Kernel:
    """The kernel with the additional knob `order`."""

    def pack(view: View, *, order: Order | None = None, **others: object) -> Packed | Refusal:
        packed = kernel.pack(view, **others)
        return packed if order is None or isinstance(packed, Refusal) else in_order(packed, order)

    def knobs(view: View) -> Mapping[str, tuple[Knob, ...]]:
        return {**kernel.choices(view), "order": (WRITTEN, *orders)}

    return replace(kernel, pack=pack, knobs=knobs)


def in_order(packed: Packed, order: Order) -> Packed | Refusal:
    """A kernel whose code is rescheduled, with function names of its own; a refusal if the schedule is already that
    one."""
    scheduled = tuple(replace(i, code=ordered(i.code, order)) if i.code else i for i in packed.instances)
    return SAME if scheduled == packed.instances else _named(replace(packed, instances=scheduled), f"_{order}")


def _named(packed: Packed, end: str) -> Packed:
    """Append a suffix to the names of the kernel and of its generated functions."""
    whole = str(packed.instances[-1].arguments[0])
    coded = sorted((str(i.arguments[0]) for i in packed.instances if i.code), key=len)

    def renamed(text: str | int) -> str | int:
        if isinstance(text, int):
            return text
        start = next((s for s in (whole, *coded) if text == s or text.startswith(f"{s}_")), None)
        return text if start is None else f"{start}{end}{text.removeprefix(start)}"

    def argument(instance: Instance) -> Instance:
        return replace(instance, arguments=tuple(map(renamed, instance.arguments)))

    assert packed.name.endswith(whole)
    name = f"{packed.name}{end}"
    named: dict[str, object] = {
        field.name: value.replace(packed.name, name)
        for field in fields(Entry)
        if isinstance(value := getattr(packed.entry, field.name), str) and packed.name in value
    }
    entry: Callable[..., Entry] = replace
    return replace(
        packed, name=name, instances=tuple(map(argument, packed.instances)), entry=entry(packed.entry, **named)
    )
