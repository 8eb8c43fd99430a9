"""Image files, by Pillow."""

from __future__ import annotations

import warnings
from io import BytesIO

import numpy as np

from mote.base.errors import MoteError
from mote.base.extras import require
from mote.frontends.features.sample import Sample

FORMATS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".bmp": "BMP", ".ppm": "PPM", ".pgm": "PPM", ".webp": "WEBP"}
"""Pillow's names of the formats that are read, by the ends of names."""
MOST_PIXELS = 1 << 26


def picture(data: bytes, name: str) -> Sample:
    """[height, width, 3]: red, green and blue from 0 to 255, of any image."""
    pillow = require("PIL.Image", extra="images", what=name)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pillow.open(BytesIO(data), formats=sorted(set(FORMATS.values()))) as image:
                if image.width * image.height > MOST_PIXELS:
                    raise MoteError(
                        f"has {image.width:,} x {image.height:,} pixels", where=name, remedy="make it smaller"
                    )
                values = np.asarray(image.convert("RGB"), np.float32)
    except MoteError:
        raise
    except Exception as error:  # decoders raise whatever they like
        what = " ".join(str(error).split())
        raise MoteError(
            f"cannot be decoded ({what})", where=name, remedy="leave the file out, or save it again"
        ) from None
    return Sample(values, name, is_image=True)
