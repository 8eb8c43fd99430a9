"""Depthwise convolutions and pooling with Helium vectors."""
