"""Kernels for RISC-V with the M extension."""

from mote.kernels.riscv.gemm import KERNELS as KERNELS
