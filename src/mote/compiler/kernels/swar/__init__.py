"""Kernels with two products in one 32-bit multiplication (SWAR), for cores without SIMD: C headers and packers.
Instruction sets with assembly for them (`armv7m`, `armv6m`, `rv32m`) list them as their kernels."""
