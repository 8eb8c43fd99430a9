"""Fully connected layers and matrix products, and the accumulators of layers with weights."""
