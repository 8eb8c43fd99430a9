"""Emulated boards: the same outputs, tensors and instructions as in the measuring harness."""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mote.base.errors import MoteError
from mote.deploy.boards.agent.exchange import BoardPatience
from mote.deploy.boards.execution import board_execution
from mote.deploy.boards.facts import facts_of
from mote.deploy.boards.placing import OpenBoard, opened
from mote.hardware.toolchain import Mode
from tests.deploy.boards.emulated_board import board_model, compiled, emulated, inputs, needs

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="emulated boards need pseudo-terminals")
CORES = ("cortex-m4", "rv32imc")
OTHERS = ("cortex-m3", "cortex-m7", "cortex-m33", "cortex-m55")


@pytest.fixture(scope="module", params=[*CORES, *(pytest.param(core, marks=pytest.mark.slow) for core in OTHERS)])
def board(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenBoard]:
    core: str = request.param
    needs(core)
    with opened(f"qemu:{core}", board_model(core), folder=tmp_path_factory.mktemp(core)) as there:
        yield there


def core_of(board: OpenBoard) -> str:
    return board.identity.target


@pytest.mark.quick_cases(1)
def test_every_tensor_is_that_of_the_harness(board: OpenBoard, tmp_path: Path) -> None:
    wanted = emulated(core_of(board), Mode.DUMP, 2, tmp_path)
    execution = board_execution(board.session, Mode.DUMP, inputs(2), stateful=False)
    assert execution == wanted
    assert len(execution.dumps[0]) == len(compiled(core_of(board)).plan.works)


@pytest.mark.quick_cases(1)
def test_instructions_are_those_of_the_harness(board: OpenBoard, tmp_path: Path) -> None:
    """Within 1%: the hook between steps is not free of a rest."""
    wanted = emulated(core_of(board), Mode.PROFILE, 1, tmp_path)
    execution = board_execution(board.session, Mode.PROFILE, inputs(1))
    assert execution.outputs == wanted.outputs
    assert execution.instructions and wanted.instructions and execution.steps and wanted.steps
    assert execution.instructions[0] == pytest.approx(wanted.instructions[0], rel=0.01)
    assert execution.steps[0] == pytest.approx(wanted.steps[0], rel=0.05, abs=40)
    assert facts_of(board).unit == "instructions"
    measured = board_execution(board.session, Mode.MEASURE, inputs(1))
    assert measured.instructions is not None
    assert measured.instructions[0] == pytest.approx(wanted.instructions[0], rel=0.01)
    assert measured.stack is not None and 100 < measured.stack < 4096


def test_resets_and_kills_change_no_result(board: OpenBoard) -> None:
    """The device restarts and the emulator dies while inferences run."""
    given = inputs(4)
    wanted = board_execution(board.session, Mode.DUMP, given).outputs
    line, boots = board.session.line, board.identity.boots
    chance = random.Random(4)
    process = line.process_id  # type: ignore[attr-defined]
    send, faults = line.send, iter([3, 12, 25])
    at, sent = next(faults), 0

    def disturbed(data: bytes) -> None:
        nonlocal at, sent
        sent += 1
        if sent == at:
            at = next(faults, 0)
            os.kill(line.process_id, signal.SIGKILL) if chance.random() < 0.5 else line.restart()  # type: ignore[attr-defined]
        send(data)

    line.send = disturbed  # type: ignore[method-assign]
    try:
        before = board.session.restarts
        assert board_execution(board.session, Mode.PROFILE, given).outputs == wanted
        assert board.session.restarts > before
    finally:
        line.send = send  # type: ignore[method-assign]
    assert line.process_id != process  # type: ignore[attr-defined]
    assert board.session.restart().boots != boots or boots == 1


@pytest.mark.slow
def test_noise_and_many_resets_change_no_result(board: OpenBoard) -> None:
    """Bytes are lost and damaged on the way, and the board is switched off and on at random."""
    given = inputs(3)
    wanted = board_execution(board.session, Mode.DUMP, given)
    line, chance, resets = board.session.line, random.Random(6), 0
    send, receive = line.send, line.receive

    def noisy(data: bytes) -> bytes:
        if chance.random() < 0.003 and data:
            at = chance.randrange(len(data))
            return data[:at] + chance.randbytes(chance.randrange(3)) + data[at + 1 :]
        return data

    def sending(data: bytes) -> None:
        nonlocal resets
        if chance.random() < 0.005:
            resets += 1
            line.restart()  # type: ignore[attr-defined]
        send(noisy(data))

    line.send, line.receive = sending, lambda seconds: noisy(receive(seconds))  # type: ignore[method-assign]
    patience = board.session.patience
    board.session.patience = replace(patience, attempts=1000)
    try:
        while resets < 4:
            assert board_execution(board.session, Mode.DUMP, given, stateful=resets % 2 == 0) == wanted
    finally:
        board.session.patience = patience
        line.send, line.receive = send, receive  # type: ignore[method-assign]


def test_a_model_for_another_core_is_refused(tmp_path: Path) -> None:
    with (
        pytest.raises(MoteError, match=r"has a cortex-m7 .*compiled for cortex-m4"),
        opened("qemu:cortex-m7", board_model("cortex-m4"), folder=tmp_path),
    ):
        pass


def test_a_board_that_does_not_start_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs("cortex-m4")
    from mote.deploy.boards import placing

    (tmp_path / "empty.elf").write_bytes(b"")
    monkeypatch.setattr(placing, "built", lambda *_, **__: tmp_path / "empty.elf")
    patience = BoardPatience(answer_s=0.02, tries=2, attempts=2)
    with (
        pytest.raises(MoteError, match="was lost 2 times"),
        opened("qemu:cortex-m4", board_model("cortex-m4"), folder=tmp_path, patience=patience),
    ):
        pass
