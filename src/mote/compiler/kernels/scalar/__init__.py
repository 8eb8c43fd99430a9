"""Kernels for cores with 32-bit multiplication and without SIMD instructions."""
