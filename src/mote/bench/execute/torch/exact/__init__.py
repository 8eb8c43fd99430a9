"""Bit-exact integer arithmetic of LiteRT in PyTorch, batched, on any device."""
