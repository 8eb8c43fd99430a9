"""Jobs of an Ethos-U in images that Mote itself runs: the functional model computes them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from mote.compiler.emit.image.kernels import KernelRecord
from mote.compiler.offload.ethos_u.artifact import simulated_driver
from mote.compiler.offload.ethos_u.simulated import simulate
from mote.hardware.toolchain.devices import Memory, SimulatedDevice, Simulation

DEVICE = "ethos-u"
"""The name that the simulated driver calls."""


def npu_simulation(kernels: Iterable[KernelRecord]) -> Simulation:
    """The simulated driver of an image that needs these kernels; nothing where none of them runs jobs."""
    if not any(kernel.fails for kernel in kernels):
        return Simulation()
    return Simulation(simulated_driver(), devices={DEVICE: SimulatedDevice(_simulated)})


def _simulated(memory: Memory) -> int:
    simulate([np.frombuffer(area, np.uint8) for area in memory])
    return 0
