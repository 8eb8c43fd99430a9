"""Quantization-aware training in PyTorch with bit-exact integer arithmetic."""
