"""Plan -> a C project that builds on its own."""

from mote.emit.c.options import ProjectOptions
from mote.emit.c.project import generate

__all__ = ["ProjectOptions", "generate"]
