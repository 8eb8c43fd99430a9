"""Kernels for AVR cores with hardware multiplication (8x8 bits), whose constants are read from program memory."""
