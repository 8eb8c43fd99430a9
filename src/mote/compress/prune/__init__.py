"""Pruning of channels, of blocks of weights, or of distinct weight values of a float model (docs/pruning.md)."""
