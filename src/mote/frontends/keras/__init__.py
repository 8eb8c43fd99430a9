"""`.keras` files."""

from mote.frontends.keras.reader import read

__all__ = ["read"]
