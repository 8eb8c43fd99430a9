"""Tuning that measures on boards: emulated ones, which count instructions."""

from __future__ import annotations

import sys

import pytest

import mote
from mote.base.errors import MoteError
from mote.deploy.boards.pool import board_pool
from mote.hardware.targets import load
from mote.optimize.tune.measurers import on_boards
from tests.helpers.network import Net
from tests.helpers.support import emulated, needs_litert

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="emulated boards need pseudo-terminals")


def small() -> bytes:
    net = Net(1)
    x = net.conv(net.input(1, 6, 6, 3), 4, kernel=(3, 3))
    return net.finish(net.fully_connected(net.flat(x), 5))


def test_layers_of_a_model() -> None:
    """What the board's counter gives for each layer, as in `mote run`."""
    emulated("cortex-m4")
    compiled = mote.compile(small(), target="cortex-m4")
    with board_pool("qemu:cortex-m4") as pool:
        measurer = on_boards(pool)
        measurer.check(compiled.settings.target)
        counts = measurer.cycles(compiled)
    wanted = [layer.instructions for layer in mote.run(compiled).layers]
    assert counts == pytest.approx(wanted, rel=0.05)
    assert measurer.tools(compiled.settings.target).startswith("instructions of an emulated board, ")


def test_boards_that_are_not_alike() -> None:
    with board_pool("qemu:cortex-m4") as pool:
        on_boards(pool).check(load("stm32l4r5"))
        with pytest.raises(MoteError, match="is a cortex-m4, and the model is tuned for cortex-m7"):
            on_boards(pool).check(load("cortex-m7"))


def test_counters_that_are_not_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mote.optimize.tune.measurers.counter_of", lambda board: f"cycles at {board.copy} MHz")
    with (
        board_pool("2 x qemu:cortex-m4") as pool,
        pytest.raises(MoteError, match=r"#1 cycles at 1 MHz; .*#2 cycles at"),
    ):
        on_boards(pool)


@needs_litert
@pytest.mark.slow
def test_a_tuned_model_is_verified_on_the_board() -> None:
    emulated("cortex-m4")
    result = mote.tune(small(), board="2 x qemu:cortex-m4", trials=3)
    assert result.target == "cortex-m4" and "emulated board" in result.tools and "bit-exact" in result.verified
    assert 0 < result.cycles_after <= result.cycles_before


def test_a_board_and_an_emulator() -> None:
    with pytest.raises(MoteError, match="measures itself"):
        mote.tune(small(), board="qemu:cortex-m4", emulator="qemu")
