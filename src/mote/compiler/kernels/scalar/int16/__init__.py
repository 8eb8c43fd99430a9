"""Kernels for layers with int16 activations, for cores without SIMD instructions."""

from mote.compiler.kernels.scalar.int16.fours import KERNELS as KERNELS
