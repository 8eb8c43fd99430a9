"""Layers in half precision, eight channels in the lanes of a vector."""
