"""Kernels for AVR cores with hardware multiplication (8x8 bits), whose constants are read from program memory."""

from mote.compiler.kernels.avre.layers import KERNELS as KERNELS
