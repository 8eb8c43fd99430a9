"""Kernels for cores with Helium (MVE), the vector extension of Armv8.1-M (Cortex-M55, M85); their headers have portable
C that computes the same."""
