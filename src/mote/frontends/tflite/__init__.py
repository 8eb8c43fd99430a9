"""`.tflite` files."""

from mote.frontends.tflite.reader import parse, read

__all__ = ["parse", "read"]
