"""Kernels that read or write at indices known at run time."""

from mote.compiler.kernels.portable.indexing import gather, scatter, scatter_onnx

KERNELS = (*gather.KERNELS, *scatter.KERNELS, *scatter_onnx.KERNELS)
