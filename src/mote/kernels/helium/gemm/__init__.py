"""Convolutions as matrix products."""
