"""Kernels that gather or scatter with indices known at run time."""

from mote.compiler.kernels.portable.indexing import gather, scatter, scatter_onnx

KERNELS = (*gather.KERNELS, *scatter.KERNELS, *scatter_onnx.KERNELS)
