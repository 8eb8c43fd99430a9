"""Plan -> a C project that builds on its own."""

from mote.codegen.options import ProjectOptions
from mote.codegen.project import generate

__all__ = ["ProjectOptions", "generate"]
