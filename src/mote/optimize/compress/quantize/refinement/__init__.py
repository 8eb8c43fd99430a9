"""Refines quantized weights and biases on calibration data (adaptive rounding, bias correction)."""
