"""`.onnx` files."""

from mote.frontends.onnx.reader import read

__all__ = ["read"]
