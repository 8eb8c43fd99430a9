"""LiteRT's integer arithmetic in PyTorch, bit for bit: many samples at once, on any device."""
