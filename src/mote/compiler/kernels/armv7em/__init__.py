"""Kernels for cores with the Armv7E-M DSP instructions (Cortex-M4, M7, M33, M55); their headers have portable C that
computes the same."""
