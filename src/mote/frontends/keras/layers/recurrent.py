"""Recurrent layers: cells over sequences, bidirectional and stateful ones, with given initial states."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import elementwise as e
from mote.frontends.build import indexing, moves, recurrent, reductions, windows
from mote.frontends.build.builder import Builder, Value
from mote.frontends.keras import activations
from mote.frontends.keras.archive import DamagedArchiveError
from mote.frontends.keras.call import LayerCall, Parser, Results, channels_back, channels_second, flat, only
from mote.frontends.keras.config import LayerConfig
from mote.frontends.keras.masks import as_numbers
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.common import Axis
from mote.ir.ops.recurrent.gates import Gate
from mote.ir.ops.recurrent.sequences import RecurrentOutput

CELLS = {"LSTMCell": "LSTM", "GRUCell": "GRU", "SimpleRNNCell": "RNN"}
"""Cells, and the builder's names for layers of them."""
BLOCKS = {"LSTM": 4, "GRU": 3, "RNN": 1}
ZEROS = "zero_output_for_mask"
STATES = {"LSTM": 2, "GRU": 1, "RNN": 1}
GATES: Mapping[str, tuple[str, float | None, float | None]] = {
    "elu": ("elu", 1.0, None),
    "hard_sigmoid": ("hardsigmoid", 1 / 6, 0.5),
    "leaky_relu": ("leakyrelu", activations.LEAKY, None),
    "linear": ("linear", None, None),
    "relu": ("relu", None, None),
    "sigmoid": ("sigmoid", None, None),
    "softplus": ("softplus", None, None),
    "softsign": ("softsign", None, None),
    "tanh": ("tanh", None, None),
}
"""Activations of gates by Keras's names: the builder's name, alpha and beta."""


def rnn(call: LayerCall) -> Results:
    """A layer of one cell, or of stacked cells."""
    made = _layer(call, call.layer, call.values[0], _initial(call), call.layer.flag(ZEROS, False))
    if call.mask is not None and call.layer.flag("return_sequences", False):
        call.made[made[0]] = call.mask
    return made


def _initial(call: LayerCall) -> list[Value]:
    """The given initial states: after the sequence (in one list with it in files of Keras 2), or by name."""
    given = [*call.values[1:], *flat(call.kwargs.get("initial_state"))]
    if len(call.args) > 1:
        given += list(flat(call.args[1]))
    return given


def _cells(layer: LayerConfig) -> list[LayerConfig]:
    """The cells of a layer: of Keras's own recurrent classes, or given as an option."""
    if layer.kind != "RNN":
        return [layer.child("cell", {"class_name": f"{layer.kind}Cell", "config": layer.options})]
    cell = layer.child("cell", layer.get("cell"))
    return cell.children("cells") if cell.kind == "StackedRNNCells" else [cell]


@dataclass(frozen=True)
class _Steps:
    """The unmasked steps of a sequence. They are moved to its front in order, so that cells run over a sequence length;
    results are moved back afterwards."""

    b: Builder
    mask: Value
    kept: Value
    """1 for unmasked steps, [batch, steps], as int32."""

    @staticmethod
    def of(call: LayerCall, mask: Value) -> _Steps:
        return _Steps(call.b, mask, as_numbers(call, mask, DType.INT32))

    @cached_property
    def lengths(self) -> Value:
        return reductions.sum_(self.b, self.kept, [1], False)

    def to_front(self, x: Value) -> Value:
        later = np.arange(x.shape[1], 0, -1, dtype=np.float32)[None]
        order = e.mul(self.b, e.cast(self.b, self.kept, DType.FLOAT32), self.b.constant(later))
        return self._taken(x, reductions.top_k(self.b, order, x.shape[1])[1])

    def back(self, x: Value, backward: bool) -> Value:
        """Results moved back: a masked step repeats the last unmasked one's result, zeros before the first."""
        before = reductions.cumulative_sum(self.b, self.kept, 1, exclusive=backward)
        at = before if backward else e.sub(self.b, before, e.scalar(self.b, 1, DType.INT32))
        return self._taken(x, at)

    def _taken(self, x: Value, at: Value) -> Value:
        """Steps at indices; out-of-range ones are zeros."""
        if x.shape[0] == 1:
            return indexing.gather(self.b, x, 1, moves.squeeze(self.b, at, [0]))
        places = e.add(self.b, at, self.b.constant(_beyond(x.shape)))
        flat = moves.reshape(self.b, _padded(self.b, x), (-1, x.shape[2]))
        return indexing.gather(self.b, flat, 0, places)

    def at_end(self, backward: bool) -> Value:
        """Whether the last step is unmasked, [batch, 1]."""
        return moves.slice_(self.b, self.mask, 1, 0 if backward else self.mask.shape[1] - 1, 1)


def _is_overlooked(call: LayerCall) -> bool:
    """Keras 3 ignores the mask of a sequence that is called with initial states, unless the call passes it."""
    states = next(flat([*call.args[1:2], call.kwargs.get("initial_state")]), None)
    return states is not None and call.kwargs.get("mask") is None


def _padded(b: Builder, x: Value) -> Value:
    """A sequence with a step of zeros before and after."""
    return moves.pad(b, x, [(0, 0), (1, 1), (0, 0)])


def _beyond(shape: Shape) -> Array:
    """Offsets of padded sequences in the flattened batch, [batch, 1]."""
    return (np.arange(shape[0], dtype=np.int32) * (shape[1] + 2) + 1)[:, None]


def _layer(call: LayerCall, layer: LayerConfig, x: Value, initial: Sequence[Value], zeros: bool) -> list[Value]:
    """The results of a layer: the sequence or its last element, and the states where they are wanted. `zeros`: masked
    steps give zeros instead of the previous result."""
    if layer.options.get("time_major"):
        raise UnsupportedNodeError("time_major is not supported: let the batch be the first axis")
    if x.rank != 3:
        raise UnsupportedNodeError(f"it takes sequences of vectors, and is given the shape {x.shape}")
    b, backward, whole = call.b, layer.flag("go_backwards", False), layer.flag("return_sequences", False)
    cells = _cells(layer)
    waiting = list(initial)
    counts = [STATES[_kind(cell)] for cell in cells]
    if waiting and len(waiting) != sum(counts):
        raise UnsupportedNodeError(f"{len(waiting)} states are given, and the cells have {sum(counts)}")
    telling = layer.flag("return_state", False)
    mask = None if _is_overlooked(call) else call.mask
    steps = None if mask is None else _Steps.of(call, mask)
    x = x if steps is None else steps.to_front(x)
    kept: list[Value] = []
    for i, (cell, count) in enumerate(zip(cells, counts, strict=True)):
        own, waiting = waiting[:count], waiting[count:]
        wanted = {RecurrentOutput.SEQUENCE} if whole or i + 1 < len(cells) else {RecurrentOutput.HIDDEN}
        wanted |= {RecurrentOutput.HIDDEN, RecurrentOutput.CELL} if telling or layer.flag("stateful", False) else set()
        made = _cell(call, layer, cell, x, own, backward, wanted, None if steps is None else steps.lengths)
        kept += [made[r] for r in (RecurrentOutput.HIDDEN, RecurrentOutput.CELL) if r in made]
        x = made[RecurrentOutput.SEQUENCE] if RecurrentOutput.SEQUENCE in made else made[RecurrentOutput.HIDDEN]
    if steps is not None and whole:
        x = steps.back(x, backward)
        x = e.mul(b, x, moves.unsqueeze(b, as_numbers(call, steps.mask), [2])) if zeros else x
    elif steps is not None and zeros:
        x = e.mul(b, x, as_numbers(call, steps.at_end(backward)))
    elif steps is not None and (initial or layer.flag("stateful", False)):
        some = e.greater(b, moves.unsqueeze(b, steps.lengths, [1]), e.scalar(b, 0, DType.INT32))
        x = e.mul(b, x, as_numbers(call, some))
    if whole and backward:
        x = moves.flip(b, x, [1])
    return [x, *kept] if telling else [x]


def _kind(cell: LayerConfig) -> str:
    if cell.kind not in CELLS or not (cell.is_own or not cell.module):
        raise UnsupportedNodeError(f"the cell {cell.kind} is not supported (only {', '.join(CELLS)})")
    return CELLS[cell.kind]


def _cell(
    call: LayerCall,
    layer: LayerConfig,
    cell: LayerConfig,
    x: Value,
    initial: Sequence[Value],
    backward: bool,
    wanted: Collection[RecurrentOutput],
    lengths: Value | None,
) -> dict[RecurrentOutput, Value]:
    """A cell over a sequence: its outputs in the order of the sequence, and its final states."""
    b, kind = call.b, _kind(cell)
    units, blocks = cell.integer("units"), BLOCKS[kind]
    after = kind == "GRU" and cell.flag("reset_after", True)
    kernel = cell.weight(0, (x.shape[-1], blocks * units), "kernel")
    again = cell.weight(1, (units, blocks * units), "recurrent kernel")
    shape = (2, blocks * units) if after else (blocks * units,)
    bias = cell.weight(2, shape, "bias") if cell.flag("use_bias", True) else None
    side = replace(recurrent.of_keras(kind, kernel, again, bias), gates=_gates(kind, cell), backward=backward)
    states, writes = _states(call, layer, cell, x.shape[0], units, initial)
    hidden, memory = (*states, None, None)[:2]
    made = recurrent.layer(
        *(b, kind, x, [side]), batch_first=True, lengths=lengths, hidden=hidden, cell=memory, after=after, wanted=wanted
    )
    ends = [made[r] for r in (RecurrentOutput.HIDDEN, RecurrentOutput.CELL) if r in made]
    for value, tensor in zip(ends, writes, strict=False):
        b.written(value, tensor)
    return {r: moves.squeeze(b, value, [2 if r == RecurrentOutput.SEQUENCE else 1]) for r, value in made.items()}


def _gates(kind: str, cell: LayerConfig) -> tuple[Gate, ...]:
    """The activations of a cell: recurrent ones of the gates, then that of the output."""
    inner = _gate(cell, "activation")
    if kind == "RNN":
        return (inner,)
    outer = _gate(cell, "recurrent_activation")
    return (outer, inner, inner) if kind == "LSTM" else (outer, inner)


def _gate(cell: LayerConfig, option: str) -> Gate:
    name = cell.get(option, "tanh" if option == "activation" else "sigmoid")
    if name == activations.KERAS2_HARD_SIGMOID:
        return recurrent.gate("hardsigmoid", 0.2, 0.5)
    if not isinstance(name, str) or name not in GATES:
        raise UnsupportedNodeError(f"{option} '{activations.shown(name)}' is not supported in recurrent layers")
    return recurrent.gate(*GATES[name])


def _states(
    call: LayerCall, layer: LayerConfig, cell: LayerConfig, batch: int, units: int, initial: Sequence[Value]
) -> tuple[list[Value], list[int]]:
    """The initial states of a cell, [batch, 1, units] each, and the tensors of its final states."""
    b, count = call.b, STATES[_kind(cell)]
    if not layer.flag("stateful", False):
        return [moves.unsqueeze(b, state, [1]) for state in initial], []
    if initial:
        raise UnsupportedNodeError("states that are both kept and given are not supported")
    zeros = np.zeros((batch, 1, units), np.float32)
    variables = [b.state(f"{call.layer.name}/{cell.name}/{i}", zeros) for i in range(count)]
    return [value for value, _ in variables], [tensor for _, tensor in variables]


def bidirectional(call: LayerCall) -> Results:
    """Two layers, one of which reads the sequence backwards."""
    b, layer = call.b, call.layer
    forward = layer.child("forward_layer", layer.get("layer"))
    said = layer.get("backward_layer", None)
    if said is None:
        told = dict(layer.get("layer"))
        said = told | {"config": dict(told.get("config") or {}) | {"go_backwards": True}}
    backward = layer.child("backward_layer", said)
    for part in (forward, backward):
        if part.kind not in RECURRENT:
            raise UnsupportedNodeError(f"{part.kind} in both directions is not supported")
    initial = _initial(call)
    half = len(initial) // 2
    whole = forward.flag("return_sequences", False)
    one = _layer(call, forward, call.values[0], initial[:half], whole)
    other = _layer(call, backward, call.values[0], initial[half:], whole)
    if whole:
        other[0] = moves.flip(b, other[0], [1])
    mode = layer.get("merge_mode", "concat")
    if mode is None:
        call.made.update({x: call.mask for x in (one[0], other[0]) if whole and call.mask is not None})
        return [one[0], other[0], *one[1:], *other[1:]]
    pairs = {
        "concat": lambda x, y: moves.concat(b, [x, y], -1),
        "sum": lambda x, y: e.add(b, x, y),
        "ave": lambda x, y: e.scaled(b, e.add(b, x, y), 0.5),
        "mul": lambda x, y: e.mul(b, x, y),
    }
    if mode not in pairs:
        raise DamagedArchiveError(f"the merge_mode of '{layer.name}' is {mode!r}")
    made = pairs[mode](one[0], other[0])
    if whole and call.mask is not None:
        call.made[made] = call.mask
    return [made, *one[1:], *other[1:]]


def time_distributed(call: LayerCall) -> Value:
    """A layer applied to each step of a sequence: steps are merged into the batch."""
    b, x, inside = call.b, call.x, call.layer.child("layer", call.layer.get("layer"))
    if inside.kind in MASKED:
        call.refuse_mask()
    batch, steps = x.shape[:2]
    each = moves.reshape(b, x, (batch * steps, *x.shape[2:]))
    made = only(call.apply(inside, [each], {}))
    return moves.reshape(b, made, (batch, steps, *made.shape[1:]))


def conv_lstm(count: int) -> Parser:
    """A convolutional LSTM, step by step."""

    def parse(call: LayerCall) -> Results:
        call.refuse_mask()
        layer, b, x = call.layer, call.b, call.x
        if x.rank != count + 3 or layer.flag("stateful", False) or _initial(call):
            raise UnsupportedNodeError(f"it takes {count + 3} axes, and zero initial states that are not kept")
        steps, filters = x.shape[1], layer.integer("filters")
        cell = layer.child("cell", {"class_name": f"{layer.kind}Cell", "config": layer.options})
        images = channels_second(b, moves.reshape(b, x, (x.shape[0] * steps, *x.shape[2:])), call.channels_first)
        axes = _window(call, count, images.shape[2:])
        kernel = cell.weight(0, (*(a.kernel for a in axes), images.shape[1], 4 * filters), "kernel")
        again = cell.weight(1, (*(a.kernel for a in axes), filters, 4 * filters), "recurrent kernel")
        bias = cell.weight(2, (4 * filters,), "bias") if layer.flag("use_bias", True) else None
        given = windows.conv(b, images, np.moveaxis(kernel, (-1, -2), (0, 1)), bias, axes)
        given = moves.reshape(b, given, (x.shape[0], steps, *given.shape[1:]))
        order = range(steps - 1, -1, -1) if layer.flag("go_backwards", False) else range(steps)
        outputs: list[Value] = []
        states: tuple[Value, Value] | None = None
        for step in order:
            now = moves.squeeze(b, moves.slice_(b, given, 1, step, 1), [1])
            states = _conv_step(call, now, states, np.moveaxis(again, (-1, -2), (0, 1)))
            outputs.append(channels_back(b, states[0], call.channels_first))
        assert states is not None
        ends = [channels_back(b, state, call.channels_first) for state in states]
        result = moves.stack(b, outputs, 1) if layer.flag("return_sequences", False) else outputs[-1]
        return [result, *ends] if layer.flag("return_state", False) else result

    return parse


def _window(call: LayerCall, count: int, sizes: Sequence[int]) -> list[Axis]:
    layer = call.layer
    strides, dilations = layer.integers("strides", count, 1), layer.integers("dilation_rate", count, 1)
    axes = windows.window(layer.integers("kernel_size", count), strides, None, dilations)
    return windows.same_pads(sizes, axes) if layer.text("padding", "valid") == "same" else axes


def _conv_step(call: LayerCall, now: Value, states: tuple[Value, Value] | None, again: Array) -> tuple[Value, Value]:
    """The output and the cell state after a step, from the gates' input contributions and the previous states."""
    b = call.b
    if states is not None:
        plain = windows.window(again.shape[2:])
        axes = windows.same_pads(states[0].shape[2:], plain)
        now = e.add(b, now, windows.conv(b, states[0], again, None, axes))
    filters = now.shape[1] // 4
    gates = moves.split(b, now, 1, [filters] * 4)
    outer = activations.named(call.layer.options.get("recurrent_activation", "sigmoid"))
    inner = activations.named(call.layer.options.get("activation", "tanh"))
    memory = e.mul(b, outer(b, gates[0]), inner(b, gates[2]))
    if states is not None:
        memory = e.add(b, e.mul(b, outer(b, gates[1]), states[1]), memory)
    return e.mul(b, outer(b, gates[3]), inner(b, memory)), memory


RECURRENT = ("GRU", "LSTM", "RNN", "SimpleRNN")
MASKED = {*RECURRENT, "AdditiveAttention", "Attention", "Bidirectional", "GlobalAveragePooling1D", "Softmax"}
"""Layers that would use the mask of a single step."""
LAYERS: Mapping[str, Parser] = {
    **dict.fromkeys(RECURRENT, rnn),
    **{f"ConvLSTM{n}D": conv_lstm(n) for n in (1, 2, 3)},
    "Bidirectional": bidirectional,
    "TimeDistributed": time_distributed,
}
