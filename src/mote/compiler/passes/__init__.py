"""Graph passes: small functions from a graph to a graph."""

from mote.compiler.passes.pipeline import Saving, optimize

__all__ = ["Saving", "optimize"]
