"""Layouts: what moves a value from one to another."""

from __future__ import annotations

import numpy as np
import pytest

from mote.ir.graph.element_order import Atom, ElementOrder, permuted_axes

SHAPES = ((1, 3, 4, 5), (2, 3, 1, 5), (1, 2, 6), (2, 3, 4, 1), (2, 3, 4, 5, 6))
"""Shapes of values whose axis 1 is moved to the end, and back."""


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("back", [False, True])
def test_blocks_move_as_the_axes_that_they_are_of(shape: tuple[int, ...], back: bool) -> None:
    to = [0, *range(2, len(shape)), 1]
    last = tuple(shape[axis] for axis in to)
    orders = ElementOrder.plain(int(np.prod(shape))), ElementOrder.of([Atom(axis, 0, shape[axis]) for axis in to])
    value = np.arange(np.prod(shape))
    (has, wants), (given, wanted) = (orders[::-1], (last, shape)) if back else (orders, (shape, last))
    move = has.move(wants)
    assert move is not None
    sizes, permutation = move
    moved = permuted_axes(given, wanted, sizes, permutation)
    assert moved is not None and moved[0] == given
    result = value.reshape(given).transpose(moved[1])
    assert result.shape == wanted
    np.testing.assert_array_equal(result.reshape(-1), value.reshape(sizes).transpose(permutation).reshape(-1))


@pytest.mark.parametrize(
    ("given", "wanted"),
    [((1, 3, 20), (1, 4, 5, 3)), ((60,), (20, 3)), ((1, 3, 4, 5), (20, 3)), ((3, 2, 10), (5, 4, 3)), ((1, 3, 20), ())],
)
def test_blocks_that_are_no_axes(given: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    """Another number of axes, and axes that are cut."""
    assert permuted_axes(given, wanted, (3, 20), (1, 0)) is None
