"""Matrix products with constant or computed operands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import elementwise, moves, reductions
from mote.frontends.build.builder import Builder, Value, ordered, places
from mote.frontends.build.codes import Codes
from mote.frontends.build.orders import broadcast, with_last
from mote.ir.graph.element_order import Atom
from mote.ir.graph.tensor import Array, Shape
from mote.ir.ops.matrix.batch_matmul import BatchMatmul
from mote.ir.ops.matrix.fully_connected import FullyConnected


def linear(
    b: Builder, x: Value, weights: Array, bias: Array | None = None, axis: int = -1, codes: Codes | None = None
) -> Value:
    """The elements along an axis times a constant matrix [depth, channels], plus a bias. The weights are permuted to
    the storage order of the input, and quantized where there are codes."""
    axis = x.axis(axis)
    if weights.ndim != 2 or weights.shape[0] != x.shape[axis]:
        raise UnsupportedNodeError(f"a matrix of {weights.shape} does not fit axis {axis} of a value of {x.shape}")
    channels = weights.shape[1]
    if bias is not None and bias.size not in (1, channels):
        raise UnsupportedNodeError(f"a bias of {bias.size} elements does not fit {channels} output channels")
    source, leading, own = with_last(b, x, axis)
    inputs = [source, b.tensor(weights[places(own)].T, codes.weights(weights) if codes else None)]
    if bias is not None:
        spread = np.broadcast_to(bias.reshape(-1), (channels,))
        inputs += map(b.tensor, codes.biases(spread) if codes else [spread])
    stored = (*b.tensors[source].shape[:-1], channels)
    codes = codes or Codes(np.ones(1, np.float32))
    kind = codes.kind(FullyConnected)
    made = b.op(kind, inputs, stored, codes.dtype, keep_dims=True, **codes.attributes)
    shape = (*x.shape[:axis], channels, *x.shape[axis + 1 :])
    return b.value(made, shape, [*leading, Atom(axis, 0, channels)])


def matmul(b: Builder, x: Value, y: Value, **attributes: Any) -> Value:
    """Matrix product as in NumPy: over the last two axes, with vectors where there is one axis. `attributes` are for
    the operator of two computed operands."""
    if not x.rank or not y.rank:
        raise UnsupportedNodeError("a product of matrices needs axes")
    if x.rank == 1:
        product = matmul(b, moves.unsqueeze(b, x, [0]), y, **attributes)
        return moves.squeeze(b, product, [-2 if y.rank > 1 else 0])
    if y.rank == 1:
        return moves.squeeze(b, matmul(b, x, moves.unsqueeze(b, y, [1]), **attributes), [-1])
    if x.shape[-1] != y.shape[-2]:
        raise UnsupportedNodeError(f"matrices of {x.shape} and {y.shape} do not fit each other")
    if not attributes and y.data is not None and prod(y.shape[:-2]) == 1 and x.rank >= y.rank:
        return linear(b, x, y.data.reshape(y.shape[-2:]))
    if not attributes and x.data is not None and prod(x.shape[:-2]) == 1 and y.rank >= x.rank:
        return linear(b, y, x.data.reshape(x.shape[-2:]).T, axis=-2)
    return _batches(b, x, y, attributes)


def _batches(b: Builder, x: Value, y: Value, attributes: Mapping[str, Any]) -> Value:
    """Products of two computed matrices, with the batch axes in storage order."""
    batches = broadcast(x.shape[:-2], y.shape[:-2])
    rank = len(batches) + 2
    x, y = (moves.reshape(b, v, (1,) * (rank - v.rank) + v.shape) for v in (x, y))
    x, y, joined = _joined(b, x, y)
    left, left_turned = _matrices(b, x, turned_by_default=False)
    right, right_turned = _matrices(b, y, turned_by_default=True)
    stored = (*joined, x.shape[-2], y.shape[-1])
    made = b.op(BatchMatmul, [left, right], stored, left_turned=left_turned, right_turned=right_turned, **attributes)
    return moves.reshape(b, b.value(made, stored), (*batches, x.shape[-2], y.shape[-1]))


def _joined(b: Builder, x: Value, y: Value) -> tuple[Value, Value, Shape]:
    """Both operands with as few batch axes as possible, and the batch axes of the result."""
    before, behind = x.shape[:-2], y.shape[:-2]
    alike = before == behind or prod(before) == 1 or prod(behind) == 1
    if not alike:
        return x, y, broadcast(before, behind)
    many = max(prod(before), prod(behind))
    x, y = (moves.reshape(b, v, (*([prod(v.shape[:-2])] if many > 1 else []), *v.shape[-2:])) for v in (x, y))
    return x, y, (many,) if many > 1 else ()


def _matrices(b: Builder, value: Value, *, turned_by_default: bool) -> tuple[int, bool]:
    """The tensor with matrices after the batch axes, and whether they are transposed: as they are stored, or whichever
    moves less."""
    rank = value.rank
    batch = list(range(rank - 2))
    straight, turned = [*batch, rank - 2, rank - 1], [*batch, rank - 1, rank - 2]
    shape = tuple(value.shape[a] for a in straight), tuple(value.shape[a] for a in turned)
    if value.constant:
        axes = turned if turned_by_default else straight
    else:
        atoms = value.atoms
        lies = [ordered(atoms, axes) == atoms for axes in (straight, turned)]
        last = atoms[-1].axis if atoms else rank - 1
        axes = straight if lies[0] else turned if lies[1] or (turned_by_default and last == rank - 2) else straight
    is_turned = axes == turned
    return b.ordered(value, _counted(value, axes), shape[is_turned]), is_turned


def _counted(value: Value, axes: Sequence[int]) -> list[Atom]:
    return [Atom(a, 0, value.shape[a]) for a in axes] if value.constant else ordered(value.atoms, axes)


def gemm(
    b: Builder,
    x: Value,
    y: Value,
    c: Value | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    turn_x: bool = False,
    turn_y: bool = False,
) -> Value:
    """alpha * x @ y + beta * c of matrices, either of which may be transposed."""
    x = moves.transpose(b, x, (1, 0)) if turn_x else x
    y = moves.transpose(b, y, (1, 0)) if turn_y else y
    if y.data is not None and y.rank == 2 and x.rank == 2:
        y = replace(y, data=(y.data.astype(np.float64) * alpha).astype(np.float32) if alpha != 1 else y.data)
        if c is None or (c.data is not None and c.size in (1, c.shape[-1] if c.shape else 1)):
            bias = None if c is None or c.data is None or not beta else (c.data * np.float32(beta)).reshape(-1)
            return linear(b, x, b.known(y, "the weights"), bias)
        product = linear(b, x, b.known(y, "the weights"))
    else:
        product = elementwise.scaled(b, matmul(b, x, y), alpha)
    return product if c is None else elementwise.add(b, product, elementwise.scaled(b, c, beta))


def einsum(b: Builder, equation: str, values: Sequence[Value]) -> Value:
    """Einstein summation: letters name axes, and those that the result lacks are summed over."""
    terms, result = _parsed(equation, values)
    values, terms = _diagonals(b, values, terms)
    if len(values) == 1:
        product, letters = values[0], terms[0]
    else:
        product, letters = values[0], terms[0]
        for i, (value, term) in enumerate(zip(values[1:], terms[1:], strict=True), 1):
            later = set(result).union(*terms[i + 1 :])
            product, letters = _pair(b, (product, letters), (value, term), later)
    gone = [i for i, letter in enumerate(letters) if letter not in result]
    product = reductions.sum_(b, product, gone, False) if gone else product
    letters = "".join(letter for letter in letters if letter in result)
    return moves.transpose(b, product, [letters.index(letter) for letter in result])


def _parsed(equation: str, values: Sequence[Value]) -> tuple[list[str], str]:
    """The letters of each operand and of the result; an ellipsis becomes capital letters that are not used
    otherwise."""
    text = equation.replace(" ", "")
    given, _, result = text.partition("->")
    terms = given.split(",")
    if len(terms) != len(values):
        raise UnsupportedNodeError(f"'{equation}' does not fit {len(values)} operands")
    spare = [chr(c) for c in range(ord("A"), ord("Z") + 1) if chr(c) not in text]
    most = max((v.rank - len(t) + 3 for v, t in zip(values, terms, strict=True) if "..." in t), default=0)
    dots = "".join(spare[:most])
    named = []
    for value, term in zip(values, terms, strict=True):
        own = value.rank - len(term) + 3
        named.append(term.replace("...", dots[most - own :] if own else "") if "..." in term else term)
    if "->" not in text:
        letters = "".join(named)
        result = dots + "".join(sorted(c for c in set(letters) if letters.count(c) == 1 and c not in dots))
    result = result.replace("...", dots)
    for value, term in zip(values, named, strict=True):
        if len(term) != value.rank:
            raise UnsupportedNodeError(f"'{equation}' does not fit a value of the shape {value.shape}")
    return named, result


def _diagonals(b: Builder, values: Sequence[Value], terms: Sequence[str]) -> tuple[list[Value], list[str]]:
    """Operands without repeated letters: of a repeated axis the diagonal is taken."""
    operands, named = list(values), list(terms)
    for i, term in enumerate(terms):
        while len(set(named[i])) < len(named[i]):
            value, term = operands[i], named[i]
            first = next(a for a, letter in enumerate(term) if letter in term[a + 1 :])
            second = term.index(term[first], first + 1)
            others = [a for a in range(value.rank) if a not in (first, second)]
            size = value.shape[first]
            turned = moves.transpose(b, value, [*others, first, second])
            flat = moves.reshape(b, turned, [*(value.shape[a] for a in others), size * value.shape[second]])
            operands[i] = moves.slice_(b, flat, flat.rank - 1, 0, size, size + 1)
            named[i] = "".join(term[a] for a in others) + term[first]
    return operands, named


def _pair(b: Builder, first: tuple[Value, str], second: tuple[Value, str], later: set[str]) -> tuple[Value, str]:
    """Two operands as one matrix product: letters of both that are needed later are batch axes, the others are
    summed."""
    (x, a), (y, c) = (_summed(b, *pair, later | set(other)) for pair, other in ((first, second[1]), (second, first[1])))
    sizes = {letter: max(n, 1) for v, t in ((x, a), (y, c)) for n, letter in sorted(zip(v.shape, t, strict=True))}
    batch = [letter for letter in a if letter in c and letter in later]
    depth = [letter for letter in a if letter in c and letter not in later]
    rows, columns = [x for x in a if x not in c], [x for x in c if x not in a]
    x = _expanded(b, x, a, {k: sizes[k] for k in depth})
    y = _expanded(b, y, c, {k: sizes[k] for k in depth})
    left = moves.transpose(b, x, [a.index(k) for k in (*batch, *rows, *depth)])
    right = moves.transpose(b, y, [c.index(k) for k in (*batch, *depth, *columns)])
    own, other = left.shape[: len(batch)], right.shape[: len(batch)]
    deep = prod(sizes[k] for k in depth)
    left = moves.reshape(b, left, (*own, prod(sizes[k] for k in rows), deep))
    right = moves.reshape(b, right, (*other, deep, prod(sizes[k] for k in columns)))
    made = matmul(b, left, right) if depth or not batch else elementwise.mul(b, left, right)
    names = [*batch, *rows, *columns]
    shape = (*broadcast(own, other), *(sizes[k] for k in (*rows, *columns)))
    return moves.reshape(b, made, shape), "".join(names)


def _summed(b: Builder, value: Value, term: str, needed: set[str]) -> tuple[Value, str]:
    """Summed over the axes that are not needed later."""
    gone = [i for i, letter in enumerate(term) if letter not in needed]
    kept = "".join(letter for letter in term if letter in needed)
    return (reductions.sum_(b, value, gone, False) if gone else value), kept


def _expanded(b: Builder, value: Value, term: str, sizes: dict[str, int]) -> Value:
    """Axes of size 1 broadcast to the sizes of the other operand."""
    return moves.expand(b, value, [sizes.get(letter, n) for letter, n in zip(term, value.shape, strict=True)])
