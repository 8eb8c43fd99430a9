"""Kernels of states, and those that users bring."""

from mote.compiler.kernels.portable.control import custom, state

KERNELS = (*state.KERNELS, *custom.KERNELS)
