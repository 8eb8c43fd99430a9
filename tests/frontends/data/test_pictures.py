"""Image files, and those that are none."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np
import pytest

from mote.base import extras
from mote.base.errors import MoteError
from mote.frontends.data.readers import pictures
from mote.frontends.data.readers.pictures import picture

Image = pytest.importorskip("PIL.Image")
PIXELS = np.random.default_rng(0).integers(0, 256, (5, 7, 3), np.uint8)


def packed(pixels: Any, kind: str = "PNG") -> bytes:
    file = BytesIO()
    Image.fromarray(pixels).save(file, kind)
    return file.getvalue()


@pytest.mark.parametrize("kind", ["PNG", "BMP", "PPM"])
def test_pixels_are_what_was_saved(kind: str) -> None:
    found = picture(packed(PIXELS, kind), "x")
    assert found.values.dtype == np.float32
    np.testing.assert_array_equal(found.values, PIXELS)


def test_every_image_has_three_channels() -> None:
    gray = PIXELS[..., 0]
    clear = np.concatenate([PIXELS, PIXELS[..., :1]], 2)
    np.testing.assert_array_equal(picture(packed(gray), "x").values, np.repeat(gray[..., None], 3, 2))
    np.testing.assert_array_equal(picture(packed(clear), "x").values, PIXELS)


def test_photographs() -> None:
    smooth = np.add.outer(np.arange(0, 160, 10), np.arange(0, 80, 5))[..., None].repeat(3, 2).astype(np.uint8)
    found = picture(packed(smooth, "JPEG"), "x").values
    assert found.shape == (16, 16, 3) and np.abs(found - smooth).max() < 16


@pytest.mark.parametrize(
    "data",
    [b"", b"no image", packed(PIXELS)[:40], packed(PIXELS)[:-30], b"\x89PNG\r\n\x1a\n" + bytes(50)],
    ids=range(5),
)
def test_files_that_are_none(data: bytes) -> None:
    with pytest.raises(MoteError, match=r"x\.png: cannot be decoded") as error:
        picture(data, "x.png")
    assert error.value.remedy


def test_images_that_are_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are refused by what they say of themselves, before anything is unpacked."""
    monkeypatch.setattr(pictures, "MOST_PIXELS", 34)
    with pytest.raises(MoteError, match="has 7 x 5 pixels"):
        picture(packed(PIXELS), "x.png")


def test_other_formats_of_pillow_are_not_tried() -> None:
    """Some of them run other programs."""
    for kind in ("TIFF", "GIF", "EPS", "TGA"):
        with pytest.raises(MoteError, match="cannot be decoded"):
            picture(packed(PIXELS, kind), "x.png")


def test_without_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(package: str) -> Any:
        raise ImportError(package)

    monkeypatch.setattr(extras, "import_module", absent)
    monkeypatch.setattr(extras, "installed", lambda package: False)
    with pytest.raises(MoteError, match=r"x\.png: needs the package PIL, which is not installed") as error:
        picture(packed(PIXELS), "x.png")
    assert error.value.remedy == extras.installing("images")
