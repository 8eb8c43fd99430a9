"""Samples of images at computed points."""

from __future__ import annotations

from mote.frontends.build import moves
from mote.frontends.build.builder import Builder, Value
from mote.ir.ops.windows.grid_roi_sampling import GridSample, Outside, Sampling


def grid_sample(b: Builder, x: Value, grid: Value, sampling: Sampling, outside: Outside, corners: bool) -> Value:
    """Samples of images at the points of a grid, as images of the grid's shape."""
    channels, points = x.shape[1], grid.shape[1:-1]
    shape = (x.shape[0], *points, channels)
    given = [b.channels_last(x), b.plain(grid)]
    made = b.op(GridSample, given, shape, sampling=sampling, outside=outside, corners=corners)
    return channels_first(b, b.value(made, shape))


def channels_first(b: Builder, x: Value) -> Value:
    """A channels-last value with its channels on axis 1."""
    return moves.transpose(b, x, [0, x.rank - 1, *range(1, x.rank - 1)])
