"""Refinement of quantized weights and biases on calibration data."""
