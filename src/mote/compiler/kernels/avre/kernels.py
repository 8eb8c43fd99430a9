"""AVR: layers with 8x8 bit products, whose constants are read from program memory."""

from mote.compiler.kernels.avre.layers import KERNELS as KERNELS
