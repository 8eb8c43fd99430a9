"""Functional model of Ethos-U: the values that a command stream computes, without timing."""

from mote.hardware.npu.functional.run import Trace, execute

__all__ = ["Trace", "execute"]
