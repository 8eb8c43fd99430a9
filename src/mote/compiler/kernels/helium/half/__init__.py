"""Layers in half precision (float16), eight channels in the lanes of a Helium vector."""
