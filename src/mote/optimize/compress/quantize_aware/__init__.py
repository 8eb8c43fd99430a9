"""Quantization-aware training: modules that compute with quantized weights and activations while they train."""
