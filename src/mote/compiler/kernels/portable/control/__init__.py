"""Kernels that update states, and kernels of custom operators."""

from mote.compiler.kernels.portable.control import custom, state

KERNELS = (*state.KERNELS, *custom.KERNELS)
