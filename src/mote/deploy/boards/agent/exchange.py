"""Request-answer protocol with a board's agent.

An unanswered request is repeated with the same sequence number; the agent repeats its answer without executing
twice."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count as counting

from mote.base.errors import MoteError
from mote.deploy.boards.protocol import MOST_MESSAGE, REFUSALS, Request, Status
from mote.deploy.wire.frames import ANSWER, FrameReader, Message
from mote.deploy.wire.links import ConnectionLostError, Line

SOMETHING_ELSE = "the board answers something else than an agent"
LONGEST_PAUSE_S, LONGEST_RUN_PAUSE_S = 2.0, 16.0
"""Maximum seconds between repetitions of a request, and of a long-running one."""


class LostBoardError(MoteError):
    """Raised if the board cannot be reached or does not answer, regardless of the request."""


class RestartedError(Exception):
    """Raised if the device lost the session: it was reset, or another host uses it."""


@dataclass(frozen=True)
class BoardPatience:
    """Timeouts in seconds, and numbers of retries."""

    answer_s: float = 0.25
    """Time for an answer before the request is repeated, doubled each time."""
    tries: int = 6
    """Number of times a request is sent before the connection is considered lost."""
    run_s: float = 600.0
    """Time for an inference, a called function or an image check."""
    attempts: int = 6
    """Attempts per job, restarted after resets and lost connections."""


@contextmanager
def losing_board() -> Iterator[None]:
    """Context manager: converts transport failures to LostBoardError."""
    try:
        yield
    except MoteError as error:
        raise LostBoardError(error.reason, where=error.where, remedy=error.remedy) from None


class AgentExchange:
    """Requests and answers over an open line."""

    def __init__(
        self,
        line: Line,
        patience: BoardPatience,
        rest: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`rest` is called whenever the board waits for a request."""
        self.line, self.patience = line, patience
        self._rest, self._clock = rest, clock
        self._reader = FrameReader()
        self._sequence = secrets.randbelow(256)
        self._number = 0
        """Number of the current session."""

    def open_line(self) -> None:
        """Reopens the transport."""
        with losing_board():
            self.line.open()
        self._reader = FrameReader()

    def begin(self) -> bytes:
        """Number for a new session."""
        self._number = 1 + secrets.randbelow(0xFFFFFFFF)
        return self.in_session()

    def in_session(self, data: bytes = b"") -> bytes:
        """Data of a request, prefixed with the session number."""
        return self._number.to_bytes(4, "little") + data

    def exchange(self, request: Request, data: bytes, wait_s: float | None = None) -> tuple[Status, bytes]:
        """Sends a request until it is answered; returns status and data."""
        self._sequence = (self._sequence + 1) % 256
        question = Message(request, self._sequence, data).framed
        transfer = getattr(self.line, "seconds_a_byte", 0.0) * (len(question) + MOST_MESSAGE)
        longest = LONGEST_PAUSE_S if wait_s is None else LONGEST_RUN_PAUSE_S
        pause = self.patience.answer_s
        until = None if wait_s is None else self._clock() + wait_s
        for number in counting(1):
            self.line.send(question)
            answer = self._answer(request | ANSWER, pause + transfer)
            if answer is not None:
                self._rest()
                return self._status(answer.data)
            if number >= self.patience.tries and (until is None or self._clock() >= until):
                break
            pause = min(2 * pause, longest)
        raise ConnectionLostError("the board does not answer")

    def _answer(self, kind: int, seconds: float) -> Message | None:
        until = self._clock() + seconds
        while (left := until - self._clock()) > 0:
            for message in self._reader.take(self.line.receive(left)):
                if message.type == kind and message.sequence == self._sequence:
                    return message
        return None

    def _status(self, data: bytes) -> tuple[Status, bytes]:
        number = int.from_bytes(data[:4], "little")
        if len(data) < 4 or number not in [*Status]:
            raise ConnectionLostError(SOMETHING_ELSE)
        if number == Status.NO_SESSION:
            raise RestartedError("the board was reset, or another host talks to it")
        return Status(number), data[4:]

    def answered(self, request: Request, data: bytes, wait_s: float | None = None) -> tuple[Status, bytes]:
        """Sends a request of the session; returns status and data."""
        return self.exchange(request, self.in_session(data), wait_s)

    def ask(self, request: Request, data: bytes = b"", wait_s: float | None = None) -> bytes:
        """Sends a request of the session; returns the data, or raises an error unless the status is OK."""
        status, answer = self.answered(request, data, wait_s)
        if status is not Status.OK:
            raise self.refused(request, status)
        return answer

    def refused(self, request: Request, status: Status) -> MoteError:
        """Error for an answer with another status than OK."""
        what, remedy = REFUSALS.get(status, (f"it says status {status}", "build the agent with this version of Mote"))
        return MoteError(f"{request.name.lower()}: {what}", where=self.line.name, remedy=remedy)
