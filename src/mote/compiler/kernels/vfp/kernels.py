"""float32 kernels for cores with an FPU: assembly for Arm's FPU and Helium vectors, plain C for others."""

from mote.compiler.kernels.vfp import blocks

KERNELS = blocks.KERNELS
