"""Search for requantization constants with which a channel's accumulators give exactly the reference's int8 results.

An accumulator x arrives as y = factor * x + offset, and a kernel computes

    out = saturate(((y * mult >> 32) + add + (y < 0 ? 0 : fix)) >> shift)

or, where its instructions round and have no addend (`ROUNDING`, the vectors of Helium),

    out = saturate((((y * mult + 2^30) >> 31) + 2^shift) >> (shift + 1))

or, where only the multiplication rounds (`HALF_CHOOSING`),

    out = saturate((((y * mult + 2^30) >> 31) + add) >> shift)

The reference is a staircase function, described by the accumulators at which its output increases by one. Each step
gives a lower bound for c = offset * mult + (add << 32), so that the step is reached, and an upper bound, so that the
accumulator before it does not reach it. All constants between the tightest bounds are exact for every accumulator,
whatever formula the staircase comes from.
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
"""Exclusive limit for the absolute value of scaled accumulators and for multipliers."""
LOWEST, HIGHEST = -128, 127
"""Range that outputs saturate to."""
TILT = 16
"""log2 of the relative search range around the nearest multiplier: float32 products are rounded by at most 1 / 2^24, so
that multipliers further away than 1 / 2^16 have no better bounds."""
TURNS = (0, -1, 1)
"""Candidates for the first accumulator that the kernel treats as non-negative; the offset decides which one it is."""


class ProductForm(NamedTuple):
    """Formula by which a kernel multiplies, rounds and shifts an accumulator."""

    neighbours: tuple[int, ...]
    """Differences from the nearest multiplier that are tried, in order."""
    rounds: bool = False
    """Whether product and shift are rounded to nearest and there is no `add` or `fix` to choose."""
    bits: int = 32
    """Number of low bits of the product that are dropped."""
    half: int = 0
    """Rounding term added to the product before these bits are dropped."""

    @property
    def one(self) -> int:
        """Increase of c if `add` increases by one."""
        return 1 << self.bits

    def added(self, shift: int) -> int:
        """Value of the rounding terms of product and shift, in units of c."""
        return (1 << 30) + (1 << 31 + shift)


CHOOSING = ProductForm((0, 1, -1, 2, -2))
ROUNDING = ProductForm(tuple(sorted(range(-400, 401), key=abs)), rounds=True)
"""Formula with only a multiplier and an offset to choose; more multipliers must be tried to find both."""
HALF_CHOOSING = ProductForm((0, 1, -1, 2, -2), bits=31, half=1 << 30)
"""Formula with a rounded product and a free addend, but without `fix`."""


class Constants(NamedTuple):
    """Requantization constants of one channel."""

    offset: int
    mult: int
    add: int
    fix: int


@dataclass(frozen=True)
class Staircase:
    """The reference's output as a step function of one channel's accumulator, for accumulators low..high."""

    low: int
    high: int
    first: int
    """Output for the accumulator `low`."""
    steps: Ints
    """The accumulators at which the output becomes first + 1, first + 2, and so on."""
    _corners: dict[tuple[int, int], tuple[Ints, Ints, Ints, Ints]] = field(default_factory=dict, compare=False)

    def part(self, low: int, high: int) -> Staircase:
        """The step function from accumulator to output, restricted to accumulators low..high."""
        before, until = np.searchsorted(self.steps, [low, high], side="right").tolist()
        return Staircase(low, high, self.first + before, self.steps[before:until])

    def within(self, lowest: int, highest: int) -> Staircase:
        """The step function from accumulator to output, with outputs clamped to lowest..highest."""
        ends = self.first, self.first + len(self.steps)
        first, last = np.clip(ends, lowest, highest).tolist()
        return Staircase(self.low, self.high, first, self.steps[first - self.first : last - self.first])

    def corners(self, limits: tuple[int, int]) -> tuple[Ints, Ints, Ints, Ints]:
        """All outputs above the lower limit, with the first accumulator of each; and all outputs below the upper limit
        plus one, with the last accumulator of each."""
        if limits not in self._corners:
            values = np.arange(self.first, self.first + len(self.steps) + 1, dtype=np.int64)
            above, below = values > limits[0], values < limits[1]
            reached_at, missed_at = np.append(self.low, self.steps), np.append(self.steps - 1, self.high)
            self._corners[limits] = values[above], reached_at[above], values[below] + 1, missed_at[below]
        return self._corners[limits]


def staircases(sums: Accumulators) -> list[Staircase]:
    """For every channel: the step function from accumulator to output."""
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
    product_form: ProductForm = CHOOSING,
    limits: tuple[int, int] = (LOWEST, HIGHEST),
) -> Ints | None:
    """Searches the constants [channels, 4] of a layer whose accumulators arrive multiplied by `factors` and whose
    outputs are clamped to `limits`; None if some channel has none. A constant channel has multiplier 0, or for kernels
    that round, multiplier 2^30 with accumulators of zero."""
    value, active = sums.outputs(sums.low), np.flatnonzero(~sums.constant)
    rows = np.stack([0 * value, 0 * value, (value << shift) + (1 << shift >> 1), 0 * value], axis=1)
    if product_form.rounds:
        rows = np.stack([value << shift + 2, 0 * value + (1 << 30), 0 * value, 0 * value], axis=1)
    linear = sums.linear and sums.zero > limits[0]
    for channel, stairs in zip(active.tolist(), staircases(sums.some(active)), strict=True):
        factor, bits = int(factors[channel]), shift + product_form.bits - 31 + int(sums.shift[channel])
        whole, parts = int(sums.mult[channel]) << max(bits, 0), factor << max(-bits, 0)
        nearest = (whole + parts // 2) // parts
        steps = stairs.within(*limits)
        constants = search(steps, factor, shift, nearest, linear=linear, product_form=product_form, limits=limits)
        if constants is None and sums.even:
            best = best_multiplier(steps, factor, shift, nearest, product_form, limits)
            constants = search(steps, factor, shift, best, linear=False, product_form=product_form, limits=limits)
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
    product_form: ProductForm = CHOOSING,
    limits: tuple[int, int] = (LOWEST, HIGHEST),
) -> Constants | None:
    """Searches exact constants of one channel, with multipliers around `nearest`. `fix` is only used if the layer is
    `linear`, accumulators have both signs, and the kernel supports it."""
    crosses = linear and stairs.low < 0 <= stairs.high and not product_form.rounds
    turns = [turn for turn in TURNS if stairs.low < turn <= stairs.high] if crosses else [None]
    mults = [nearest + d for d in product_form.neighbours if product_form.rounds <= nearest + d < REGISTER]
    for mult, turn in product(mults, turns):
        scaled = _ScaledSums(factor, mult, shift, product_form, limits)
        constants = scaled.without_fix(stairs) if turn is None else scaled.with_fix(stairs, turn)
        if constants is not None and scaled.fits(stairs, constants.offset):
            return constants
    return None


def room_of(
    stairs: Staircase, factor: int, shift: int, mult: int, product_form: ProductForm, limits: tuple[int, int]
) -> tuple[int, int]:
    """Lower and upper bound of c (`_ScaledSums.bounds`) for which all steps are exact; there is no such c if lower >
    upper."""
    return _ScaledSums(factor, mult, shift, product_form, limits).bounds(stairs)


def best_multiplier(
    stairs: Staircase, factor: int, shift: int, nearest: int, product_form: ProductForm, limits: tuple[int, int]
) -> int:
    """The multiplier near `nearest` that leaves the widest interval for c, by ternary search, because the width is
    concave."""

    def room(mult: int) -> int:
        low, high = room_of(stairs, factor, shift, mult, product_form, limits)
        return high - low

    low, high = nearest - (nearest >> TILT), nearest + (nearest >> TILT)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if room(middle) < room(middle + 1) else (low, middle)
    return low


@dataclass(frozen=True)
class _ScaledSums:
    """Accumulators that arrive multiplied by `factor` and are multiplied by `mult`."""

    factor: int
    mult: int
    shift: int
    product_form: ProductForm
    limits: tuple[int, int]

    def fits(self, stairs: Staircase, offset: int) -> bool:
        low, high = (self.factor * end + offset for end in (stairs.low, stairs.high))
        return low >= -REGISTER and high < REGISTER

    def without_fix(self, stairs: Staircase) -> Constants | None:
        low, high = self.bounds(stairs)
        if self.product_form.rounds:
            return self._rounded(low, high)
        low, high, one = low - self.product_form.half, high - self.product_form.half, self.product_form.one
        offset = _least_offset(self.mult, low, high, one)
        return None if offset is None else Constants(offset, self.mult, -((offset * self.mult - low) // one), 0)

    def _rounded(self, low: int, high: int) -> Constants | None:
        """The offset that puts c closest to the middle of its bounds; None if it is not between them."""
        added = self.product_form.added(self.shift)
        offset = ((low + high - 2 * added) // self.mult + 1) // 2
        return Constants(offset, self.mult, 0, 0) if low <= offset * self.mult + added <= high else None

    def with_fix(self, stairs: Staircase, turn: int) -> Constants | None:
        """Constants with separate bounds for accumulators that arrive negative (those before `turn`) and for the
        others; `fix` shifts the latter so that both intervals intersect."""
        below = self.bounds(stairs.part(stairs.low, turn - 1))
        above = self.bounds(stairs.part(turn, stairs.high))
        start, one = -turn * self.factor, self.product_form.one
        for fix in range(-((below[1] - above[0]) // one), (above[1] - below[0]) // one + 1):
            low, high = max(below[0], above[0] - fix * one), min(below[1], above[1] - fix * one)
            more = _least_offset(self.mult, low - start * self.mult, high - start * self.mult, one)
            if more is not None and more < self.factor:
                offset = start + more
                return Constants(offset, self.mult, -((offset * self.mult - low) // one), fix)
        return None

    def bounds(self, stairs: Staircase) -> tuple[int, int]:
        """Lower and upper bound of c = offset * mult + (add << bits of the product form) for which all steps are
        exact. Saturated outputs need no bound; a missing bound is set near the other one."""
        values, reached_at, others, missed_at = stairs.corners(self.limits)
        bits, one = self.product_form.bits + self.shift, self.product_form.one
        at_least = (values << bits) - reached_at * self.factor * self.mult
        below = (others << bits) - missed_at * self.factor * self.mult
        low = int(at_least.max()) if len(at_least) else int(below.min()) - one
        return low, int(below.min()) - 1 if len(below) else low + one - 1


def _least_offset(mult: int, low: int, high: int, one: int) -> int | None:
    """The smallest offset for which offset * mult plus some multiple of `one` is in low..high; None if there is
    none."""
    if low > high:
        return None
    start = low % one
    return 0 if start + high - low >= one else _least_factor(mult, one, start, start + high - low)


def _least_factor(number: int, modulus: int, low: int, high: int) -> int | None:
    """The smallest k >= 0 with low <= k * number % modulus <= high < modulus, by a variant of Euclid's algorithm: if no
    multiple of `number` itself is in range, the number of wraparounds solves the same problem with a smaller
    modulus."""
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
