"""Reductions, softmax, normalizations, and other operators along one axis."""
