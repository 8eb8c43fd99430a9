"""Pruning: channels, blocks of weights, or distinct values that a float model can do with less of (docs/pruning.md)."""
