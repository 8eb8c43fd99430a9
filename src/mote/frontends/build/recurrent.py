"""Recurrent layers: LSTM, GRU and simple RNN, in one direction or both, from given initial states or from zeros.
Weights are in ONNX's layout; `of_torch` and `of_keras` convert those of others."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import moves
from mote.frontends.build.builder import Builder, Value, ordered
from mote.ir.graph.element_order import Atom
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.moves.multi_output import Part
from mote.ir.ops.recurrent.gates import HYPERBOLIC, SIGMOID, Gate, GateActivation
from mote.ir.ops.recurrent.gru import Gru
from mote.ir.ops.recurrent.sequences import LstmSequence, Recurrent, RecurrentOutput, RnnSequence

GATES = {"RNN": (HYPERBOLIC,), "LSTM": (SIGMOID, HYPERBOLIC, HYPERBOLIC), "GRU": (SIGMOID, HYPERBOLIC)}
"""Recurrent layers and their default activations."""
BLOCKS = {"RNN": 1, "LSTM": 4, "GRU": 3}
"""Order of the weight blocks: of LSTM input, output, forget gate and cell, of GRU update, reset gate and output."""
FUNCTIONS = {
    "sigmoid": (GateActivation.LOGISTIC, 0.0, 0.0),
    "tanh": (GateActivation.TANH, 0.0, 0.0),
    "relu": (GateActivation.RELU, 0.0, 0.0),
    "affine": (GateActivation.AFFINE, 1.0, 0.0),
    "linear": (GateActivation.AFFINE, 1.0, 0.0),
    "leakyrelu": (GateActivation.LEAKY_RELU, 0.01, 0.0),
    "thresholdedrelu": (GateActivation.THRESHOLDED_RELU, 1.0, 0.0),
    "scaledtanh": (GateActivation.SCALED_TANH, 1.0, 1.0),
    "hardsigmoid": (GateActivation.HARD_SIGMOID, 0.2, 0.5),
    "elu": (GateActivation.ELU, 1.0, 0.0),
    "softsign": (GateActivation.SOFTSIGN, 0.0, 0.0),
    "softplus": (GateActivation.SOFTPLUS, 0.0, 0.0),
}
"""Activations by ONNX's names, in lower case, with the defaults of alpha and beta."""
WITH_ALPHA = frozenset({"affine", "leakyrelu", "thresholdedrelu", "scaledtanh", "hardsigmoid", "elu"})
WITH_BETA = frozenset({"affine", "scaledtanh", "hardsigmoid"})
"""Activations with alpha, and those with beta."""


def gate(name: str, alpha: float | None = None, beta: float | None = None, clip: float = 0.0) -> Gate:
    """An activation of a gate by name, whose argument is clamped to [-clip, clip] (0: not at all)."""
    if name.lower() not in FUNCTIONS:
        raise UnsupportedNodeError(f"the activation {name} is not supported in recurrent layers")
    function, usual_alpha, usual_beta = FUNCTIONS[name.lower()]
    return Gate(function, usual_alpha if alpha is None else alpha, usual_beta if beta is None else beta, clip)


def gates_of(names: Sequence[str], alphas: Sequence[float], betas: Sequence[float], clip: float = 0.0) -> list[Gate]:
    """Activations by name; each that has parameters takes the next ones of the lists, then the defaults."""
    first, second = iter(alphas), iter(betas)
    return [
        gate(
            name,
            next(first, None) if name.lower() in WITH_ALPHA else None,
            next(second, None) if name.lower() in WITH_BETA else None,
            clip,
        )
        for name in names
    ]


@dataclass(frozen=True, eq=False)
class RecurrentDirection:
    """One direction of a layer: input weights [blocks * units, inputs], recurrent weights [blocks * units, units], both
    biases concatenated [2 * blocks * units] or None, activations (None: the defaults), and the peephole weights of an
    LSTM [3 * units]."""

    weights: Array
    recurrent: Array
    bias: Array | None = None
    gates: tuple[Gate, ...] | None = None
    peepholes: Array | None = None
    backward: bool = False

    @property
    def units(self) -> int:
        return int(self.recurrent.shape[-1])


def of_torch(
    kind: str, weights: Array, recurrent: Array, bias: Array | None, recurrent_bias: Array | None
) -> RecurrentDirection:
    """Weights of PyTorch, whose LSTM gates are input, forget, cell, output, and whose GRU gates are reset, update,
    output."""
    order = {"RNN": (0,), "LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2)}[kind]
    biases = (bias, recurrent_bias)
    none = np.zeros(len(weights), np.float32)
    both = np.concatenate([_blocks(none if x is None else x, order) for x in biases])
    return RecurrentDirection(
        _blocks(weights, order), _blocks(recurrent, order), None if bias is recurrent_bias is None else both
    )


def of_keras(kind: str, kernel: Array, recurrent: Array, bias: Array | None) -> RecurrentDirection:
    """Weights of Keras: matrices are transposed, LSTM gates are in PyTorch's order, GRU gates in ONNX's, and there is
    one bias; a GRU with `reset_after` has both [2, 3 * units]."""
    order = {"RNN": (0,), "LSTM": (0, 3, 1, 2), "GRU": (0, 1, 2)}[kind]
    both = None
    if bias is not None:
        rows = bias if bias.ndim == 2 else np.stack([bias, np.zeros_like(bias)])
        both = np.concatenate([_blocks(row, order) for row in rows])
    return RecurrentDirection(_blocks(kernel.T, order), _blocks(recurrent.T, order), both)


def _blocks(x: Array, order: Sequence[int]) -> Array:
    """The blocks of an array along its first axis in another order."""
    parts = np.split(np.asarray(x), len(order))
    return np.concatenate([parts[i] for i in order])


def layer(
    b: Builder,
    kind: str,
    x: Value,
    sides: Sequence[RecurrentDirection],
    *,
    batch_first: bool = False,
    lengths: Value | None = None,
    hidden: Value | None = None,
    cell: Value | None = None,
    after: bool = False,
    coupled: bool = False,
    wanted: Collection[RecurrentOutput] = tuple(RecurrentOutput),
) -> dict[RecurrentOutput, Value]:
    """A recurrent layer as in ONNX, over a sequence [time, batch, inputs] ([batch, time, inputs] with `batch_first`).
    Returns the wanted results: the outputs [time, directions, batch, units] ([batch, time, directions, units]), and the
    last hidden state and the cell state of an LSTM [directions, batch, units] ([batch, directions, units]), which is
    the layout of initial states too. `after`: linear_before_reset of a GRU; `coupled`: the input and the forget gate of
    an LSTM are coupled."""
    if kind not in BLOCKS or x.rank != 3:
        raise UnsupportedNodeError(f"{kind} of a value of the shape {x.shape} is not supported")
    results = [r for r in RecurrentOutput if r in wanted and (r != RecurrentOutput.CELL or kind == "LSTM")]
    directions = []
    for i, side in enumerate(sides):
        states = [None if v is None else _of_side(b, v, i, batch_first) for v in (hidden, cell)]
        attributes: dict[str, Any] = {"backward": side.backward}
        attributes |= {"after": after} if kind == "GRU" else {"coupled": coupled} if kind == "LSTM" else {}
        one = _Direction(b, kind, x, side, batch_first, lengths, states[0], states[1])
        directions.append(one.made(results, attributes))
    joined = {}
    for result in results:
        axis = int(result == RecurrentOutput.SEQUENCE) + int(batch_first)
        joined[result] = moves.stack(b, [one[result] for one in directions], axis)
    return joined


def _of_side(b: Builder, state: Value, side: int, batch_first: bool) -> Value:
    """A state of one direction, [batch, units]."""
    axis = 1 if batch_first else 0
    return moves.squeeze(b, moves.slice_(b, state, axis, side, 1), [axis])


@dataclass(frozen=True)
class _Direction:
    """A layer in one direction."""

    b: Builder
    kind: str
    x: Value
    side: RecurrentDirection
    batch_first: bool
    lengths: Value | None
    hidden: Value | None
    cell: Value | None

    @property
    def batch(self) -> int:
        return self.x.shape[0 if self.batch_first else 1]

    @property
    def time(self) -> int:
        return self.x.shape[1 if self.batch_first else 0]

    def made(self, results: Sequence[RecurrentOutput], attributes: dict[str, Any]) -> dict[RecurrentOutput, Value]:
        """The operator's results: outputs [time, batch, units] or batch first, and states [batch, units]."""
        b, units = self.b, self.side.units
        gates = self._gates()
        self._check(gates)
        time_axis = 1 if self.batch_first else 0
        straight = [time_axis, 1 - time_axis, 2]
        turned = [1 - time_axis, time_axis, 2]
        time_major = self.x.constant or ordered(self.x.atoms, turned) != self.x.atoms
        axes = straight if time_major else turned
        source = b.arranged(self.x, [[a] for a in axes])
        constants = self.side.weights, self.side.recurrent, self._bias(attributes.get("after", False))
        inputs = [source, *map(b.tensor, constants), *self._given(gates)]
        shapes: dict[RecurrentOutput, Shape] = dict.fromkeys(RecurrentOutput, (self.batch, units))
        shapes[RecurrentOutput.SEQUENCE] = (self.x.shape[axes[0]], self.x.shape[axes[1]], units)
        sizes = [prod(shapes[r]) for r in results]
        whole = shapes[results[0]] if len(results) == 1 else (sum(sizes),)
        made = b.op(
            *(_KINDS[self.kind], inputs, whole),
            time_major=time_major,
            results=tuple(results),
            **(attributes | dict(zip(_NAMES[self.kind], gates, strict=True))),
        )
        outputs = {}
        for i, result in enumerate(results):
            part = made
            if len(results) > 1:
                part = b.op(Part, [made], shapes[result], begin=sum(sizes[:i]), shape=shapes[result])
            atoms = [Atom(a, 0, n) for a, n in zip(axes, shapes[result], strict=False)]
            logical = (*self.x.shape[:2], units)
            state = result != RecurrentOutput.SEQUENCE
            outputs[result] = b.value(part, shapes[result]) if state else b.value(part, logical, atoms)
        return outputs

    def _gates(self) -> tuple[Gate, ...]:
        """The activations. The cell of an LSTM is not clipped before its last activation, as in ONNX Runtime."""
        gates = self.side.gates or GATES[self.kind]
        return gates if self.kind != "LSTM" else (*gates[:-1], replace(gates[-1], clip=0.0))

    def _check(self, gates: Sequence[Gate]) -> None:
        blocks, units, inputs = BLOCKS[self.kind], self.side.units, self.x.shape[2]
        has = self.side.weights.shape, self.side.recurrent.shape
        if has != ((blocks * units, inputs), (blocks * units, units)) or len(gates) != len(GATES[self.kind]):
            raise UnsupportedNodeError(f"weights of {has[0]} and {has[1]} do not fit {self.kind} of {self.x.shape}")
        for state in (self.hidden, self.cell):
            if state is not None and state.shape != (self.batch, units):
                raise UnsupportedNodeError(f"a state of {state.shape} does not fit {self.batch} of {units} values")

    def _bias(self, after: bool) -> Array:
        """The sum of both biases; of a GRU with linear_before_reset the recurrent bias of the output gate stays
        separate."""
        blocks, units = BLOCKS[self.kind], self.side.units
        given = self.side.bias
        both = np.zeros((2, blocks * units), np.float32) if given is None else given.reshape(2, -1).astype(np.float32)
        total: Array = both[0] + both[1]
        if self.kind != "GRU":
            return total
        if not after:
            return np.concatenate([total, np.zeros(units, np.float32)])
        return np.concatenate([total[: 2 * units], both[0, 2 * units :], both[1, 2 * units :]])

    def _given(self, gates: Sequence[Gate]) -> list[int]:
        """Sequence lengths, initial states and peephole weights as operands: kernels take all states, or none where
        they may be omitted."""
        b, units = self.b, self.side.units
        lengths = self.lengths
        if lengths is not None and lengths.data is not None and np.all(lengths.data == self.time):
            lengths = None
        states = [self.hidden] + ([self.cell] if self.kind == "LSTM" else [])
        seen = [] if self.side.peepholes is None else [b.tensor(self.side.peepholes.reshape(-1))]
        if all(g.usual for g in gates) and lengths is None and all(s is None for s in states):
            return [*([ABSENT] * (1 + len(states)) if seen else []), *seen]
        if lengths is None:
            lengths = b.constant(np.full(self.batch, self.time, np.int32))
        elif lengths.dtype != DType.INT32:
            raise UnsupportedNodeError(f"{lengths.dtype} sequence lengths are not supported (only int32)")
        zeros = b.constant(np.zeros((self.batch, units), np.float32))
        return [b.plain(v) for v in (lengths, *(s or zeros for s in states))] + seen


_KINDS: dict[str, type[Recurrent]] = {"RNN": RnnSequence, "LSTM": LstmSequence, "GRU": Gru}
_NAMES = {"RNN": ("gate",), "LSTM": ("gate", "fresh", "shown"), "GRU": ("gate", "fresh")}
