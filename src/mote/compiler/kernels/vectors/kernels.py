"""Kernels for the SIMD instructions of the host that Mote runs on: AVX-512, AVX2, SSE4.1, NEON."""

from mote.compiler.kernels.vectors import depthwise, gemm

KERNELS = (*gemm.KERNELS, *depthwise.KERNELS)
