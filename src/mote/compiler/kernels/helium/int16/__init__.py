"""Kernels for layers with int16 activations, with Helium vectors."""
