"""Layers with int16 activations."""
