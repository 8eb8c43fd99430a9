"""Kernels for cores with 32-bit multiplication and without SIMD instructions."""

from mote.compiler.kernels.scalar import depthwise, int16

KERNELS = (*depthwise.KERNELS, *int16.KERNELS)
