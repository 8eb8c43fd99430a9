"""Convolutions as matrix products, and by Winograd."""
