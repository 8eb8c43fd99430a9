"""Convolutions as products of matrices."""

from mote.compiler.kernels.rv32m.gemm.gemm4x3 import KERNELS as KERNELS
