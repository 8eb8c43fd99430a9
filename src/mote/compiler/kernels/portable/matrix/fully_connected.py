"""int8 FULLY_CONNECTED in portable C: `mote_fully_connected_s8.h`, with entropy-coded weights, and with step tables."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mote.compiler.kernels.contract import (
    INT8,
    Biases,
    Call,
    Coding,
    Entry,
    Kernel,
    Packed,
    Params,
    Price,
    Refusal,
    Structs,
    View,
    units_of,
)
from mote.compiler.kernels.pack.learned_bias import learning
from mote.compiler.kernels.pack.params import CHANNEL_WORDS, channel_structs, interleave, output_params
from mote.compiler.kernels.pack.requantize.even import TO_EVEN
from mote.compiler.kernels.pack.weights.coding import encode
from mote.ir.graph.numeric.fixedpoint import INT32_MAX, Ints, wrap32
from mote.ir.graph.types import Rounding
from mote.ir.ops.common import bias_values
from mote.ir.ops.matrix.accumulators import Accumulators
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.matrix.round_once import VALUES, once_results, once_steps

FINE = Refusal("no multipliers of 31 bits give the reference's results")
STEPS = 256
"""Number of entries of a step table."""


def sums_of(view: View) -> Accumulators:
    """The layer's accumulators: their ranges for all possible inputs, and their requantization."""
    return view.the(FullyConnected).sums(view.graph, view.graph.ranges[view.input.id])


def channels_of(view: View) -> Structs:
    """`mote_channel_t` for each channel, with the input's zero point folded into the bias."""
    sums = view.once(sums_of)
    return channel_structs(view.once(starts), sums.mult, sums.shift)


def starts(view: View) -> Ints:
    """Initial accumulators: the bias with the input's zero point folded in."""
    weights: Ints = view.constant(1).astype(np.int64).sum(axis=1)
    return bias_values(view.op.tensor(view.graph, 2), len(weights)) - view.input.zero_point * weights


def _common(view: View) -> Params:
    op, (channels, depth) = view.the(FullyConnected), view.constant(1).shape
    return {
        "depth": depth,
        "channels": channels,
        "round_once": int(op.rounding is not Rounding.TWICE),
        "output": output_params(op.activation, view.output),
    }


def vectors(view: View) -> int:
    return units_of(view.input.shape, view.constant(1).shape[1])


def plain_params(view: View, weights: NDArray[np.int8]) -> Params | Refusal:
    """Parameters of the fully connected kernel (`mote_fully_connected_s8_t`), or a refusal if the requantization
    constants are not exact."""
    return packed_params(view, weights) if view.once(sums_of).exact.all() else FINE


def packed_params(view: View, weights: NDArray[np.int8]) -> Params:
    """Parameters of the fully connected kernel (`mote_fully_connected_s8_t`) with interleaved weights, whether or not
    the requantization constants are exact."""
    fours = weights.shape[0] // 4 * 4
    packed = np.concatenate([interleave(weights[:fours], 4), weights[fours:].reshape(-1)])
    return _common(view) | {"weights": packed, "channel": view.once(channels_of)}


def _plain(view: View) -> Packed | Refusal:
    params = plain_params(view, view.constant(1))
    if isinstance(params, Refusal):
        return params
    biases = Biases("channel", CHANNEL_WORDS)
    return Packed("fully_connected_s8", params, Entry(Call.FLAT, vectors(view)), biases=biases)


def _coded(view: View) -> Packed | Refusal:
    if not view.once(sums_of).exact.all():
        return FINE
    code, channel = encode(view.constant(1)), view.once(channels_of)
    scale = channel.rows[:, 1:].astype(np.int32)
    same = bool(np.all(scale == scale[0]))
    params: Params = _common(view) | {
        "code": code.params,
        "start": channel.rows[:, 0].astype(np.int32),
        "scale": scale[0] if same else scale.reshape(-1),
        "step": 0 if same else 2,
    }
    coding = Coding(vectors(view) * code.symbols)
    return Packed("fully_connected_coded_s8", params, Entry(Call.FLAT, vectors(view)), price=Price(coding=coding))


def steps_params(view: View, weights: NDArray[np.int8]) -> Params | Refusal:
    """The fields of `mote_fully_connected_steps_s8_t`, which requantizes with a table of the accumulators at which the
    result increases: one table per multiplier."""
    sums = view.once(sums_of)
    if sums.even:
        return TO_EVEN
    if sums.real is None or sums.exact.all():
        return Refusal("multipliers of 31 bits give LiteRT's results")
    reals = sums.real[:1] if np.all(sums.real == sums.real[0]) else sums.real
    tables = np.concatenate([_table(real, sums.zero) for real in reals.tolist()])
    return {
        "depth": weights.shape[1],
        "channels": weights.shape[0],
        "output": output_params(view.the(FullyConnected).activation, view.output),
        "weights": weights,
        "start": wrap32(view.once(starts)).astype(np.int32),
        "steps": tables,
        "step": 0 if len(reals) == 1 else STEPS,
    }


def _steps(view: View) -> Packed | Refusal:
    params = steps_params(view, view.constant(1))
    if isinstance(params, Refusal):
        return params
    return Packed("fully_connected_steps_s8", params, Entry(Call.FLAT, vectors(view)), biases=Biases("start", 1))


def _table(real: float, zero: int) -> NDArray[np.int32]:
    """Step table of a scale: the smallest accumulator of each result from -127 to 127, then the largest result."""
    first, last = once_results(np.array([-INT32_MAX - 1, INT32_MAX], np.int64), real, zero)
    steps = np.where(first >= VALUES, -INT32_MAX - 1, once_steps(real, zero))
    return np.append(steps, last).astype(np.int32)


KERNELS = (
    learning(Kernel("fully_connected", (FullyConnected,), INT8, _plain, tuned=True)),
    Kernel("fully_connected_coded", (FullyConnected,), INT8, _coded, coded=True),
    Kernel("fully_connected_steps", (FullyConnected,), INT8, _steps, costs="fully_connected"),
)
