"""The inputs of an LSTM: where they are, and what fits."""

from __future__ import annotations

import math

from mote.frontends.tflite import Node, UnsupportedNodeError
from mote.graph import Tensor
from mote.graph.tensor import Shape

INPUT, FORGET, CELL, OUTPUT = GATES = range(4)
NAMES = ("input", "forget", "cell", "output")
PEEPHOLES = {INPUT: 9, FORGET: 10, OUTPUT: 11}
PROJECTION, PROJECTION_BIAS, HIDDEN, MEMORY = 16, 17, 18, 19
"""Positions of inputs; HIDDEN and MEMORY are the states: the last output and the cells."""


def operand_problem(t: Tensor, position: int, quantized: bool) -> str | None:
    """Why an input other than the sequence does not fit it."""
    matrix = position < 9 or position == PROJECTION
    if position in (HIDDEN, MEMORY):
        wanted, what = ("int8" if position == HIDDEN else "int16"), "state"
    elif matrix:
        wanted, what = "int8", "weights"
    elif position in (9, 10, 11) or position > MEMORY:
        wanted, what = "int16", "weights of cells" if position < 12 else "weights of the normalization"
    else:
        wanted, what = "int32", "bias"
    wanted = wanted if quantized else "float32"
    if t.dtype != wanted:
        return f"{'int8' if quantized else 'float32'} input with {t.dtype} {what} is not supported (only {wanted})"
    if position not in (HIDDEN, MEMORY) and t.data is None:
        return f"{what} that are computed at run time are not supported"
    scaled = quantized and wanted != "int32" and what != "state"
    if scaled and (t.quant is None or t.quant.per_channel or t.zero_point or t.scale <= 0):
        return f"{what} must have one scale and zero point 0"
    return None


def check_shapes(node: Node) -> None:
    """All tensors of a kind are there, or none, and fit each other."""

    def shape(position: int) -> Shape | None:
        i = node.inputs[position] if position < len(node.inputs) else -1
        return node.tensors[i].shape if i >= 0 else None

    x, w, r = shape(0), shape(1 + OUTPUT), shape(5 + OUTPUT)
    if x is None or w is None or r is None or len(x) != 3 or len(w) != 2 or len(r) != 2:
        raise UnsupportedNodeError("the sequence must have 3 axes, and weights 2")
    cells, outputs = r
    coupled, projected = shape(1 + INPUT) is None, shape(PROJECTION) is not None
    peepholes, normalized = shape(PEEPHOLES[OUTPUT]) is not None, shape(20 + FORGET) is not None
    wanted: dict[int, Shape | None] = {PROJECTION: (outputs, cells) if projected else None}
    if shape(PROJECTION_BIAS) is not None:
        wanted[PROJECTION_BIAS] = (outputs,) if projected else None
    for gate in GATES:
        of_gate: dict[int, Shape | None] = {1 + gate: (cells, x[2]), 5 + gate: (cells, outputs), 12 + gate: (cells,)}
        of_gate[20 + gate] = (cells,) if normalized else None
        if gate in PEEPHOLES:
            of_gate[PEEPHOLES[gate]] = (cells,) if peepholes else None
        wanted |= dict.fromkeys(of_gate) if coupled and gate == INPUT else of_gate
    for position, fits in sorted(wanted.items()):
        if shape(position) != fits:
            raise UnsupportedNodeError(f"input {position} has the shape {shape(position)}, which should be {fits}")
    if not projected and cells != outputs:
        raise UnsupportedNodeError(f"{cells} cells cannot be {outputs} outputs without a projection")
    batch = x[1] if node.flag(3) else x[0]
    for position, size in ((HIDDEN, outputs), (MEMORY, cells)):
        state = shape(position)
        if state is None or math.prod(state) != batch * size:
            raise UnsupportedNodeError(f"a state of shape {state} does not fit {batch} sequences of {size} values")
