"""Fourier transforms, and the audio operators of TFLite Micro."""
