"""Plan -> a C project that builds on its own."""

from mote.codegen.project import Options, generate

__all__ = ["Options", "generate"]
