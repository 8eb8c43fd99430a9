"""Kernels of preprocessing and post-processing."""

from mote.kernels.contract import Kernel

KERNELS: tuple[Kernel, ...] = ()
