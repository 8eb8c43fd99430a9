"""Kernels for cores that multiply 32 bits and have no SIMD instructions."""
