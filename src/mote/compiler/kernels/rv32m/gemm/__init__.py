"""Convolutions as matrix products (GEMM) for RISC-V cores with the M extension."""

from mote.compiler.kernels.rv32m.gemm.gemm4x3 import KERNELS as KERNELS
