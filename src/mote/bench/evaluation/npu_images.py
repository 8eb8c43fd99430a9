"""Simulates Ethos-U jobs of images with Mote's own functional model."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from mote.compiler.emit.image.kernels import KernelRecord
from mote.compiler.offload.ethos_u.artifact import simulated_driver
from mote.compiler.offload.ethos_u.simulated import simulate
from mote.hardware.toolchain.devices import Memory, SimulatedDevice, Simulation

DEVICE = "ethos-u"
"""Device name that the simulated driver calls."""


def npu_simulation(kernels: Iterable[KernelRecord]) -> Simulation:
    """The simulated driver for an image with these kernels; empty if none of them runs NPU jobs."""
    if not any(kernel.fails for kernel in kernels):
        return Simulation()
    return Simulation(simulated_driver(), devices={DEVICE: SimulatedDevice(_simulated)})


def _simulated(memory: Memory) -> int:
    simulate([np.frombuffer(area, np.uint8) for area in memory])
    return 0
