"""Mote: a micro-compiler that turns trained networks into small, fast, bit-exact C for microcontrollers."""

from __future__ import annotations

__version__ = "0.1.0"
