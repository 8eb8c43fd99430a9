"""Reductions, softmax, normalizations, and what is computed along one axis."""
