"""Kernels for on-device training with Helium vectors: trainable layers, their update steps and gradients."""
