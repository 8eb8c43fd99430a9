"""Kernels of TFLite Micro's Signal operators, and Fourier transforms."""

from mote.compiler.kernels.portable.signal import audio, rfft2d

KERNELS = (*audio.KERNELS, *rfft2d.KERNELS)
