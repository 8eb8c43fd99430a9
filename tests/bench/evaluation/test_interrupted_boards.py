"""Boards that are reset in the middle of their work, or send what is not the model's: results tell it, or there are
none."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import mote
from mote.base.errors import MoteError
from mote.deploy.boards.agent import inference
from mote.deploy.boards.agent.exchange import RestartedError
from mote.deploy.boards.interruption import Interruption
from mote.ui.cli.commands.verify import print_text
from tests.deploy.boards.emulated_board import DIGITS, compiled, needs

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="emulated boards need pseudo-terminals")
BOARD = "qemu:cortex-m4"
REASON = "the board was reset"


@pytest.fixture
def resets(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of inferences at which the board is reset, which are taken out."""
    needs("cortex-m4")
    at, count, infer = [1], iter(range(1000)), inference.infer

    def interrupted(*given: Any, **how: Any) -> Any:
        if next(count) in at:
            raise RestartedError(REASON)
        return infer(*given, **how)

    monkeypatch.setattr(inference, "infer", interrupted)
    return at


def test_a_verification_tells_what_it_repeated(resets: list[int], capsys: pytest.CaptureFixture[str]) -> None:
    result = mote.verify(compiled("cortex-m4"), 2, board=BOARD)
    assert result.passed
    assert result.interruptions == (Interruption(REASON, "1 inference", BOARD),)
    assert list(result.json()["interruptions"]) == [{"reason": REASON, "repeated": "1 inference", "board": BOARD}]
    print_text(result)
    told = f"note: {BOARD} was interrupted once: {REASON}; repeated: 1 inference"
    assert told in " ".join(capsys.readouterr().out.split())


def test_a_run_and_an_evaluation_tell_what_they_repeated(resets: list[int]) -> None:
    resets[:] = [0, 2]
    result = mote.run(compiled("cortex-m4"), board=BOARD, layers=False)
    assert result.board is not None
    assert result.board.interruptions == (Interruption(REASON, "1 inference", BOARD),)
    samples = np.random.default_rng(1).random((2, 8, 8, 1), np.float32), np.arange(2)
    core = mote.evaluate(str(DIGITS), samples, target="cortex-m4", board=BOARD).core
    assert core is not None and core.passed
    assert core.interruptions == (Interruption(REASON, "1 inference", BOARD),)


@pytest.mark.parametrize("sent", [b"", b"abc"])
def test_a_trace_of_other_bytes_is_refused(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    needs("cortex-m4")
    run = inference.run

    def other(*given: Any, **how: Any) -> Any:
        result, tensors = run(*given, **how)
        return result, {**tensors, 0: sent}

    monkeypatch.setattr(inference, "run", other)
    with pytest.raises(MoteError, match=rf"layer 0 CONV_2D: its trace has {len(sent)} bytes, which are not those"):
        mote.verify(compiled("cortex-m4"), 1, board=BOARD)
