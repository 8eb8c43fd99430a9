"""Kernels for cores that multiply 32 bits and have no SIMD instructions."""

from mote.kernels.scalar.depthwise import KERNELS as KERNELS
