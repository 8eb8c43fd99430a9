"""Layers with int16 activations."""

from mote.compiler.kernels.scalar.int16.fours import KERNELS as KERNELS
