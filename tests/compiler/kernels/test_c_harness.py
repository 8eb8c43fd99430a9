"""What the tests of kernels stand on: damage is found, and instructions are counted exactly."""

from __future__ import annotations

import numpy as np
import pytest

from mote.base.errors import MoteError
from tests.compiler.kernels.c_harness import Program
from tests.helpers.support import emulated

CORES = ["cortex-m0plus", "cortex-m4", "cortex-m55", "rv32imc"]


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("core", ["host", *CORES])
def test_writes_behind_a_block_are_found(core: str) -> None:
    given = np.arange(5, dtype=np.uint8)
    program = Program(emulated(core))
    block = program.block(5, given)
    program.write(block, 5)
    assert program.run() == given.tobytes()
    program.say(f"((volatile uint8_t *){block})[5] = 1;")
    with pytest.raises(MoteError, match=r"heap-buffer-overflow|failed with status 1"):
        program.run()


@pytest.mark.parametrize("core", CORES)
def test_instructions_are_counted_exactly(core: str) -> None:
    program = Program(emulated(core))
    for count in (0, 1, 100):
        program.time('__asm__ volatile("%s");' % (r"nop\n" * count))
    assert program.measure() == [0, 1, 100]
