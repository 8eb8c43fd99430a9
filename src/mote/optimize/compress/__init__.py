"""Smaller models: quantization, pruning, mixed precision, and removal of what cannot change a result."""
