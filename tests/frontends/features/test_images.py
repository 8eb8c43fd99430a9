"""Steps on images: integers within a rounding of what they stand for, of pixels and of a camera's lines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import MoteError
from mote.bench.evaluation.verify import verify
from mote.compiler.line import compile
from mote.frontends.features.images import FORMATS, IMAGE_STEPS
from mote.frontends.features.pipeline import preprocessing
from mote.frontends.features.sample import Sample
from mote.frontends.features.steps import STEPS
from mote.ir.graph import Op
from mote.ir.graph.tensor import Array
from mote.ir.ops.features.images import PACKED
from tests.helpers.network import Net
from tests.helpers.support import needs_litert, soaked
from tests.ir.ops.features.test_images import real_weights

RNG = np.random.default_rng(0)
IMAGE = RNG.integers(0, 256, (6, 8, 3), np.uint8)


def done(steps: str, values: Array) -> Array:
    made: Array = preprocessing(steps)(Sample(values, is_image=True)).values
    return made


def operators(steps: str, values: Array) -> list[Op]:
    pipeline = preprocessing(steps)
    pipeline(Sample(values))
    ((_, graph),) = pipeline._built.values()
    return [] if graph is None else list(graph.ops)


def scene(height: int, width: int) -> Array:
    """Colours that change slowly, which formats with little colour keep."""
    y, x = np.mgrid[:height, :width]
    colours = np.stack([120 + 80 * np.sin(x / 19), 128 + 90 * np.cos(y / 23), 100 + 60 * np.sin((x + y) / 31)], -1)
    return np.rint(colours).astype(np.uint8)


@pytest.mark.parametrize(
    ("steps", "given", "want"),
    [
        ("crop=4x2", IMAGE, IMAGE[2:4, 2:6]),
        ("crop(4x2,x=1,y=0)", IMAGE, IMAGE[:2, 1:5]),
        ("crop=8x6", IMAGE, IMAGE),
        ("gray", IMAGE, (IMAGE @ [0.299, 0.587, 0.114])[..., None]),
        ("gray", IMAGE[..., :1], IMAGE[..., :1]),
        ("gray", IMAGE[..., 0], IMAGE[..., :1]),
        ("resize=8x6", IMAGE.astype(np.float32), IMAGE),
        ("resize(4x3,method=area)", IMAGE, IMAGE.reshape(3, 2, 4, 2, 3).mean((1, 3))),
        ("crop=4x2,scale=2,channels-first", IMAGE, 2.0 * IMAGE[2:4, 2:6].transpose(2, 0, 1)),
    ],
    ids=range(9),
)
def test_what_steps_do(steps: str, given: Array, want: Any) -> None:
    made = done(steps, given)
    assert made.dtype == np.float32 and made.shape == np.shape(want)
    np.testing.assert_allclose(made, want, atol=1)


@settings(deadline=None)
@given(st.integers(1, 20), st.integers(1, 20), st.integers(1, 20), st.integers(1, 20))
def test_resizing_is_the_mean_of_a_triangle(height: int, width: int, rows: int, columns: int) -> None:
    image = np.random.default_rng(height).integers(0, 256, (height, width, 2), np.uint8)
    down, across = real_weights(height, rows, "antialias"), real_weights(width, columns, "antialias")
    ideal = np.einsum("uh,vw,hwc->uvc", down, across, image.astype(np.float64))
    assert np.abs(done(f"resize={columns}x{rows}", image) - ideal).max() <= 1 + 1e-4


@pytest.mark.parametrize("format", FORMATS)
def test_a_camera_shows_the_image(format: str) -> None:
    """Formats lose colour, by at most a step of 5 bits where colours change slowly."""
    image = scene(48, 64)
    made = done(f"camera(64x48,{format})", image)
    want = done("gray", image) if format == "gray8" else image
    assert made.shape == want.shape and np.abs(made - want).max() <= 8
    if format in ("rgb888", "bgr888", "gray8"):
        np.testing.assert_array_equal(made, want)


@pytest.mark.parametrize("format", ["yuyv", "uyvy"])
def test_luma_of_a_limited_range(format: str) -> None:
    image = scene(48, 64)
    assert np.abs(done(f"camera(64x48,{format},limited)", image) - image).max() <= 6
    assert np.abs(done(f"camera(64x48,{format},limited),gray", image) - done("gray", image)).max() <= 2


@pytest.mark.parametrize("format", [f for f in FORMATS if f not in ("yuyv", "uyvy")])
def test_joined_operators_give_the_same_pixels(format: str) -> None:
    """A crop that is made before lines are unpacked, and gray that is unpacked at once."""
    image = RNG.integers(0, 256, (12, 16, 3), np.uint8)
    whole = done(f"camera(16x12,{format})", image).astype(np.uint8)
    part = whole[2:10, 4:12]
    np.testing.assert_array_equal(done(f"camera(16x12,{format}),crop=8x8", image), part)
    np.testing.assert_array_equal(done(f"camera(16x12,{format}),crop=8x8,gray", image), done("gray", part))
    np.testing.assert_array_equal(done(f"camera(16x12,{format}),gray", image), done("gray", whole))


def test_what_is_outside_of_a_crop_is_not_unpacked() -> None:
    image = RNG.integers(0, 256, (12, 16, 3), np.uint8)
    kinds = [op.kind for op in operators("camera(16x12,rgb565),crop=8x8,gray,resize=4x4", image)]
    assert kinds == ["RESIZE_PACKED", "RESIZE_ROWS"]
    unpacked = [op.kind for op in operators("camera(16x12,rgb565),crop=8x8,gray", image)]
    assert unpacked == ["SLICE", "UNPACK_PIXELS"]
    pairs = [op.kind for op in operators("camera(16x12,yuyv),crop(8x8,x=3,y=0)", image)]
    assert pairs == ["UNPACK_PIXELS", "SLICE"], "a pair of pixels shares its colour"


@pytest.mark.parametrize("format", PACKED)
@pytest.mark.parametrize("before", ["", ",crop(12x8,x=2,y=3)", ",gray", ",crop=8x8,gray"])
def test_lines_are_resized_as_their_pixels_are(format: str, before: str) -> None:
    image = RNG.integers(0, 256, (12, 16, 3), np.uint8)
    pixels = done(f"camera(16x12,{format}){before}", image).astype(np.uint8)
    for after in ("resize=5x7", "resize(9x12,method=bilinear),resize=4x4", "resize=5x12,crop=3x3", "resize=7x12,gray"):
        np.testing.assert_array_equal(done(f"camera(16x12,{format}){before},{after}", image), done(after, pixels))


def test_lines_of_a_camera_are_data() -> None:
    image = RNG.integers(0, 256, (12, 16, 3), np.uint8)
    lines = image.reshape(12, 48)
    np.testing.assert_array_equal(done("camera(16x12,rgb888)", lines), image)
    np.testing.assert_array_equal(done("camera(16x12,rgb888)", lines[..., None]), image)


def test_images_of_another_size_are_resized_to_the_cameras() -> None:
    image = scene(96, 128)
    np.testing.assert_array_equal(done("camera(64x48,rgb888)", image), done("resize=64x48", image))


@pytest.mark.parametrize(
    ("steps", "given", "said"),
    [
        ("camera(64x48,rgb24)", IMAGE, "'rgb24' is no format"),
        ("camera(63x48,yuyv)", IMAGE, "yuyv has no images of 63x48"),
        ("camera(64x48,yuyv,narrow)", IMAGE, "'narrow' is no range"),
        ("resize(4x4,method=cubic)", IMAGE, "'cubic' is no method"),
        ("crop(4x2,x=5,y=0)", IMAGE, "4x2 from 5,0 on is not inside of 8x6"),
        ("gray", IMAGE[..., :2], "gets 2 channels"),
        ("scale=1/255,resize=4x4", IMAGE, "resize comes after scale"),
        ("resize=4x4", IMAGE / 255, "has values from 0 to 0.97.*, and pixels are from 0 to 255"),
        ("resize=4x4", IMAGE * 2.0, "pixels are from 0 to 255"),
        ("resize=4x4", IMAGE * np.nan, "pixels are from 0 to 255"),
        ("resize=4x4", np.zeros(5), "sample is 5, no image"),
    ],
    ids=range(11),
)
def test_what_is_refused(steps: str, given: Array, said: str) -> None:
    with pytest.raises(MoteError, match=said) as error:
        done(steps, given)
    assert error.value.where.startswith("option preprocess") and error.value.remedy


def test_image_steps_have_names() -> None:
    assert set(IMAGE_STEPS) <= set(STEPS.values())


@needs_litert
@pytest.mark.parametrize("format", soaked(["rgb565", "yuyv", "rggb", "rgb888"], ["rggb"]))
def test_lines_before_a_model(format: str) -> None:
    """The C, under the sanitizers, against NumPy and the model's reference."""
    steps = f"camera(16x12,{format}),crop=8x10,resize(6x4,method=area),mean(10,20,30),scale=1/64"
    net = Net(1)
    model = net.finish(net.conv(net.input(1, 4, 6, 3), 2))
    assert verify(compile(model, target="host", preprocess=steps), 3, sanitize=True).passed


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ("camera(16x12),channels-first", "on a device images have channels last"),
        ("gray,resize=4x4", "'gray' takes images, and there is no camera"),
        ("camera(16x12),resize=4x4", "its steps give image of 4x4x3"),
    ],
)
def test_what_cannot_be_compiled(steps: str, said: str) -> None:
    net = Net(1)
    with pytest.raises(MoteError, match=said) as error:
        compile(net.finish(net.conv(net.input(1, 4, 6, 3), 2)), target="host", preprocess=steps)
    assert error.value.remedy
