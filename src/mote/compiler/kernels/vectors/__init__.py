"""Kernels for the vectors of the computer that Mote runs on: AVX-512, AVX2, SSE4.1, NEON."""
