"""Convolutions as products of matrices."""

from mote.kernels.riscv.gemm.gemm4x3 import KERNELS as KERNELS
