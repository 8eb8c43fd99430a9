"""Quantization-aware training: float modules that compute with the integers that they will have."""
