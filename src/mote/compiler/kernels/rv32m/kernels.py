"""Kernels for RISC-V cores with the M extension (multiplication)."""

from mote.compiler.kernels.pack.transposed import transposed
from mote.compiler.kernels.rv32m.gemm import KERNELS as GEMM
from mote.compiler.kernels.swar import gemm, lists, vector

KERNELS = (
    *GEMM,
    transposed(GEMM, "rv32m", frozenset({"rv32m"})),
    *lists.kernels(gemm.LONG, "rv32m", "_rv32m"),
    *vector.kernels(gemm.LONG, "rv32m", "_rv32m"),
)
