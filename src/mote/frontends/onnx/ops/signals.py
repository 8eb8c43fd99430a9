"""Fourier transforms as products with constant matrices: lengths are constant, and short."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import Builder, Value, matrix, moves, windows
from mote.frontends.onnx.node import Key, Node, Parser
from mote.ir.graph.tensor import Array


def _matrix(length: int, count: int, parts: int, *, inverse: bool, real: bool = False) -> Array:
    """[length * parts, count * 2]: the DFT matrix for `length` real or complex numbers; only the real parts where
    `real`."""
    angle = (
        2
        * np.pi
        * np.outer(np.arange(length, dtype=np.int64), np.arange(count, dtype=np.int64))
        / length
        * (1 if inverse else -1)
    )
    cosine, sine = np.cos(angle), np.sin(angle)
    rows = [np.stack([cosine, sine], -1), np.stack([-sine, cosine], -1)][:parts]
    whole = np.stack(rows, 1).reshape(length * parts, count, 2) / (length if inverse else 1)
    return (whole[..., :1] if real else whole).reshape(length * parts, -1).astype(np.float32)


def dft(node: Node) -> Value:
    """The axis is an attribute before opset 20, an input since then; it is never that of real and imaginary parts."""
    b, x = node.b, node.input()
    given = (
        node.known_integers(2, "the axis")[0] if node.has(2) else node.integer("axis", -2 if node.version >= 20 else 1)
    )
    axis, inverse, half = x.axis(given), node.flag("inverse", False), node.flag("onesided", False)
    parts = x.shape[-1]
    if axis == x.rank - 1 or parts not in (1, 2):
        raise UnsupportedNodeError(f"axis {axis} of a value of the shape {x.shape} cannot be transformed")
    size = x.shape[axis]
    if inverse and half:
        return _real_signal(node, b, x, axis)
    length = int(node.known(1, "the length").reshape(-1)[0]) if node.has(1) else size
    count = length // 2 + 1 if half else length
    cut = _cut(b, x, axis, length)
    return _along(b, cut, axis, _matrix(length, count, parts, inverse=inverse), count, 2)


def _real_signal(node: Node, b: Builder, x: Value, axis: int) -> Value:
    """A real signal from its one-sided spectrum."""
    size = x.shape[axis]
    length = int(node.known(1, "the length").reshape(-1)[0]) if node.has(1) else 2 * (size - 1)
    have = length // 2 + 1
    table = _matrix(length, length, 2, inverse=True, real=True).reshape(length, 2, length)
    folded = table[:have].copy()
    mirror = np.array([1, -1], np.float32)[:, None]
    for k in range(1, have):
        if length - k >= have:
            folded[k] += table[length - k] * mirror
    return _along(b, _cut(b, x, axis, have), axis, folded.reshape(have * 2, length), length, 1)


def _cut(b: Builder, x: Value, axis: int, length: int) -> Value:
    """Cropped or zero-padded along an axis."""
    pads = [(0, length - x.shape[axis]) if a == axis else (0, 0) for a in range(x.rank)]
    return moves.pad(b, x, pads)


def _along(b: Builder, x: Value, axis: int, table: Array, count: int, parts: int) -> Value:
    """The product of a matrix with the numbers along an axis and their parts, which are the last axis."""
    others = [a for a in range(x.rank - 1) if a != axis]
    turned = moves.transpose(b, x, [*others, axis, x.rank - 1])
    flat = moves.reshape(b, turned, (*(x.shape[a] for a in others), -1))
    made = moves.reshape(b, matrix.linear(b, flat, table), (*(x.shape[a] for a in others), count, parts))
    order = [*others, axis, x.rank - 1]
    return moves.transpose(b, made, [order.index(a) for a in range(x.rank)])


def stft(node: Node) -> Value:
    """STFT as a convolution along time, whose weights are the windowed DFT matrix."""
    b, x = node.b, node.input()
    (step,) = node.known_integers(1, "the step")
    window = node.known(2, "the window") if node.has(2) else None
    sized = node.known_integers(3, "the length of a frame")[0] if node.has(3) else None
    length = sized if sized is not None else None if window is None else window.size
    if length is None:
        raise UnsupportedNodeError("neither a window nor the length of a frame is given")
    parts = x.shape[-1] if x.rank == 3 else 1
    count = length // 2 + 1 if node.flag("onesided", True) else length
    table = _matrix(length, count, parts, inverse=False).reshape(length, parts, count * 2)
    if window is not None:
        table = table * window.reshape(-1, 1, 1)
    signal = moves.transpose(b, moves.reshape(b, x, (x.shape[0], x.shape[1], parts)), (0, 2, 1))
    axes = windows.window([length], [step], [(0, 0)], [1])
    spectra = windows.conv(b, signal, table.transpose(2, 1, 0).astype(np.float32), None, axes)
    frames = spectra.shape[2]
    return moves.reshape(b, moves.transpose(b, spectra, (0, 2, 1)), (x.shape[0], frames, count, 2))


PARSERS: Mapping[Key, Parser] = {("", "DFT"): dft, ("", "STFT"): stft}
