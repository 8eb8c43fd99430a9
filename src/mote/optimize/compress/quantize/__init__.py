"""Post-training quantization: a float graph and calibration data in, an integer graph out."""
