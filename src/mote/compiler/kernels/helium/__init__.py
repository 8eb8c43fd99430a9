"""Kernels for cores with Helium, the vectors of Armv8.1-M (Cortex-M55, M85), with portable twins in their C."""
