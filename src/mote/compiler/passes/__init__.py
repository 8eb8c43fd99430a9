"""Passes: small functions Graph -> Graph, listed here in the order in which they run."""

from mote.compiler.passes.pipeline import Saving, optimize

__all__ = ["Saving", "optimize"]
