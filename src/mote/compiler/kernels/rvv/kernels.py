"""Kernels for RISC-V with vectors of integers (Zve32x), in registers of 128 bits at least."""

from mote.compiler.kernels.rvv.layers import KERNELS as KERNELS
