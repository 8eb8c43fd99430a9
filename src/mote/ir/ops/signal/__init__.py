"""Fourier transforms, and TFLite Micro's Signal operators for audio."""
