"""Decodes a program's instructions for cycle models.

The architecture's own decoder determines lengths and control flow; Capstone's disassembly determines data
operations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from mote.base.errors import MoteError
from mote.hardware.cores.cycles import CycleModel
from mote.hardware.cores.instructions import Timed
from mote.hardware.targets import Target
from mote.hardware.toolchain.machine_code import ElfCode


def cycle_model(target: Target) -> CycleModel:
    """Cycle model of a target's core."""
    models, name = target.core.cycles, target.cycle_model
    if name not in models:
        raise MoteError(
            f"there is no cycle model for the core '{name}'",
            where=f"target {target.name}",
            remedy=f"use a target with one of: {', '.join(models) or 'those of an emulated core'}",
        )
    return models[name]


def check_disassembler() -> None:
    if find_spec("capstone") is None:
        raise MoteError("cycles need the disassembler Capstone", remedy="pip install capstone")


def disassemble(code: ElfCode, blocks: Iterable[tuple[int, int]]) -> list[list[Timed]]:
    """Instructions of each block, given as (start, end) addresses."""
    if not code.machine.disassembler:
        return [list(_plain(code, start, end)) for start, end in blocks]
    check_disassembler()
    capstone: Any = import_module("capstone")
    arch, *modes = (getattr(capstone, name) for name in code.machine.disassembler)
    disassembler = capstone.Cs(arch, sum(modes))
    disassembler.detail = True
    return [list(_block(code, disassembler, start, end)) for start, end in blocks]


def _plain(code: ElfCode, at: int, end: int) -> Iterator[Timed]:
    """Decodes a block for architectures whose own decoder suffices."""
    while at < end:
        flow = code.instruction(at)
        yield code.machine.timed(at, flow, code.word(at), None)
        at += flow.size


def _block(code: ElfCode, disassembler: Any, at: int, end: int) -> Iterator[Timed]:
    """Disassembles a block by Capstone, sequentially because of IT blocks; stops at unknown instructions."""
    known: Iterator[Any] = iter(())
    while at < end:
        decoded = next(known, None)
        if decoded is None:
            known = disassembler.disasm(code.bytes(at, end), at)
            decoded = next(known, None)
        flow = code.instruction(at)
        yield code.machine.timed(at, flow, code.word(at), decoded)
        at += flow.size
