"""From a plan to a C project that builds on its own."""

from mote.compiler.emit.c.options import ProjectOptions
from mote.compiler.emit.c.project import generate

__all__ = ["ProjectOptions", "generate"]
