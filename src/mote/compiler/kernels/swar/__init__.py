"""Kernels with two products in one multiplication of 32 bits, for cores that multiply single numbers: their C and their
packers. The instruction sets that have assembly for them list them: `armv7m`, `armv6m`."""
