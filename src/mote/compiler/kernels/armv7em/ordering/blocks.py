"""Splits a function's assembly into basic blocks of schedulable instructions, with the registers that are live after
each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from mote.compiler.kernels.armv7em.ordering.text import FLAGS, GENERAL, Operation, parsed

Registers = frozenset[str]

_LABEL = re.compile(r"^(\d+):$")
_BRANCH = re.compile(r"^b(\w\w)?(?:\.[nw])? (\d+)([bf])$")
_JUMP = "ldr pc, "
_WORD = re.compile(r"\b(r\d+|lr|[sd]\d+)-?(r\d+|[sd]\d+)?\b")
_FLOATS = tuple(f"s{i}" for i in range(32))
ALL: Registers = frozenset((*GENERAL, *_FLOATS, FLAGS))
_KEPT: Registers = frozenset((*(f"r{i}" for i in range(4, 12)), *_FLOATS[16:]))
"""Callee-saved registers."""


def halves(register: str) -> tuple[str, ...]:
    """A register, or the two single-precision registers that form a double one."""
    return (f"s{2 * int(register[1:])}", f"s{2 * int(register[1:]) + 1}") if register[0] == "d" else (register,)


@dataclass(frozen=True)
class StraightLines:
    """Consecutive lines without a jump; `needed`: registers that are live after them; `looped`: they run in a loop."""

    lines: tuple[str, ...]
    needed: Registers = frozenset()
    looped: bool = False


@dataclass(frozen=True)
class _Line:
    text: str
    operations: tuple[Operation, ...] | None
    jumped: Registers

    @property
    def reads(self) -> Registers:
        if self.operations is None:
            return self.jumped if self.text.startswith(_JUMP) else _fixed(self.text)[0]
        written: set[str] = set()
        read: set[str] = set()
        for operation in self.operations:
            read |= {r for x in operation.reads_of() for r in halves(x)} - written
            written |= {r for x in operation.writes_of() for r in halves(x)}
        return frozenset(read)

    @property
    def writes(self) -> Registers:
        """Registers that are certainly overwritten by this line."""
        if self.operations is None:
            return _fixed(self.text)[1]
        return frozenset(r for operation in self.operations for x in operation.writes_of() for r in halves(x))


def _fixed(text: str) -> tuple[Registers, Registers]:
    """Registers that a line outside of the scheduler's instruction set reads and writes; unknown instructions read all
    registers."""
    if _LABEL.match(text):
        return frozenset(), frozenset()
    name = text.split()[0].removesuffix(".w")
    named = frozenset(r for group in re.findall(r"\{(.*)\}", text) for r in _members(group))
    if name in ("push", "vpush"):
        return named, frozenset()
    if name == "pop" and "pc" in text:
        return _KEPT - named, named
    if name in ("pop", "vpop"):
        return frozenset(), named
    if name in ("add", "sub") and re.match(r"(add|sub)(\.w)? sp, sp, #\d+$", text):
        return frozenset(), frozenset()
    if branch := _BRANCH.match(text):
        return frozenset({FLAGS} if branch[1] else ()), frozenset()
    return ALL, frozenset()


def _members(listed: str) -> list[str]:
    registers = []
    for first, last in _WORD.findall(listed):
        kind = first[0]
        numbers = range(int(first[1:]), int(last[1:]) + 1) if last else range(0)
        registers += [f"{kind}{i}" for i in numbers] or [first]
    return [half for register in registers for half in halves(register)]


def split_blocks(code: Sequence[str], jumped: Registers = ALL) -> list[StraightLines]:
    """All lines of a function in order: schedulable blocks, and between them lines that stay in place. Lines between an
    indirect jump and the next label also stay, because the jump may target them. `jumped`: registers that are live
    after an indirect jump. Loops leave their results in registers that later code reads."""
    lines = [_Line(text, None if (operations := parsed(text)) is None else tuple(operations), jumped) for text in code]
    behind = _live_after(lines)
    loops = _loops(lines) - _after_indirect_jumps(lines)
    pieces = []
    for (movable, looped), group in groupby(
        range(len(lines)), key=lambda n: (lines[n].operations is not None, n in loops)
    ):
        members = list(group)
        texts = tuple(code[n] for n in members)
        pieces.append(StraightLines(texts, behind[members[-1]] if movable else frozenset(), movable and looped))
    return pieces


def _targets(lines: Sequence[_Line]) -> list[int | None]:
    """Index of the line that each branch targets; None: no branch."""
    labels = [(n, match[1]) for n, line in enumerate(lines) if (match := _LABEL.match(line.text))]
    targets: list[int | None] = []
    for n, line in enumerate(lines):
        branch = _BRANCH.match(line.text)
        places = [at for at, label in labels if branch and label == branch[2] and (at < n) == (branch[3] == "b")]
        targets.append(None if not branch else max(places) if branch[3] == "b" else min(places))
    return targets


def _live_after(lines: Sequence[_Line]) -> list[Registers]:
    """Registers that are live after each line (read before they are written)."""
    targets = _targets(lines)
    reads, writes = [line.reads for line in lines], [line.writes for line in lines]
    before: list[Registers] = [frozenset()] * len(lines)
    behind: list[Registers] = [frozenset()] * len(lines)
    changed = True
    while changed:
        changed = False
        for n in reversed(range(len(lines))):
            target, text = targets[n], lines[n].text
            ends = re.match(r"b(\.[nw])? ", text) or (text.startswith(("pop", "bx")) and ("pc" in text or "bx" in text))
            ends = ends or text.startswith(_JUMP)
            after = frozenset() if ends or n + 1 == len(lines) else before[n + 1]
            after |= before[target] if target is not None else frozenset()
            now = reads[n] | (after - writes[n])
            changed |= now != before[n]
            before[n], behind[n] = now, after
    return behind


def _after_indirect_jumps(lines: Sequence[_Line]) -> set[int]:
    """Indices of the lines from an indirect jump to the next label."""
    behind, jumped = set(), False
    for n, line in enumerate(lines):
        jumped = line.text.startswith(_JUMP) or (jumped and not _LABEL.match(line.text))
        behind |= {n} if jumped else set()
    return behind


def _loops(lines: Sequence[_Line]) -> set[int]:
    """Indices of the lines between a label and a branch back to it."""
    return {
        line
        for n, target in enumerate(_targets(lines))
        if target is not None and target < n
        for line in range(target, n + 1)
    }
