"""Kernels for RISC-V cores with integer vectors (Zve32x) of at least 128 bits."""

from mote.compiler.kernels.rvv.layers import KERNELS as KERNELS
