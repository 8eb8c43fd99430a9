"""Depthwise convolutions and pooling."""
