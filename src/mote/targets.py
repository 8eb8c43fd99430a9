"""Cores and parts: `mote.targets.load(name)` reads one, `mote.targets()` lists all."""

from mote.hardware.targets import Target, load, names

__all__ = ["Target", "load", "names"]
