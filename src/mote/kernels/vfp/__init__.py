"""float32 kernels for cores with a floating-point unit: assembly for Arm's (and for Helium's vectors), plain C for others."""

from mote.kernels.vfp import blocks

KERNELS = blocks.KERNELS
