"""Streams that were changed at random: the functional model executes them inside of their memory, or refuses them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mote.base.errors import MoteError
from mote.hardware.npu.commands import Command
from mote.hardware.npu.functional import execute
from mote.hardware.npu.stream import CommandStream, decode
from tests.hardware.npu.compiled import Compiled, compiled

CORES = ("ethos-u55-128", "ethos-u65-512", "ethos-u85-256")
Change = tuple[int, int, int]


def _changed(stream: CommandStream, changes: list[Change]) -> CommandStream:
    """Other values of some fields, as large as the fields take or near to what they were."""
    commands = list(stream.commands)
    for place, which, value in changes:
        number = place % len(commands)
        command: Command = commands[number]
        if not command.kind.fields:
            continue
        field = command.kind.fields[which % len(command.kind.fields)]
        if field.values is not None:
            wanted = sorted(field.values)[value % len(field.values)]
        else:
            low = -(1 << field.bits - 1) if field.signed else 0
            near = command[field.name] + value % 64 - 32
            wanted = low + ((near if value % 3 else value) - low) % (1 << field.bits)
        commands[number] = command.with_value(wanted, field.name)
    return stream.with_commands(commands)


def _executed(part: Compiled, stream: CommandStream) -> bool:
    """Whether a stream is executed; it leaves bytes in front of and behind its memory alone, and constants."""
    guarded = [np.full(size + 512, 0xA5, np.uint8) for size in part.sizes]
    memory = [area[256:-256] for area in guarded]
    memory[0][:] = np.frombuffer(part.weights, np.uint8)
    memory[0].flags.writeable = False
    try:
        execute(stream, memory)
    except MoteError as error:
        assert error.reason
        assert error.remedy
        return False
    finally:
        for area in guarded:
            assert (area[:256] == 0xA5).all() and (area[-256:] == 0xA5).all()
        assert memory[0].tobytes() == part.weights
    return True


def _mutate(core: str, changes: list[Change]) -> None:
    part = compiled("digits", core)[0]
    stream = _changed(decode(part.payload), changes)
    _executed(part, stream)


CHANGES = st.lists(
    st.tuples(st.integers(0, 1 << 16), st.integers(0, 9), st.integers(0, 1 << 40)), min_size=1, max_size=4
)


@pytest.mark.parametrize("core", CORES)
def test_changed_streams_are_executed_or_refused(core: str) -> None:
    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(CHANGES)
    def mutate(changes: list[Change]) -> None:
        _mutate(core, changes)

    mutate()


@pytest.mark.slow
@pytest.mark.parametrize("core", CORES)
def test_many_changed_streams_are_executed_or_refused(core: str) -> None:
    @settings(max_examples=3000, deadline=None, suppress_health_check=list(HealthCheck))
    @given(CHANGES)
    def mutate(changes: list[Change]) -> None:
        _mutate(core, changes)

    mutate()
