"""Kernels that only move data."""

from mote.compiler.kernels.portable.moves import gather_constant, pad_concat_transpose, strided

KERNELS = (*pad_concat_transpose.KERNELS, *strided.KERNELS, *gather_constant.KERNELS)
