"""Static stack analysis: upper bound of a function's stack use in a linked ELF file, from machine code.

All paths from a function's entry to its return are followed with their stack depth, including called functions. This
covers compiler output, libraries and assembler alike, from the file alone. If paths meet with different depths, or
return with bytes left on the stack, the code was not understood and is rejected."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mote.base.errors import MoteError
from mote.hardware.cores.instructions import ControlKind, Decoded, Known
from mote.hardware.toolchain.machine_code import ElfCode, read_code


@dataclass(frozen=True)
class Frame:
    """A function in a call chain, with its stack bytes at the call of the next one; for the last one its maximum.

    A function that ends by a tail jump to the next one has no bytes left."""

    function: str
    size: int


@dataclass(frozen=True)
class Stack:
    """Deepest call chain from the entry."""

    size: int
    chain: tuple[Frame, ...]

    def __str__(self) -> str:
        return f"{self.size} = " + " + ".join(f"{f.function} {f.size}" for f in self.chain)


def worst_stack(elf: Path, *entries: str) -> Stack:
    """Maximum stack depth of these functions and everything they call, including their own frames.

    Raises an error for recursion, calls through pointers, and frames of variable size."""
    code = read_code(elf)
    for name in entries:
        if name not in code.functions:
            raise MoteError(f"has no function '{name}'", where=str(elf))
    known: dict[int, Stack] = {}
    return max((_deepest(code, code.functions[name], known, ()) for name in entries), key=lambda s: s.size)


def _deepest(code: ElfCode, entry: int, known: dict[int, Stack], callers: tuple[int, ...]) -> Stack:
    if entry in callers:
        raise _refusal(code, entry, "calls itself, directly or through others")
    if entry not in known:
        walk = _Walk(code)
        walk.walk(entry)
        depth, at = max((depth, -at) for at, depth in walk.depths.items())
        chains = [Stack(depth, _frames(code, entry, -at, depth))]
        for at, target in walk.calls.items():
            below = _deepest(code, target, known, (*callers, entry))
            depth = walk.depths[at] + (code.machine.pushed if code.instruction(at).calls else 0)
            frames = _frames(code, entry, at, depth)
            chains.append(Stack(depth + below.size, (*frames, *below.chain)))
        known[entry] = max(chains, key=lambda s: s.size)
    return known[entry]


def _frames(code: ElfCode, entry: int, at: int, depth: int) -> tuple[Frame, ...]:
    first, last = code.names[code.start(entry)], code.names[code.start(at)]
    return (Frame(last, depth),) if first == last else (Frame(first, 0), Frame(last, depth))


def _refusal(code: ElfCode, at: int, why: str) -> MoteError:
    start = code.start(at)
    return MoteError(
        f"the stack that '{code.names[start]}' needs is not known: it {why} (at +{at - start:#x})",
        where=str(code.elf),
        remedy="no generated code does that: if it is generated, this is a bug of Mote",
    )


@dataclass(frozen=True)
class _State:
    """State before an instruction: stack bytes since the entry, and known register values.

    `runs` tells which of the following instructions execute, if an IT instruction makes that conditional."""

    depth: int = 0
    known: Known = field(default_factory=dict)
    runs: tuple[bool, ...] = ()


@dataclass
class _Walk:
    """Follows all instructions reachable from an entry to its return, excluding called functions.

    By address: `depths` is the maximum stack depth around an instruction, `calls` the called functions, `jumps` the
    computed jumps."""

    code: ElfCode
    depths: dict[int, int] = field(default_factory=dict)
    calls: dict[int, int] = field(default_factory=dict)
    jumps: dict[int, ControlKind] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)
    inside: set[tuple[int, int]] = field(default_factory=set)
    """Functions that call a part of themselves, with the stack depth there: that part may return to them."""
    seen: dict[tuple[int, tuple[bool, ...]], _State] = field(default_factory=dict)

    def walk(self, entry: int) -> None:
        self._follow(entry, _State())
        done: set[int] = set()
        while functions := {self.code.start(at) for at in self.jumps} - done:
            for function in functions:
                self._follow_jumps(function)
            done |= functions

    def _follow_jumps(self, function: int) -> None:
        """Follows jump tables to code of a function that nothing else reaches."""
        depth = next(self.depths[at] for at in self.jumps if self.code.start(at) == function)
        at, reached, padding = function, False, self.code.machine.padding
        while at < self.code.ends[function]:
            if at not in self.sizes and self.code.is_code(at) and self.code.word(at) & 0xFFFF not in padding:
                self._follow(at, _State(depth))
                reached = True
            at += self.sizes.get(at, 2)
        for at, kind in self.jumps.items():
            if self.code.start(at) == function and self.depths[at] != depth:
                raise _refusal(self.code, at, "jumps by tables with different amounts on the stack")
            if self.code.start(at) == function and kind == ControlKind.REGISTER and not reached:
                raise _refusal(self.code, at, "calls through a pointer")

    def _follow(self, at: int, state: _State) -> None:
        pending = [(at, state)]
        while pending:
            at, state = pending.pop()
            if self._is_new(at, state):
                state = self.seen[at, state.runs]
                pending += self._step(at, state)

    def _is_new(self, at: int, state: _State) -> bool:
        """Whether a state adds information at an address; register values are kept only if equal on all paths."""
        if not self.code.is_code(at):
            raise _refusal(self.code, at, "runs into what is not code")
        before = self.seen.get((at, state.runs))
        if before is None:
            self.seen[at, state.runs] = state
            return True
        if before.depth != state.depth:
            raise _refusal(self.code, at, f"has {before.depth} or {state.depth} bytes on the stack, by the path taken")
        common = dict(before.known.items() & state.known.items())
        self.seen[at, state.runs] = _State(state.depth, common, state.runs)
        return len(common) < len(before.known)

    def _step(self, at: int, state: _State) -> Iterator[tuple[int, _State]]:
        """Successors of an instruction within the function."""
        i = self.code.instruction(at, state.known)
        behind = at + i.size
        self.sizes[at] = i.size
        if state.runs and not state.runs[0]:
            yield behind, _State(state.depth, state.known, state.runs[1:])
            return
        depth = state.depth + i.grows
        self.depths[at] = max(state.depth, depth, self.depths.get(at, 0))
        self._check(at, i.kind, depth)
        kind = i.kind
        if self._is_far_jump(at, i):
            kind = ControlKind.JUMP
            self.inside.add((self.code.start(at), depth))
        if kind == ControlKind.CALL or self._is_tail_call(at, kind, i.target, depth):
            self.calls[at] = i.target
        elif kind in (ControlKind.JUMP, ControlKind.BRANCH, ControlKind.LOOP, ControlKind.DETOUR):
            yield i.target, _State(depth, i.known)
        if kind == ControlKind.CALL and not self.code.is_code(behind):
            kind = ControlKind.TABLE  # the table is behind the call of a function that jumps by it
        if kind in (ControlKind.TABLE, ControlKind.REGISTER):
            self.jumps[at] = kind
        if kind in (ControlKind.PLAIN, ControlKind.BRANCH, ControlKind.LOOP, ControlKind.CALL):
            yield behind, _State(depth, i.known, i.runs or state.runs[1:])
        if i.runs:
            yield behind, _State(depth, i.known, tuple(not r for r in i.runs))

    def _is_far_jump(self, at: int, i: Decoded) -> bool:
        """Whether a call is a long jump within the function: Armv6-M jumps beyond 2 KB are calls into the same
        function, and libgcc's double multiplication on Armv7-M calls a part of itself."""
        start = self.code.start(at)
        return i.kind == ControlKind.CALL and start < i.target < self.code.ends[start]

    def _is_tail_call(self, at: int, kind: ControlKind, target: int, depth: int) -> bool:
        other = target in self.code.names and target != self.code.start(at)
        return kind in (ControlKind.JUMP, ControlKind.BRANCH) and other and depth == 0

    def _check(self, at: int, kind: ControlKind, depth: int) -> None:
        if kind in (ControlKind.POINTER, ControlKind.TAIL):
            raise _refusal(self.code, at, "calls through a pointer")
        if kind == ControlKind.DYNAMIC:
            raise _refusal(self.code, at, "moves the stack pointer by an amount that is not a constant")
        if kind == ControlKind.RETURN and depth and (self.code.start(at), depth) not in self.inside:
            raise _refusal(self.code, at, f"returns with {depth} bytes on the stack")
