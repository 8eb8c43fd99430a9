"""Convolutions as matrix products (GEMM) with Helium vectors."""
