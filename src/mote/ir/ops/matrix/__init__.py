"""Fully connected layers, matrix products, and accumulators of layers with weights."""
