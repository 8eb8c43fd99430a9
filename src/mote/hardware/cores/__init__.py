"""CPU architectures, one record each: compiler, C library, emulators, boards, instruction decoder, start-up file, cycle
models.

To add an architecture, add a folder here, and its record to this list.
"""

from mote.hardware.cores.arm import ARM
from mote.hardware.cores.avr import AVR
from mote.hardware.cores.record import Architecture
from mote.hardware.cores.riscv import RISCV
from mote.hardware.cores.xtensa import XTENSA
from mote.hardware.cores.xtensa.lx106 import LX106

HOST = Architecture("host", "this computer", features=("vectors",))
ARCHITECTURES: dict[str, Architecture] = {record.name: record for record in (HOST, ARM, RISCV, XTENSA, LX106, AVR)}
"""The architectures by name, which is the `arch` of targets."""

__all__ = ["ARCHITECTURES", "HOST", "Architecture"]
