"""The search for constants that turn a channel's sums into the bytes that the reference gives.

A sum x arrives as y = factor * x + offset, and a kernel does

    out = saturate(((y * mult >> 32) + add + (y < 0 ? 0 : fix)) >> shift)

or, where its instructions round by halves and leave nothing else to choose (`ROUNDING`, the vectors of Helium),

    out = saturate((((y * mult + 2^30) >> 31) + 2^shift) >> (shift + 1))

or, where only the multiplication rounds (`HALF_CHOOSING`),

    out = saturate((((y * mult + 2^30) >> 31) + add) >> shift)

The reference is a staircase: the sums at which its output becomes one more. Every step says how large
c = offset * mult + (add << 32) has to be at least, so that the step is reached, and what it has to stay below, so that
the sum before does not reach it. All constants between the tightest bounds are exact for every sum, whatever formula
the staircase comes from: nothing else is known of it here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

import numpy as np

from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.numeric.staircase import NEAR, reached
from mote.ir.ops.matrix.accumulators import Accumulators

REGISTER = 1 << 31
"""Sums as they arrive, and multipliers, are below this."""
LOWEST, HIGHEST = -128, 127
"""Outputs saturate here."""
TILT = 16
"""Products in single precision are rounded by 1 / 2^24 at most: multipliers that are further from the nearest one than
1 / 2^16 have no better bounds."""
TURNS = (0, -1, 1)
"""The sums that may be the first to arrive not below zero, which the offset decides."""


class ProductForm(NamedTuple):
    """How a kernel shifts and rounds the product of an accumulator and its multiplier."""

    neighbours: tuple[int, ...]
    """The multipliers that are tried, from the nearest one."""
    rounds: bool = False
    """It rounds the product and the shift by halves; else `add` and `fix` can be chosen."""
    bits: int = 32
    """How many bits of the product are dropped."""
    half: int = 0
    """Added to the product before these bits are dropped."""

    @property
    def one(self) -> int:
        """The increment of c for one more in `add`."""
        return 1 << self.bits

    def added(self, shift: int) -> int:
        """The rounding terms of product and shift, in c."""
        return (1 << 30) + (1 << 31 + shift)


CHOOSING = ProductForm((0, 1, -1, 2, -2))
ROUNDING = ProductForm(tuple(sorted(range(-400, 401), key=abs)), rounds=True)
"""With nothing but a multiplier and an offset to choose it takes more of them to find both."""
HALF_CHOOSING = ProductForm((0, 1, -1, 2, -2), bits=31, half=1 << 30)
"""Without `fix`."""


class Constants(NamedTuple):
    """The requantization constants of a channel."""

    offset: int
    mult: int
    add: int
    fix: int


@dataclass(frozen=True)
class Staircase:
    """The outputs of a channel's sums low..high."""

    low: int
    high: int
    first: int
    """The output at `low`."""
    steps: Ints
    """The sums at which the output becomes first + 1, first + 2 and so on."""
    _corners: dict[tuple[int, int], tuple[Ints, Ints, Ints, Ints]] = field(default_factory=dict, compare=False)

    def part(self, low: int, high: int) -> Staircase:
        """Some of the sums, of which there is one at least."""
        before, until = np.searchsorted(self.steps, [low, high], side="right").tolist()
        return Staircase(low, high, self.first + before, self.steps[before:until])

    def within(self, lowest: int, highest: int) -> Staircase:
        """With outputs that are cut off there."""
        ends = self.first, self.first + len(self.steps)
        first, last = np.clip(ends, lowest, highest).tolist()
        return Staircase(self.low, self.high, first, self.steps[first - self.first : last - self.first])

    def corners(self, limits: tuple[int, int]) -> tuple[Ints, Ints, Ints, Ints]:
        """Outputs above the lower limit and the first sum of each; one more than outputs below the upper limit and the
        last sum of each."""
        if limits not in self._corners:
            values = np.arange(self.first, self.first + len(self.steps) + 1, dtype=np.int64)
            above, below = values > limits[0], values < limits[1]
            reached_at, missed_at = np.append(self.low, self.steps), np.append(self.steps - 1, self.high)
            self._corners[limits] = values[above], reached_at[above], values[below] + 1, missed_at[below]
        return self._corners[limits]


def staircases(sums: Accumulators) -> list[Staircase]:
    """The staircases of all channels."""
    first, last = sums.outputs(sums.low), sums.outputs(sums.high)
    values = np.arange(-127, 128, dtype=np.int64)[:, None]
    scales = np.ldexp(np.maximum(sums.mult, 1).astype(np.float64), sums.shift - 31)
    nearly = np.clip((values - 0.5 - sums.zero) / scales, -REGISTER, REGISTER).astype(np.int64)
    steps = reached(sums.outputs, sums.low, sums.high, values, near=(nearly - NEAR, nearly + NEAR)).T
    ends = zip(sums.low.tolist(), sums.high.tolist(), first.tolist(), last.tolist(), steps, strict=True)
    return [Staircase(low, high, a, own[a + 128 : b + 128]) for low, high, a, b, own in ends]


def searched(
    sums: Accumulators,
    factors: Ints,
    shift: int,
    way: ProductForm = CHOOSING,
    limits: tuple[int, int] = (LOWEST, HIGHEST),
) -> Ints | None:
    """[channels, 4]: the constants of all channels, whose sums arrive times these factors, for outputs that are cut off
    at the limits; None where one has none. A channel with one result for all sums has no multiplier, or, where the
    kernel rounds, one of 2^30 for sums that are zero."""
    value, active = sums.outputs(sums.low), np.flatnonzero(~sums.constant)
    rows = np.stack([0 * value, 0 * value, (value << shift) + (1 << shift >> 1), 0 * value], axis=1)
    if way.rounds:
        rows = np.stack([value << shift + 2, 0 * value + (1 << 30), 0 * value, 0 * value], axis=1)
    linear = sums.linear and sums.zero > limits[0]
    for channel, stairs in zip(active.tolist(), staircases(sums.some(active)), strict=True):
        factor, bits = int(factors[channel]), shift + way.bits - 31 + int(sums.shift[channel])
        whole, parts = int(sums.mult[channel]) << max(bits, 0), factor << max(-bits, 0)
        nearest = (whole + parts // 2) // parts
        steps = stairs.within(*limits)
        constants = search(steps, factor, shift, nearest, linear=linear, way=way, limits=limits)
        if constants is None and sums.even:
            best = best_multiplier(steps, factor, shift, nearest, way, limits)
            constants = search(steps, factor, shift, best, linear=False, way=way, limits=limits)
        if constants is None:
            return None
        rows[channel] = constants
    return rows


def search(
    stairs: Staircase,
    factor: int,
    shift: int,
    nearest: int,
    *,
    linear: bool,
    way: ProductForm = CHOOSING,
    limits: tuple[int, int] = (LOWEST, HIGHEST),
) -> Constants | None:
    """Constants with which every step is where it should be, by multipliers around `nearest`; without `fix` where the
    layer is not `linear`, the channel's sums have one sign, or the kernel has none."""
    crosses = linear and stairs.low < 0 <= stairs.high and not way.rounds
    turns = [turn for turn in TURNS if stairs.low < turn <= stairs.high] if crosses else [None]
    mults = [nearest + d for d in way.neighbours if way.rounds <= nearest + d < REGISTER]
    for mult, turn in product(mults, turns):
        arriving = _Arriving(factor, mult, shift, way, limits)
        constants = arriving.without_fix(stairs) if turn is None else arriving.with_fix(stairs, turn)
        if constants is not None and arriving.fits(stairs, constants.offset):
            return constants
    return None


def room_of(
    stairs: Staircase, factor: int, shift: int, mult: int, way: ProductForm, limits: tuple[int, int]
) -> tuple[int, int]:
    """The least and the largest c with which the steps are right; the one is above the other where there is none."""
    return _Arriving(factor, mult, shift, way, limits).bounds(stairs)


def best_multiplier(
    stairs: Staircase, factor: int, shift: int, nearest: int, way: ProductForm, limits: tuple[int, int]
) -> int:
    """The multiplier near `nearest` whose bounds of c are the furthest apart. That is concave, so it is found by
    comparing two in the middle."""

    def room(mult: int) -> int:
        low, high = room_of(stairs, factor, shift, mult, way, limits)
        return high - low

    low, high = nearest - (nearest >> TILT), nearest + (nearest >> TILT)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if room(middle) < room(middle + 1) else (low, middle)
    return low


@dataclass(frozen=True)
class _Arriving:
    """Sums that arrive times `factor` and are multiplied by `mult`."""

    factor: int
    mult: int
    shift: int
    way: ProductForm
    limits: tuple[int, int]

    def fits(self, stairs: Staircase, offset: int) -> bool:
        low, high = (self.factor * end + offset for end in (stairs.low, stairs.high))
        return low >= -REGISTER and high < REGISTER

    def without_fix(self, stairs: Staircase) -> Constants | None:
        low, high = self.bounds(stairs)
        if self.way.rounds:
            return self._rounded(low, high)
        low, high, one = low - self.way.half, high - self.way.half, self.way.one
        offset = _least_offset(self.mult, low, high, one)
        return None if offset is None else Constants(offset, self.mult, -((offset * self.mult - low) // one), 0)

    def _rounded(self, low: int, high: int) -> Constants | None:
        """The offset with which c is nearest to the middle of its bounds, if it is between them."""
        added = self.way.added(self.shift)
        offset = ((low + high - 2 * added) // self.mult + 1) // 2
        return Constants(offset, self.mult, 0, 0) if low <= offset * self.mult + added <= high else None

    def with_fix(self, stairs: Staircase, turn: int) -> Constants | None:
        """Sums that arrive below zero, which are those before `turn`, have bounds of their own; `fix` moves those of
        the others to where they meet."""
        below = self.bounds(stairs.part(stairs.low, turn - 1))
        above = self.bounds(stairs.part(turn, stairs.high))
        start, one = -turn * self.factor, self.way.one
        for fix in range(-((below[1] - above[0]) // one), (above[1] - below[0]) // one + 1):
            low, high = max(below[0], above[0] - fix * one), min(below[1], above[1] - fix * one)
            more = _least_offset(self.mult, low - start * self.mult, high - start * self.mult, one)
            if more is not None and more < self.factor:
                offset = start + more
                return Constants(offset, self.mult, -((offset * self.mult - low) // one), fix)
        return None

    def bounds(self, stairs: Staircase) -> tuple[int, int]:
        """The least and the largest c with which the steps are right. Saturation needs no bound; where one is
        missing, c stays near the other."""
        values, reached_at, others, missed_at = stairs.corners(self.limits)
        bits, one = self.way.bits + self.shift, self.way.one
        at_least = (values << bits) - reached_at * self.factor * self.mult
        below = (others << bits) - missed_at * self.factor * self.mult
        low = int(at_least.max()) if len(at_least) else int(below.min()) - one
        return low, int(below.min()) - 1 if len(below) else low + one - 1


def _least_offset(mult: int, low: int, high: int, one: int) -> int | None:
    """The least offset with which offset * mult, and some multiple of `one`, is in low..high."""
    if low > high:
        return None
    start = low % one
    return 0 if start + high - low >= one else _least_factor(mult, one, start, start + high - low)


def _least_factor(number: int, modulus: int, low: int, high: int) -> int | None:
    """The least k >= 0 with low <= k * number % modulus <= high < modulus. As in Euclid's algorithm: where no multiple
    of the number itself is there, how often the modulus is passed is the same question for a smaller modulus."""
    if low == 0:
        return 0
    number %= modulus
    if number == 0:
        return None
    k = -(-low // number)
    if k * number <= high:
        return k
    passed = _least_factor(modulus, number, -high % number, -low % number)
    return None if passed is None else -(-(low + passed * modulus) // number)
