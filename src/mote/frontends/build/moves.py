"""Operators that only move elements. Those that change the indexing alone are free: transpose, reshape, squeeze and
similar operators return the same tensor under another arrangement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build.builder import Builder, Value, ordered
from mote.frontends.build.orders import broadcast, common_order, gathered, sizes_of, stored_axes
from mote.ir.graph.element_order import Atom, ElementOrder
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.moves.gather_constant import Pick
from mote.ir.ops.moves.pad_concat_transpose import INPUTS, Concatenation, Pad
from mote.ir.ops.moves.slice import Slice
from mote.ir.ops.moves.strided import BroadcastTo

Pairs = Sequence[tuple[int, int]]


def transpose(b: Builder, value: Value, permutation: Sequence[int]) -> Value:
    """Axis i of the result is axis permutation[i]."""
    axes = tuple(value.axis(a) for a in permutation)
    if sorted(axes) != list(range(value.rank)):
        raise UnsupportedNodeError(f"{tuple(permutation)} is not a permutation of the axes of a value of {value.shape}")
    shape = tuple(value.shape[a] for a in axes)
    if value.data is not None:
        return replace(value, shape=shape, data=value.data.transpose(axes))
    atoms = [replace(atom, axis=axes.index(atom.axis)) for atom in value.atoms]
    return replace(value, shape=shape, arrangement=ElementOrder.of(atoms))


def reshape(b: Builder, value: Value, shape: Sequence[int]) -> Value:
    """Reshape; one size may be -1, which is inferred."""
    new = _sizes(value, tuple(int(n) for n in shape))
    if value.data is not None:
        return replace(value, shape=new, data=value.data.reshape(new))
    if value.arrangement.split(new) is None:
        return b.value(b.plain(value), new)
    return replace(value, shape=new)


def _sizes(value: Value, shape: Shape) -> Shape:
    rest = prod(n for n in shape if n != -1)
    if -1 in shape and rest:
        shape = tuple(value.size // rest if n == -1 else n for n in shape)
    if prod(shape) != value.size or min(shape, default=0) < 0:
        raise UnsupportedNodeError(f"a value of the shape {value.shape} does not fit the shape {shape}")
    return shape


def flatten(b: Builder, value: Value, axis: int = 1) -> Value:
    """Reshape to a matrix: the axes before `axis`, and the rest."""
    at = axis + value.rank if axis < 0 else axis
    return reshape(b, value, (prod(value.shape[:at]), prod(value.shape[at:])))


def squeeze(b: Builder, value: Value, axes: Sequence[int] | None = None) -> Value:
    """Without some axes of size 1, or all of them."""
    gone = [a for a, n in enumerate(value.shape) if n == 1] if axes is None else value.axes(axes)
    if any(value.shape[a] != 1 for a in gone):
        raise UnsupportedNodeError(f"axes {tuple(gone)} of a value of the shape {value.shape} have more elements")
    return reshape(b, value, [n for a, n in enumerate(value.shape) if a not in gone])


def unsqueeze(b: Builder, value: Value, axes: Sequence[int]) -> Value:
    """With new axes of size 1, at these indices of the result."""
    rank = value.rank + len(axes)
    new = {a % rank for a in axes if -rank <= a < rank}
    if len(new) != len(axes):
        raise UnsupportedNodeError(f"axes {tuple(axes)} do not fit a result of {rank} axes")
    own = iter(value.shape)
    return reshape(b, value, [1 if a in new else next(own) for a in range(rank)])


def slice_(b: Builder, value: Value, axis: int, begin: int, count: int, step: int = 1) -> Value:
    """`count` elements along an axis, from `begin` on in steps of `step`, which may be negative."""
    axis = value.axis(axis)
    size = value.shape[axis]
    last = begin + (count - 1) * step
    if count < 1 or not (0 <= begin < size and 0 <= last < size):
        raise UnsupportedNodeError(f"{count} elements from {begin} by {step} are outside of an axis of {size}")
    if (begin, count) == (0, size) and (step == 1 or size == 1):
        return value
    return _taken(b, value, axis, range(begin, last + (1 if step > 0 else -1), step))


def slices(
    b: Builder, value: Value, begins: Sequence[int], ends: Sequence[int], axes: Sequence[int], steps: Sequence[int]
) -> Value:
    """Python slices along some axes: negative begins and ends count from the end, and both are clamped."""
    for begin, end, axis, step in zip(begins, ends, axes, steps, strict=True):
        if step == 0:
            raise UnsupportedNodeError("a step of 0 is not supported")
        size = value.shape[value.axis(axis)]
        places = range(size)[slice(begin, end, step)]
        if not places:
            raise UnsupportedNodeError(f"a slice from {begin} to {end} by {step} of an axis of {size} has no elements")
        value = slice_(b, value, axis, places[0], len(places), step)
    return value


def split(b: Builder, value: Value, axis: int, sizes: Sequence[int]) -> list[Value]:
    """Contiguous parts along an axis."""
    if sum(sizes) != value.shape[value.axis(axis)]:
        raise UnsupportedNodeError(
            f"split sizes {tuple(sizes)} do not add up to an axis of {value.shape[value.axis(axis)]}"
        )
    return [slice_(b, value, axis, sum(sizes[:i]), n) for i, n in enumerate(sizes)]


def flip(b: Builder, value: Value, axes: Sequence[int]) -> Value:
    """Reversed along some axes."""
    for axis in value.axes(axes):
        size = value.shape[axis]
        value = slice_(b, value, axis, size - 1, size, -1)
    return value


def gather(b: Builder, value: Value, axis: int, indices: Value) -> Value:
    """The elements at constant indices along an axis, with the shape of the indices in its place; negative ones count
    from the end."""
    axis = value.axis(axis)
    size = value.shape[axis]
    at = b.known(indices, "the indices").astype(np.int64)
    if at.size and not -size <= at.min() <= at.max() < size:
        raise UnsupportedNodeError(f"an index from {at.min()} to {at.max()} is outside an axis of {size} elements")
    at = np.where(at < 0, at + size, at)
    shape = (*value.shape[:axis], *at.shape, *value.shape[axis + 1 :])
    if value.data is not None:
        return replace(value, shape=shape, data=np.take(value.data, at, axis))
    return reshape(b, _taken(b, value, axis, at.reshape(-1).tolist()), shape)


def _taken(b: Builder, value: Value, axis: int, at: Sequence[int]) -> Value:
    """The elements at some indices of an axis."""
    shape = (*value.shape[:axis], len(at), *value.shape[axis + 1 :])
    if value.data is not None:
        return replace(value, shape=shape, data=np.take(value.data, list(at), axis))
    outer = _outer(value, axis, at)
    atoms = value.atoms
    if outer is None:
        atoms = gathered(atoms, axis)
        outer = (Atom(axis, 0, value.shape[axis]), list(at))
    atom, places = outer
    groups = stored_axes(b, value, atoms, [atom])
    sizes, where = sizes_of(groups), groups.index([atom])
    source = b.ordered(value, atoms, sizes)
    made = (*sizes[:where], len(places), *sizes[where + 1 :])
    copied = _copied(b, source, where, places, made)
    return b.value(copied, shape, [replace(a, size=len(places)) if a == atom else a for a in atoms])


def _outer(value: Value, axis: int, at: Sequence[int]) -> tuple[Atom, list[int]] | None:
    """The atom of an axis and indices along it that select these elements of the axis: its only atom, or its first one,
    where everything behind an element is taken in order. Else None."""
    own = sorted(atom for atom in value.atoms if atom.axis == axis)
    behind = prod(atom.size for atom in own[1:])
    blocks = np.array(at).reshape(-1, behind) if len(at) % behind == 0 else None
    if not own or blocks is None:
        return None
    whole = np.array_equal(blocks, blocks[:, :1] + np.arange(behind, dtype=np.int64)) and not np.any(
        blocks[:, 0] % behind
    )
    return (own[0], (blocks[:, 0] // behind).tolist()) if whole else None


def _copied(b: Builder, source: int, axis: int, at: Sequence[int], shape: Shape) -> int:
    """A slice of a tensor where the indices are evenly spaced, else a gather."""
    t = b.tensors[source]
    steps = set(np.diff(at).tolist())
    if len(steps) > 1 or 0 in steps:
        lists = tuple(tuple(at) if a == axis else None for a in range(len(t.shape)))
        return b.op(Pick, [source], shape, quant=t.quant, places=lists, shape=shape)
    step = steps.pop() if steps else 1
    return b.op(
        Slice,
        [source],
        shape,
        quant=t.quant,
        begin=tuple(at[0] if a == axis else 0 for a in range(len(t.shape))),
        size=shape,
        strides=tuple(step if a == axis else 1 for a in range(len(t.shape))),
        shape=shape,
    )


def concat(b: Builder, values: Sequence[Value], axis: int) -> Value:
    """Values concatenated along an axis."""
    axis = values[0].axis(axis)
    rest = {(*v.shape[:axis], *v.shape[axis + 1 :]) for v in values}
    if len(rest) > 1 or len({v.dtype for v in values}) > 1:
        kinds = " and ".join(f"{v.dtype} {v.shape}" for v in values)
        raise UnsupportedNodeError(f"values of {kinds} do not fit each other along axis {axis}")
    if len(values) == 1:
        return values[0]
    if len(values) > INPUTS:
        parts_of = [values[i : i + INPUTS] for i in range(0, len(values), INPUTS)]
        return concat(b, [concat(b, part, axis) for part in parts_of], axis)
    total = sum(v.shape[axis] for v in values)
    shape = (*values[0].shape[:axis], total, *values[0].shape[axis + 1 :])
    if all(v.data is not None for v in values):
        return b.constant(np.concatenate([b.known(v, "a part") for v in values], axis))
    largest = max((v for v in values if not v.constant), key=lambda v: v.size)
    atoms = gathered(common_order([largest], shape), axis)
    along = next(atom for atom in atoms if atom.axis == axis)

    def sized(n: int) -> list[Atom]:
        return [replace(atom, size=n) if atom == along else atom for atom in atoms]

    own = replace(along, size=largest.shape[axis])
    groups = stored_axes(b, largest, sized(own.size), [own])
    where = groups.index([own])
    stored = sizes_of(groups)
    parts = [b.ordered(v, sized(v.shape[axis]), (*stored[:where], v.shape[axis], *stored[where + 1 :])) for v in values]
    made = (*stored[:where], total, *stored[where + 1 :])
    quant = b.tensors[parts[0]].quant
    return b.value(b.op(Concatenation, parts, made, quant=quant, axis=where), shape, sized(total))


def stack(b: Builder, values: Sequence[Value], axis: int) -> Value:
    """Values stacked along a new axis."""
    return concat(b, [unsqueeze(b, v, [axis]) for v in values], axis)


def pad(b: Builder, value: Value, paddings: Pairs, mode: str = "constant", fill: float = 0) -> Value:
    """Padded before and after each axis, or cropped where amounts are negative. Modes: constant, reflect (without the
    edge element), symmetric (with it), edge, wrap."""
    for axis, (before, after) in enumerate(paddings):
        begin, end = max(-before, 0), max(-after, 0)
        if begin + end >= value.shape[axis]:
            raise UnsupportedNodeError(f"padding by {before} and {after} leaves nothing of axis {axis}")
        value = slice_(b, value, axis, begin, value.shape[axis] - begin - end)
    more = [(max(before, 0), max(after, 0)) for before, after in paddings]
    if mode == "constant":
        return _filled(b, value, more, fill)
    for axis, (before, after) in enumerate(more):
        if before or after:
            size = value.shape[axis]
            if mode == "reflect" and max(before, after) >= size:
                raise UnsupportedNodeError(f"an axis of {size} elements cannot be reflected by {before} and {after}")
            if mode not in ("reflect", "symmetric", "edge", "wrap"):
                raise UnsupportedNodeError(f"padding mode {mode} is not supported")
            places: Array = np.pad(np.arange(size, dtype=np.int64), (before, after), mode)  # type: ignore[call-overload]
            value = _taken(b, value, axis, places.tolist())
    return value


def _filled(b: Builder, value: Value, paddings: Pairs, fill: float) -> Value:
    if not any(before or after for before, after in paddings):
        return value
    shape = tuple(before + n + after for n, (before, after) in zip(value.shape, paddings, strict=True))
    number = fill if value.dtype == DType.FLOAT32 else int(fill)
    if value.data is not None:
        return replace(value, shape=shape, data=np.pad(value.data, list(paddings), constant_values=number))
    atoms = value.atoms
    for axis, (before, after) in enumerate(paddings):
        if before or after:
            atoms = gathered(atoms, axis)
    groups = stored_axes(b, value, atoms, [atom for atom in atoms if any(paddings[atom.axis])])
    around = tuple(paddings[group[0].axis] if len(group) == 1 else (0, 0) for group in groups)
    source = b.ordered(value, atoms, sizes_of(groups))
    stored = tuple(n + sum(more) for n, more in zip(sizes_of(groups), around, strict=True))
    whole = [replace(atom, size=atom.size + sum(paddings[atom.axis])) for atom in atoms]
    made = b.op(Pad, [source], stored, quant=b.tensors[source].quant, paddings=around, value=number)
    return b.value(made, shape, whole)


def expand(b: Builder, value: Value, shape: Sequence[int]) -> Value:
    """Broadcast along axes of size 1, and along new leading axes."""
    whole = broadcast(value.shape, tuple(shape))
    if whole == value.shape:
        return value
    new = len(whole) - value.rank
    wide = reshape(b, value, (1,) * new + value.shape)
    if wide.data is not None:
        return b.constant(np.broadcast_to(wide.data, whole), quant=value.quant)
    atoms = common_order([wide], whole)
    if _new_image(wide.shape, whole):
        atoms = ordered(atoms, [0, *range(2, len(whole)), 1], free=range(len(whole)))
    own = [atom for atom in atoms if wide.shape[atom.axis] != 1]
    source = b.ordered(wide, own, tuple(a.size if wide.shape[a.axis] != 1 else 1 for a in atoms))
    stored = tuple(atom.size for atom in atoms)
    made = b.op(BroadcastTo, [source], stored, quant=b.tensors[source].quant, shape=stored)
    return b.value(made, whole, atoms)


def _new_image(shape: Shape, whole: Shape) -> bool:
    """Whether the new axes are spatial axes of an image, which is wanted channels-last."""
    return len(whole) > 2 and shape[1] != 1 and all(n == 1 for n in shape[2:]) and prod(whole[2:]) > 1


def tile(b: Builder, value: Value, repeats: Sequence[int]) -> Value:
    """The value repeated along each axis."""
    if len(repeats) != value.rank or min(repeats, default=1) < 1:
        raise UnsupportedNodeError(f"repeating {tuple(repeats)} times does not fit a value of {value.shape}")
    pairs = [n for times, size in zip(repeats, value.shape, strict=True) for n in (times, size)]
    ones = reshape(b, value, [n for size in value.shape for n in (1, size)])
    whole = tuple(times * size for times, size in zip(repeats, value.shape, strict=True))
    return reshape(b, expand(b, ones, pairs), whole)


def depth_to_space(b: Builder, value: Value, block: int, *, crd: bool = False) -> Value:
    """Depth to space with block x block pixels; `crd`: the position in the block varies faster than the channel."""
    n, channels, height, width = _image(value)
    if block < 1 or channels % block**2:
        raise UnsupportedNodeError(f"{channels} channels are not a multiple of blocks of {block}x{block} pixels")
    rest = channels // block**2
    parts = (n, rest, block, block, height, width) if crd else (n, block, block, rest, height, width)
    moved = transpose(b, reshape(b, value, parts), (0, 1, 4, 2, 5, 3) if crd else (0, 3, 4, 1, 5, 2))
    return reshape(b, moved, (n, rest, height * block, width * block))


def space_to_depth(b: Builder, value: Value, block: int, *, crd: bool = False) -> Value:
    """Space to depth with block x block pixels: the position in the block varies slower than the channel, or faster."""
    n, channels, height, width = _image(value)
    if block < 1 or height % block or width % block:
        raise UnsupportedNodeError(f"images of {height}x{width} have no blocks of {block}x{block} pixels")
    parts = reshape(b, value, (n, channels, height // block, block, width // block, block))
    moved = transpose(b, parts, (0, 1, 3, 5, 2, 4) if crd else (0, 3, 5, 1, 2, 4))
    return reshape(b, moved, (n, channels * block**2, height // block, width // block))


def _image(value: Value) -> tuple[int, int, int, int]:
    if value.rank != 4:
        raise UnsupportedNodeError(f"images must have 4 axes, this has the shape {value.shape}")
    n, channels, height, width = value.shape
    return n, channels, height, width
