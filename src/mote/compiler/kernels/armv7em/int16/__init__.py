"""Kernels for layers with int16 activations, for Armv7E-M DSP cores."""
