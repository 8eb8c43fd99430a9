"""Shrinking passes: remove what cannot affect the outputs."""
