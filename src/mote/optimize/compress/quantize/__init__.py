"""Post-training quantization: turns a float graph and calibration data into an integer graph."""
