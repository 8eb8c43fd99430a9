"""Operators that read or write where computed numbers say: samples between pixels, regions, parts put into tensors;
also running products, determinants, bits as other types."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from mote.ir.ops.elementwise.cast import BitCast
from mote.ir.ops.indexing.scatter_onnx import Combine, Scatter
from mote.ir.ops.reductions.cumprod_det import CumProd, Determinant
from mote.ir.ops.windows.grid_roi_sampling import GridSample, MaxRoiPool, Outside, RoiAlign, Sampling
from tests.compiler.kernels.c_harness import Program
from tests.helpers.support import emulated
from tests.ir.ops.alone import Case, alone, check_alone


def samples(seed: int, axes: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    found = []
    for sampling, outside, corners in product(Sampling, Outside, (False, True)):
        x = rng.normal(size=(2, *rng.integers(1, 6, axes), 3)).astype(np.float32)
        grid = rng.uniform(-2.5, 2.5, (2, *rng.integers(2, 4, axes), axes)).astype(np.float32)
        grid.reshape(-1)[:4] = -1, 1, np.inf, np.nan
        graph = alone(GridSample, [x, grid], sampling=sampling, outside=outside, corners=corners)
        found.append(Case(graph, [x, grid], 1e-4, 1e-5))
    return found


def regions(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    found = []
    for largest, half_pixel, count in product((False, True), (False, True), (0, 2)):
        x = rng.normal(size=(2, 7, 5, 3)).astype(np.float32)
        boxes = rng.uniform(-4, 16, (5, 4)).astype(np.float32)
        images = np.array([0, 1, 1, 0, 7], np.int64)
        fields = {"largest": largest, "half_pixel": half_pixel, "samples": count, "scale": 0.5, "size": (3, 2)}
        found.append(Case(alone(RoiAlign, [x, boxes, images], **fields), [x, boxes, images], 1e-4, 1e-5))
    boxes = np.concatenate([np.array([[0], [1], [1], [7], [-1]]), rng.uniform(-6, 18, (5, 4))], 1).astype(np.float32)
    boxes[0, 1:] = 2.5, -2.5, np.nan, 1e9
    found.append(Case(alone(MaxRoiPool, [x, boxes], scale=0.5, size=(3, 2)), [x, boxes]))
    return found


def scattered(seed: int, *dtypes: str) -> list[Case]:
    rng = np.random.default_rng(seed)
    found = []
    for dtype, combine in product(dtypes, Combine):
        for depth in (1, 2):
            x = (100 * rng.normal(size=(4, 5, 2))).astype(dtype)
            indices = rng.integers(-1, 6, (7, depth)).astype(rng.choice(["int32", "int64"]))
            parts = (100 * rng.normal(size=(7, *x.shape[depth:]))).astype(dtype)
            given = [x, parts, indices]
            found.append(Case(alone(Scatter, given, constant=int(rng.integers(2)), combine=combine), given, 1e-6))
    return found


def others(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    found = []
    for dtype, axis, exclusive, reverse in product(("int32", "int64", "float32"), (0, 1), (False, True), (False, True)):
        x = (3 * rng.normal(size=(3, 7, 2))).astype(dtype)
        graph = alone(CumProd, [x], axis=axis, exclusive=exclusive, reverse=reverse)
        found.append(Case(graph, [x], 1e-5))
    for n in (1, 2, 3, 6):
        x = rng.normal(size=(2, 3, n, n)).astype(np.float32)
        x[0, 0, -1] = x[0, 0, 0] if n > 1 else 0
        found.append(Case(alone(Determinant, [x]), [x], 1e-4, 1e-5))
    for one, other in (("float32", "int32"), ("int16", "uint16"), ("int8", "uint8"), ("uint64", "int64")):
        x = rng.integers(0, 256, 40, np.uint8).view(one)
        found.append(Case(alone(BitCast, [x], other), [x]))
    return found


def every() -> list[Case]:
    """Some of all kernels."""
    return [*samples(3, 2)[::3], *regions(4)[::4], *scattered(5, "int64", "float32")[::3], *others(6)[::3]]


def test_samples_of_lines_images_and_volumes() -> None:
    check_alone([case for axes in (1, 2, 3) for case in samples(axes, axes)])


def test_regions_and_parts_and_others() -> None:
    check_alone([*regions(0), *scattered(1, "float32", "int8", "int64", "uint16"), *others(2)])


def test_on_a_core() -> None:
    check_alone(every(), Program(emulated("cortex-m4")))


def test_samples_are_those_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(7)
    x = rng.normal(size=(2, 5, 4, 3)).astype(np.float32)
    grid = rng.uniform(-1.6, 1.6, (2, 6, 3, 2)).astype(np.float32)
    modes = {Sampling.NEAREST: "nearest", Sampling.LINEAR: "bilinear"}
    for (sampling, mode), outside, corners in product(modes.items(), Outside, (False, True)):
        ours = Case(alone(GridSample, [x, grid], sampling=sampling, outside=outside, corners=corners), [x, grid])
        images = torch.from_numpy(np.moveaxis(x, -1, 1).copy())
        theirs = torch.nn.functional.grid_sample(
            images, torch.from_numpy(grid), mode=mode, padding_mode=str(outside), align_corners=corners
        )
        np.testing.assert_allclose(ours.expected(), np.moveaxis(theirs.numpy(), 1, -1), 1e-4, 1e-5)


def test_what_is_refused() -> None:
    x, grid = np.zeros((1, 4, 4, 2), np.float32), np.zeros((1, 2, 2, 3), np.float32)
    with pytest.raises(AssertionError, match="does not fit images"):
        alone(GridSample, [x, grid], sampling=Sampling.LINEAR, outside=Outside.ZEROS, corners=False)
    with pytest.raises(AssertionError, match="not square"):
        alone(Determinant, [x[..., :1]])
    with pytest.raises(AssertionError, match="float32 to int64 is not supported"):
        alone(BitCast, [x], "int64")
    flags = np.zeros(3, bool)
    with pytest.raises(AssertionError, match="of bool is not supported"):
        alone(Scatter, [flags, flags, np.zeros((3, 1), np.int32)], combine=Combine.ADD)
