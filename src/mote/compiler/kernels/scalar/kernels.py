"""Kernels for cores that multiply 32 bits and have no SIMD instructions."""

from mote.compiler.kernels.scalar import depthwise, int16

KERNELS = (*depthwise.KERNELS, *int16.KERNELS)
