"""Kernels for RISC-V cores with the M extension (multiplication)."""

from mote.compiler.kernels.rv32m.gemm import KERNELS as GEMM
from mote.compiler.kernels.swar import gemm, lists, vector

KERNELS = (
    *GEMM,
    *lists.kernels(gemm.LONG, "rv32m", "_rv32m"),
    *vector.kernels(gemm.LONG, "rv32m", "_rv32m"),
)
