"""Integers as LiteRT's reference kernels compute them, with PyTorch: many samples at once, on any device."""
