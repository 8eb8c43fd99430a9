"""Convolutions as matrix products (GEMM) and by Winograd's algorithm, for Armv7E-M DSP cores."""
