"""Damaged command streams and weights against all that reads them: python -m tests.hardware.npu.fuzz --minutes 5.

Streams of random models that Vela compiles are good, and touch nothing but their own memory. A mutant of one is refused
with a reason or it is good: then the checker on the device says so too, it is executed in memory between guards, and
nothing changes but the bytes that its footprint writes. A failure is printed with its number, and `--only 123` tries
that one again.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import traceback
from collections import Counter
from collections.abc import Sequence
from functools import cache
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from mote.base.errors import MoteError
from mote.hardware.npu import weights
from mote.hardware.npu.check import Footprint, check
from mote.hardware.npu.disassembly import disassemble
from mote.hardware.npu.functional import execute
from mote.hardware.npu.hazards import judge
from mote.hardware.npu.stream import CommandStream, decode
from tests.hardware.npu.checker import Status, decided
from tests.hardware.npu.compiled import Compiled, compiled, compiled_apart
from tests.hardware.npu.mutate import mutant, short_stream

CORES = ("ethos-u55-32", "ethos-u55-128", "ethos-u65-256", "ethos-u65-512", "ethos-u85-256")
GUARD = 64
"""Bytes in front of each area and behind it that no stream may touch."""
EVERY_EXECUTED = 4
"""One good stream of a whole model in so many is executed; all short ones are."""
EVERY_COMPILED = 10
"""One trial in so many is a random model, the others are mutants."""
OUT_OF_BOUNDS = re.compile(r"^it (reads|writes) bytes \S+ to \S+ behind base|^there is no memory|is read only$")
"""Refusals of the functional model that the check should have made."""


def trial(number: int) -> str:
    """One mutant by its number, and its fate in a word."""
    chance = random.Random(number)
    kind = chance.randrange(4)
    if kind == 0:
        return _weights(chance)
    if kind == 1:
        core = chance.choice(("ethos-u55", "ethos-u65", "ethos-u85"))
        sizes = [chance.choice((0, 512, 1024, 4096)) for _ in range(3)]
        writable = [chance.random() < 0.8 for _ in range(3)]
        return _stream(short_stream(core, chance).encode(), sizes, writable, b"", chance)
    part: Compiled = chance.choice(compiled("digits", chance.choice(CORES)))
    constants = mutant(part.weights, chance) if kind == 2 else part.weights
    constants = constants.ljust(part.sizes[0], b"\0")[: part.sizes[0]]
    whole = not chance.randrange(EVERY_EXECUTED)
    return _stream(mutant(part.payload, chance), part.sizes, part.writable, constants, chance, executed=whole)


def vela_trial(number: int) -> str:
    """Streams of a random model, by its number: they touch their own memory, wait where they must, and write only what
    their footprints say."""
    from tests.fuzz.bases import base  # it imports half of the tests

    chance = random.Random(number)
    _, model = base(chance)
    parts = compiled_apart(model, chance.choice(CORES))
    for part in parts or ():
        stream = decode(part.payload)
        footprint = judge(stream, part.sizes, part.writable)
        _executed(stream, footprint, part.sizes, part.writable, part.weights, chance)
    return "not compiled" if parts is None else "compiled" if parts else "nothing for the NPU"


def _stream(
    payload: bytes,
    sizes: Sequence[int],
    writable: Sequence[bool],
    constants: bytes,
    chance: random.Random,
    *,
    executed: bool = True,
) -> str:
    checkers = {core: decided(payload, sizes, writable, core) for core in ("ethos-u55", "ethos-u85")}
    assert all(at <= len(payload) for _, at in checkers.values())
    good = Status.OK in [status for status, _ in checkers.values()]
    try:
        stream = decode(payload)
        disassemble(stream)
    except MoteError as error:
        _explained(error)
        assert not good, error
        return "not decoded"
    try:
        footprint = check(stream, sizes, writable)
    except MoteError as error:
        _explained(error)
        assert not good, error
        return "refused"
    assert good or stream.form == "COP2", f"only Python takes it: {checkers}"
    if not executed:
        return "good"
    return _executed(stream, footprint, sizes, writable, constants, chance)


def _executed(
    stream: CommandStream,
    footprint: Footprint,
    sizes: Sequence[int],
    writable: Sequence[bool],
    constants: bytes,
    chance: random.Random,
) -> str:
    """Execute a good stream; only what the footprint says is written changes, and never a guard."""
    rng = np.random.default_rng(chance.randrange(1 << 32))
    blocks = [rng.integers(0, 256, size + 2 * GUARD, np.uint8) for size in sizes]
    areas = [block[GUARD : GUARD + size] for block, size in zip(blocks, sizes, strict=True)]
    areas[0][: len(constants)] = np.frombuffer(constants, np.uint8)
    before = [block.copy() for block in blocks]
    for area, may in zip(areas, writable, strict=True):
        area.flags.writeable = may
    fate = "executed"
    try:
        execute(stream, areas)
    except MoteError as error:
        _explained(error)
        assert not OUT_OF_BOUNDS.search(error.reason), f"the check let pass: {error}"
        fate = "not executed"
    for base, (block, old) in enumerate(zip(blocks, before, strict=True)):
        changed = np.flatnonzero(block != old) - GUARD
        assert not changed.size or not _outside(changed, footprint, base), f"base pointer {base}: {changed[:8]}"
    return fate


def _outside(changed: NDArray[np.int64], footprint: Footprint, base: int) -> bool:
    inside = np.zeros(changed.size, bool)
    for operation in footprint.operations:
        for span in operation.writes:
            if span.base == base:
                inside |= (changed >= span.first) & (changed < span.end)
    return not inside.all()


@cache
def weight_streams() -> tuple[bytes, ...]:
    """The compressed weights of a model on each core, where its operations read them or transfers take them from."""
    listed = []
    for core in CORES:
        part = compiled("digits", core)[0]
        source: dict[int, int] = {}
        for touched in check(decode(part.payload), part.sizes, part.writable).operations:
            if touched.operation.name == "DMA_START":
                (read,), (written,) = touched.reads, touched.writes
                source[written.base] = read.first - written.first
            for span in touched.reads:
                if span.registers.startswith("WEIGHT"):
                    moved = source.get(span.base, 0)
                    listed.append(part.weights[span.first + moved : span.end + moved])
    return tuple(listed)


def _weights(chance: random.Random) -> str:
    """A stream of weights, whole or damaged, in one of the two formats."""
    data = mutant(chance.choice(weight_streams()), chance)
    try:
        decoded = chance.choice((weights.decode, weights.decode, weights.decode_fast))(data)
    except MoteError as error:
        _explained(error)
        return "weights refused"
    assert decoded.dtype == np.int16 and np.abs(decoded).max(initial=0) <= weights.LARGEST
    return "weights decoded"


def _explained(error: MoteError) -> None:
    assert error.reason and error.remedy and "byte" in error.where, error


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 40))
    parser.add_argument("--only", type=int)
    arguments = parser.parse_args()
    if arguments.only is not None:
        print((vela_trial if arguments.only % EVERY_COMPILED == 0 else trial)(arguments.only))
        return 0
    fates: Counter[str] = Counter()
    failed = 0
    end = monotonic() + 60 * arguments.minutes
    number = arguments.seed
    while monotonic() < end:
        try:
            fates[vela_trial(number) if number % EVERY_COMPILED == 0 else trial(number)] += 1
        except Exception:
            failed += 1
            print(f"trial {number}:\n{traceback.format_exc()}", flush=True)
        number += 1
    print(f"{sum(fates.values()) + failed:,} trials: " + ", ".join(f"{n:,} {fate}" for fate, n in fates.most_common()))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
