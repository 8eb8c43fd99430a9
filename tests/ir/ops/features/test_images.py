"""Images line by line: the integer definitions against real arithmetic and Pillow, the C against them bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.files import temporary_folder
from mote.bench.measure.runner import bench
from mote.compiler.compiled import Compiled
from mote.compiler.line import compile_graph
from mote.compiler.settings import Settings
from mote.hardware import targets
from mote.hardware.toolchain import Mode
from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.features.images import (
    BAYER,
    METHODS,
    PACKED,
    Demosaic,
    GrayImage,
    ResizeColumns,
    ResizePacked,
    ResizeRows,
    UnpackPixels,
    gray,
    resampling,
)
from mote.ir.ops.moves.slice import Slice
from tests.compiler.kernels.c_harness import Program
from tests.helpers.offered import first
from tests.helpers.support import emulated, examples, varied
from tests.ir.ops.alone import Case, alone, check_alone

Kind = tuple[type[Op], dict[str, Any]]


def noise(seed: int, *shape: int) -> Array:
    """Pixels of any value, the extreme ones often."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 256, shape, np.uint8)
    values[rng.random(shape) < 0.2] = 255
    values[rng.random(shape) < 0.2] = 0
    return values


def applied(x: Array, kind: type[Op], **fields: Any) -> Array:
    return Case(alone(kind, [x], **fields), [x]).expected()


def resized(x: Array, size: tuple[int, int], method: str) -> Array:
    """An image [1, height, width, channels] of another height and width."""
    return applied(applied(x, ResizeColumns, size=size[1], method=method), ResizeRows, size=size[0], method=method)


def every() -> list[Case]:
    """All kernels, in all of their ways."""
    packed, wide = noise(1, 1, 3, 12, 1), noise(2, 1, 3, 24, 1)
    fields: list[dict[str, Any]] = [{"packing": name, "channels": c} for name in PACKED for c in (1, 3)]
    fields += [{"packing": "yuyv", "channels": c, "limited": True} for c in (1, 3)]
    found = [Case(alone(UnpackPixels, [packed], **f), [packed]) for f in fields]
    for seed, (field, method) in enumerate((f, m) for f in fields for m in METHODS):
        part = {"top": seed % 2, "left": 2, "height": 2, "width": (4, 2)[seed % 2], "size": 1 + seed % 7}
        found.append(Case(alone(ResizePacked, [wide], **field, **part, method=method), [wide]))
    for seed, pattern in enumerate(BAYER):
        for shape in ((1, 5, 6, 1), (1, 2, 2, 1), (1, 4, 7, 1)):
            x = noise(seed, *shape)
            found += [Case(alone(Demosaic, [x], pattern=pattern, channels=c), [x]) for c in (1, 3)]
    for channels in (3, 4):
        x = noise(channels, 1, 4, 5, channels)
        found.append(Case(alone(GrayImage, [x]), [x]))
    for seed, (method, size) in enumerate((m, s) for m in METHODS for s in (1, 4, 9, 23)):
        x = noise(seed, 1, 9, 10, 1 + seed % 3)
        found += [Case(alone(kind, [x], size=size, method=method), [x]) for kind in (ResizeColumns, ResizeRows)]
    return found


def few() -> list[Case]:
    """A small case of each kernel."""
    chosen: dict[str, Case] = {}
    for case in every():
        chosen.setdefault(first(case.graph).name, case)
    return list(chosen.values())


def chain(shape: tuple[int, ...], kinds: Sequence[Kind]) -> Graph:
    """Operators one behind another on an image of bytes."""
    tensors, ops = {0: Tensor(0, "lines", shape, DType.UINT8)}, []
    for i, (kind, fields) in enumerate(kinds):
        op = kind(inputs=(i,), outputs=(i + 1,), name=f"{kind.kind.lower()}_{i}", index=i, **fields)
        (made,) = op.shapes(Graph("camera", tensors, (), (), ()))
        tensors[i + 1] = Tensor(i + 1, f"t{i + 1}", made, DType.UINT8)
        ops.append(op)
    graph = Graph("camera", tensors, tuple(ops), (0,), (len(kinds),)).verify()
    assert not [problem for op in ops if (problem := op.unsupported(graph))]
    return graph


def crop(height: int, width: int, channels: int, at: tuple[int, int], size: tuple[int, int]) -> Kind:
    part = (1, *size, channels)
    return Slice, {"begin": (0, *at, 0), "size": part, "strides": (1, 1, 1, 1), "shape": part}


def by_rows(graph: Graph, target: str = "host") -> Compiled:
    return compile_graph(graph, Settings(target=targets.load(target), input="rows", name="camera"))


def check_rows(graph: Graph, folder: Path, seeds: Sequence[int], target: str = "host") -> None:
    """The image that is made of lines that are pushed one by one, against NumPy."""
    lines = [noise(seed, *graph.tensors[0].shape) for seed in seeds]
    device = bench(by_rows(graph, target), folder, sanitize=target == "host")
    run = device.execute(Mode.DUMP, [[x.tobytes()] for x in lines])
    for x, (raw,) in zip(lines, run.outputs, strict=True):
        want = graph.evaluate({0: x})[graph.outputs[0]]
        np.testing.assert_array_equal(np.frombuffer(raw, np.uint8).reshape(want.shape), want)


def test_kernels_are_the_definition() -> None:
    check_alone(every())


def test_kernels_on_a_core() -> None:
    check_alone(every()[::5], Program(emulated("cortex-m4")))


@given(st.integers(0, 1 << 16), st.integers(1, 40), st.integers(1, 40), st.integers(1, 50), st.sampled_from(METHODS))
@settings(deadline=None)
def test_resized_pixels_are_sums_with_real_weights(seed: int, height: int, width: int, out: int, method: str) -> None:
    x = noise(seed, 1, height, width, 2)
    across, down = real_weights(width, out, method), real_weights(height, out + 1, method)
    ideal = np.einsum("uh,vw,nhwc->nuvc", down, across, x.astype(np.float64))
    assert np.abs(resized(x, (out + 1, out), method) - ideal).max() <= 1 + 1e-4


def real_weights(size: int, out: int, method: str) -> Array:
    """[out, size] in float64."""
    middles = (np.arange(out) + 0.5) * (size / out)
    pixels = np.arange(size)
    if method == "nearest":
        return (pixels == np.floor(middles + 1e-9).clip(max=size - 1)[:, None]).astype(np.float64)
    if method == "area":
        ends = (np.arange(out + 1) * (size / out))[:, None]
        weights = np.minimum(ends[1:], pixels + 1) - np.maximum(ends[:-1], pixels)
    else:
        width = max(size / out, 1) if method == "antialias" else 1
        at = middles if method == "antialias" else middles.clip(0.5, size - 0.5)
        weights = 1 - np.abs(pixels + 0.5 - at[:, None]) / width
    weights = np.maximum(weights, 0)
    return np.asarray(weights / weights.sum(1, keepdims=True))


@given(st.integers(0, 1 << 16), st.tuples(*[st.integers(1, 60)] * 2), st.tuples(*[st.integers(1, 60)] * 2))
@settings(deadline=None)
def test_pixels_of_pillow(seed: int, size: tuple[int, int], new: tuple[int, int]) -> None:
    """Pillow resizes one axis and then the other, in the order that takes less time."""
    image = pytest.importorskip("PIL.Image", reason="Pillow (the extra images) is not installed")
    x = noise(seed, 1, *size, 3)
    ours = image.fromarray(x[0])
    for (height, width), kind, axis in (((size[0], new[1]), ResizeColumns, 1), ((new[0], size[1]), ResizeRows, 0)):
        theirs = ours.resize((width, height), image.Resampling.BILINEAR)
        np.testing.assert_array_equal(applied(x, kind, size=new[axis])[0], theirs)
    both = np.asarray(ours.resize(new[::-1], image.Resampling.BILINEAR)).astype(int)
    assert np.abs(resized(x, new, "antialias")[0] - both).max() <= 1
    np.testing.assert_array_equal(applied(x, GrayImage)[0, ..., 0], ours.convert("L"))


def test_gray_is_luma_within_rounding() -> None:
    colours = np.stack(np.meshgrid(*[np.arange(0, 256, 5)] * 3, indexing="ij"), axis=-1)
    assert np.abs(gray(colours)[..., 0] - colours @ [0.299, 0.587, 0.114]).max() < 0.51


def test_rgb565_is_stretched_to_all_of_a_byte() -> None:
    words = np.arange(1 << 16, dtype="<u2")
    pixels = applied(words.view(np.uint8).reshape(1, 256, 512, 1), UnpackPixels, packing="rgb565").reshape(-1, 3)
    ideal = np.stack([(words >> 11) / 31, (words >> 5 & 63) / 63, (words & 31) / 31], axis=-1) * 255
    assert np.abs(pixels - ideal).max() < 1
    swapped = words.byteswap().view(np.uint8).reshape(1, 256, 512, 1)
    np.testing.assert_array_equal(applied(swapped, UnpackPixels, packing="rgb565be").reshape(-1, 3), pixels)


@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("packing", ["yuyv", "uyvy"])
def test_chroma_is_that_of_the_standard(packing: str, limited: bool) -> None:
    x = noise(7, 1, 20, 64, 1)
    pairs = x.reshape(1, 20, 16, 4).astype(np.float64)
    luma, chroma = (pairs[..., 0::2], pairs[..., 1::2]) if packing == "yuyv" else (pairs[..., 1::2], pairs[..., 0::2])
    luma, chroma = ((luma - 16) * 255 / 219, (chroma - 128) * 255 / 224) if limited else (luma, chroma - 128)
    u, v = chroma[..., :1], chroma[..., 1:]
    red, blue = luma + 2 * (1 - 0.299) * v, luma + 2 * (1 - 0.114) * u
    green = (luma - 0.299 * red - 0.114 * blue) / 0.587
    ideal = np.stack([red, green, blue], axis=-1).clip(0, 255).reshape(1, 20, 32, 3)
    assert np.abs(applied(x, UnpackPixels, packing=packing, limited=limited) - ideal).max() < 0.52
    only = applied(x, UnpackPixels, packing=packing, limited=limited, channels=1)
    assert np.abs(only[..., 0] - luma.clip(0, 255).reshape(1, 20, 32)).max() < 0.52


@pytest.mark.parametrize("pattern", BAYER)
def test_demosaicing_keeps_what_is_there_and_smooth_colours(pattern: str) -> None:
    y, x = np.mgrid[:8, :10]
    image = np.stack([40 + 5 * x, 60 + 4 * y, 200 - 3 * x - 6 * y], axis=-1)
    names = np.array(["rgb".index(c) for c in pattern]).reshape(2, 2)
    which = names[y % 2, x % 2]
    mosaic = np.take_along_axis(image, which[..., None], axis=-1).astype(np.uint8)[None]
    made = applied(mosaic, Demosaic, pattern=pattern)[0]
    np.testing.assert_array_equal(np.take_along_axis(made, which[..., None], axis=-1), mosaic[0])
    assert np.abs(made[1:-1, 1:-1].astype(int) - image[1:-1, 1:-1]).max() <= 1
    np.testing.assert_array_equal(applied(mosaic, Demosaic, pattern=pattern, channels=1)[0], gray(made))


def test_weights_are_shared_and_each_pixel_reads_few_lines() -> None:
    axis = resampling(240, 96, "antialias")
    assert axis.taps == 5
    assert len(axis.weights) <= 6, "two phases inside of the image, others at its edges"
    graph = chain((1, 240, 96, 1), [(ResizeRows, {"size": 96})])
    assert graph.ops[0].reads(graph, 0, 40) == (99, 100, 101, 102, 103)


@st.composite
def pipelines(draw: st.DrawFn) -> Graph:
    """A camera with lines of some format, part of its image, in another size."""
    height, width = draw(st.integers(2, 14)), 2 * draw(st.integers(2, 8))
    packing = draw(st.sampled_from([*PACKED, *BAYER]))
    channels = draw(st.sampled_from([1, 3]))
    kinds: list[Kind]
    if packing in PACKED:
        line = PACKED[packing].line(width)
        kinds = [(UnpackPixels, {"packing": packing, "channels": channels, "limited": draw(st.booleans())})]
    else:
        line, kinds = width, [(Demosaic, {"pattern": packing, "channels": channels})]
    method = draw(st.sampled_from(METHODS))
    if packing in PACKED and draw(st.booleans()):
        top, pair = draw(st.integers(0, height - 1)), draw(st.integers(0, width // 2 - 1))
        rest = {"height": draw(st.integers(1, height - top)), "width": 2 * draw(st.integers(1, width // 2 - pair))}
        part = {"top": top, "left": 2 * pair, **rest, "size": draw(st.integers(1, 20)), "method": method}
        kinds = [(ResizePacked, {**kinds[0][1], **part})]
    else:
        size = draw(st.integers(1, height)), draw(st.integers(1, width))
        at = draw(st.integers(0, height - size[0])), draw(st.integers(0, width - size[1]))
        kinds.append(crop(height, width, channels, at, size))
        if channels == 3 and draw(st.booleans()):
            kinds.append((GrayImage, {}))
        kinds.append((ResizeColumns, {"size": draw(st.integers(1, 20)), "method": method}))
    kinds.append((ResizeRows, {"size": draw(st.integers(1, 20)), "method": method}))
    return chain((1, height, line, 1), kinds)


@given(varied(pipelines()))
@settings(max_examples=examples(12, 3), deadline=None)
def test_lines_that_are_pushed(graph: Graph) -> None:
    with temporary_folder() as folder:
        check_rows(graph, folder, range(3))


def camera() -> Graph:
    """QVGA lines of rgb565, the square in the middle, gray, 96x96."""
    part = {"top": 0, "left": 40, "height": 240, "width": 240, "size": 96}
    kinds: list[Kind] = [
        (ResizePacked, {"packing": "rgb565", "channels": 1, **part}),
        (ResizeRows, {"size": 96}),
    ]
    return chain((1, 240, 640, 1), kinds)


def test_a_camera_takes_a_few_lines_of_memory() -> None:
    """A line of 640 bytes, lines of 96, and the image that is made: docs/improve/features.md."""
    compiled = by_rows(camera(), "cortex-m4")
    assert compiled.plan.arena <= 96 * 96 + 933


@pytest.mark.slow
def test_a_camera_on_a_core(tmp_path: Path) -> None:
    check_rows(camera(), tmp_path, [0], emulated("cortex-m4"))


@pytest.mark.parametrize(
    ("kind", "shape", "fields", "why"),
    [
        (UnpackPixels, (1, 4, 7, 1), {"packing": "rgb565"}, "no line of rgb565"),
        (UnpackPixels, (1, 4, 8, 1), {"packing": "yuyv", "channels": 2}, "2 channels are not supported"),
        (UnpackPixels, (2, 4, 8, 1), {"packing": "yuyv"}, "no image"),
        (Demosaic, (1, 1, 8, 1), {"pattern": "rggb"}, "no colour filter array"),
        (
            ResizePacked,
            (1, 4, 8, 1),
            {"packing": "yuyv", "top": 0, "left": 1, "height": 4, "width": 2, "size": 2},
            "no part of the lines",
        ),
        (GrayImage, (1, 4, 4, 2), {}, "no red, green and blue"),
        (ResizeRows, (1, 4, 4, 2), {"size": 3, "method": "cubic"}, "'cubic' is not supported"),
        (ResizeColumns, (1, 4, 4, 2), {"size": 1 << 15}, "are more than"),
    ],
)
def test_what_is_refused(kind: type[Op], shape: tuple[int, ...], fields: dict[str, Any], why: str) -> None:
    with pytest.raises(AssertionError, match=why):
        alone(kind, [np.zeros(shape, np.uint8)], **fields)
