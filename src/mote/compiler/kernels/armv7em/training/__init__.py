"""Kernels for on-device training: update steps and gradients of layers, for Armv7E-M DSP cores."""
