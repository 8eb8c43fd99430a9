"""A session with the agent on a board: inferences, tensors between steps, cycles, images, scratch memory.

The host asks and the agent answers (`mote_agent.h`). A request without an answer is sent again with its sequence
number, and the agent answers it again without executing it twice. A device that was reset knows no session any more and
refuses; then, as after a lost connection, the session is opened anew and the job begins anew: an inference, or of a
model with states all of them from the first one on. What was read is returned only when all of it came from one
session.
"""

from __future__ import annotations

import secrets
import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import count as counting
from typing import TypeVar
from zlib import crc32

from mote.base.errors import MoteError
from mote.compiler.firmware import ModelExtent
from mote.deploy.boards.interruption import Interruption
from mote.deploy.boards.protocol import (
    CALLED,
    HEAD,
    LEAST_MESSAGE,
    MOST_BYTES,
    MOST_MESSAGE,
    MOST_REGIONS,
    NO_STOP,
    PLACE,
    PROTOCOL,
    REFUSALS,
    RESULT,
    AgentRegion,
    Counter,
    Identity,
    Placement,
    Request,
    RunFlag,
    Status,
    read_identity,
)
from mote.deploy.wire.frames import ANSWER, FrameReader, Message
from mote.deploy.wire.links import ConnectionLostError, Line

SOMETHING_ELSE = "the board answers something else than an agent"
LONGEST_PAUSE_S, LONGEST_RUN_PAUSE_S = 2.0, 16.0
"""Seconds between two sendings of a request, at most, and of one that may take long."""
_WORDS_OF_READ, _WORDS_OF_WRITE = 4, 12
Value = TypeVar("Value")


class LostBoardError(MoteError):
    """The board cannot be reached or does not answer: no fault of what was asked of it."""


class RestartedError(Exception):
    """The device has no session: it was reset, or another host talks to it."""


@dataclass(frozen=True)
class BoardPatience:
    """Timeouts in seconds, and numbers of retries."""

    answer_s: float = 0.25
    """Time for an answer before the request is sent again; twice as long the next time."""
    tries: int = 6
    """Times that a request is sent before the connection is given up."""
    run_s: float = 600.0
    """Time for an inference, a called function or the check of an image."""
    attempts: int = 6
    """Beginnings of one job, the first included: resets and lost connections make it begin anew."""


@dataclass(frozen=True)
class Wants:
    """Measurements and tensors that are wanted of an inference beside its outputs."""

    tensors: bool = False
    """The tensor behind every step."""
    steps: bool = False
    """The cycles of every step."""
    stack: bool = False
    marks: bool = False
    """The port marks every step for an energy meter."""
    keep_caches: bool = False

    @property
    def flags(self) -> RunFlag:
        flags = RunFlag(0)
        flags |= RunFlag.MEASURE_STACK if self.stack else flags
        flags |= RunFlag.MARKS if self.marks else flags
        return flags | (RunFlag.KEEP_CACHES if self.keep_caches else flags)


@dataclass(frozen=True)
class BoardInference:
    """An inference that ran on a board."""

    outputs: list[bytes]
    cycles: int | None
    """Cycles of the core, without the agent's part in them; None where the device has no counter."""
    tensors: Mapping[int, bytes] = field(default_factory=dict)
    """By step."""
    steps: list[int] | None = None
    stack: int | None = None
    """None where it was not measured."""


@dataclass(frozen=True)
class Called:
    """The value and the cycles of a function in the scratch memory."""

    value: int
    cycles: int | None


@dataclass(frozen=True)
class _Result:
    """The answer to RUN and CONTINUE."""

    status: Status
    step: int
    size: int
    """Bytes of the tensor behind the step where the model has stopped."""
    value: int
    stack: int
    ticks: int
    head: bytes
    """The first bytes of that tensor."""


@contextmanager
def losing_board() -> Iterator[None]:
    """Failures inside are faults of the board."""
    try:
        yield
    except MoteError as error:
        raise LostBoardError(error.reason, where=error.where, remedy=error.remedy) from None


class BoardSession:
    """A session with one board. Every public function is a job that is begun anew where the device was reset or the
    line was lost, at most `patience.attempts` times without progress."""

    def __init__(
        self,
        line: Line,
        *,
        patience: BoardPatience | None = None,
        reset: Callable[[], None] | None = None,
        rest: Callable[[], None] = lambda: None,
        say: Callable[[str], None] = lambda text: None,
        clock: Callable[[], float] = time.monotonic,
        ticks_per_cycle: Fraction | None = None,
    ) -> None:
        """`line` is open. `reset` resets a board that does not answer, `rest` is called whenever it waits for a
        request, `ticks_per_cycle` is the rate of its counter where the agent does not know the clock of the core."""
        self.line = line
        self.patience = patience or BoardPatience()
        self.extent = ModelExtent()
        """The extent of the model that runs; as long as nobody states it, of any."""
        self.restarts = 0
        """Times that a job was begun anew."""
        self.interruptions: list[Interruption] = []
        """The times that a session that was open was lost."""
        self._reset, self._rest, self._say, self._clock = reset, rest, say, clock
        self._ticks_per_cycle = ticks_per_cycle
        self._reader = FrameReader()
        self._sequence = secrets.randbelow(256)
        self._number = 0
        self._identity: Identity | None = None
        self._model: bytes | None = None
        self._loads: list[Callable[[], None]] = []
        self._places: dict[tuple[AgentRegion, int], Placement] = {}
        self._inside = False
        self._failures = 0
        self._begun = 0
        """Inferences that are begun again if the board is lost now."""

    # Jobs

    @property
    def identity(self) -> Identity:
        """The device as its agent describes it."""
        return self._identity or self.together(self._known)

    def expect(self, model: bytes) -> None:
        """The device must have the compiled model of this id, also after a reset."""
        self._model = model
        self._check_model(self.identity)

    def region(self, region: AgentRegion, index: int = 0) -> Placement:
        """The place of a region in the device's memory."""
        return self.together(lambda: self._place(region, index))

    def room(self, region: AgentRegion) -> int:
        """Bytes of a region; 0 where the agent was built without it."""

        def job() -> int:
            head = struct.pack("<BBH", region, 0, 0)
            status, data = self._exchange(Request.REGION, self._in_session(head))
            return Placement(*PLACE.unpack(data)).bytes if status is Status.OK and len(data) == PLACE.size else 0

        return self.together(job)

    def inferences(
        self,
        inputs: Sequence[Sequence[bytes]],
        wants: Wants | None = None,
        *,
        stateful: bool = True,
        done: Callable[[int], None] = lambda count: None,
    ) -> list[BoardInference]:
        """Inferences one after the other from the initial states on. Where one is lost, a model with states begins
        with the first one again; another one goes on with the one that was lost."""
        results: list[BoardInference] = []
        wanted = wants or Wants()

        def job() -> None:
            if stateful:
                results.clear()
            while len(results) < len(inputs):
                self._begun = 1 + len(results) if stateful else 1
                results.append(self._infer(inputs[len(results)], wanted, anew=not stateful or not results))
                self._failures = self._failures if stateful else 0
                done(len(results))
            self._begun = 0

        self.together(job)
        return results

    def load_image(self, image: bytes) -> None:
        """Loads an image for the agent's runtime into RAM, and again after every reset."""
        self._load_always(Request.LOAD, lambda: self._load(image))

    def load_scratch(self, data: bytes, offset: int = 0) -> None:
        """Writes code or data to the scratch memory, and again after every reset."""
        self._load_always(Request.CALL, lambda: self._write(AgentRegion.SCRATCH, 0, data, offset))

    def load_model(self, data: bytes, entry: int) -> None:
        """Loads a model that was linked for the scratch memory, which the function at an offset makes the agent's, and
        again after every reset."""

        def load() -> None:
            self._write(AgentRegion.SCRATCH, 0, data)
            if status := self._call(entry, 0).value:
                raise MoteError(f"the model cannot be opened (status {status})", where=self.line.name)
            self._look_again()

        self._load_always(Request.CALL, load)

    def unload(self) -> None:
        """Nothing is loaded again after a reset any more."""
        self._loads.clear()

    def write_scratch(self, data: bytes, offset: int = 0) -> None:
        """Writes to the scratch memory once; `together` joins it with what depends on it."""
        self.together(lambda: self._write(AgentRegion.SCRATCH, 0, data, offset))

    def read_scratch(self, offset: int, count: int) -> bytes:
        return self.together(lambda: self._read(AgentRegion.SCRATCH, 0, offset, count))

    def call(self, offset: int, argument: int = 0) -> Called:
        """Calls a function in the scratch memory: `uint32_t function(uint32_t argument)`."""
        return self.together(lambda: self._call(offset, argument))

    def restart(self) -> Identity:
        """Restarts the device; what it says then."""
        self._need(Request.RESTART)

        def job() -> None:
            self._ask(Request.RESTART)
            self._identity = None

        try:
            self.together(job)
        except MoteError:
            self._identity = None
            raise
        return self.identity

    def reconnect(self) -> Identity:
        """Opens the line again, as after firmware was written; what the device says then."""
        self._identity = None
        self._loads.clear()
        with losing_board():
            self.line.open()
        self._reader = FrameReader()
        return self.identity

    def together(self, job: Callable[[], Value]) -> Value:
        """A job of several requests, which begins anew as a whole. It must not depend on what was on the device before
        it, but for what was loaded."""
        if self._inside:
            return job()
        self._failures = 0
        while True:
            self._inside = True
            try:
                self._known()
                return job()
            except (RestartedError, ConnectionLostError) as error:
                self._failures += 1
                if self._failures >= self.patience.attempts:
                    raise self._lost(error) from None
                self.restarts += 1
                self._note(error)
                self._say(f"{error}; beginning anew")
                self._recover(error)
            finally:
                self._inside = False

    # Beginning anew

    def _lost(self, error: Exception) -> LostBoardError:
        return LostBoardError(
            f"the board was lost {self._failures} times: {error}",
            where=self.line.name,
            remedy="check its cable, its supply and that its firmware has an agent (`mote board flash`); reset it",
        )

    def _note(self, error: Exception) -> None:
        """Keeps that the session was lost, unless it was not open yet."""
        if self._identity is not None:
            again = f"{self._begun:,} inference{'s' if self._begun > 1 else ''}" if self._begun else ""
            self.interruptions.append(Interruption(str(error), again, self.line.name))
            self._begun = 0

    def _recover(self, error: Exception) -> None:
        self._identity = None
        if isinstance(error, ConnectionLostError):
            with losing_board():
                if self._reset is not None:
                    self._say("resetting the board")
                    self._reset()
                self.line.open()
            self._reader = FrameReader()

    def _known(self) -> Identity:
        """The identity of the device in an open session."""
        if self._identity is None:
            self._number = 1 + secrets.randbelow(0xFFFFFFFF)
            self._places.clear()
            identity = self._identify()
            self._check_model(identity)
            self._settle(identity)
            self._identity = identity
            try:
                for load in self._loads:
                    load()
            except BaseException:
                self._identity = None
                raise
        return self._identity

    def _identify(self) -> Identity:
        status, data = self._exchange(Request.IDENTIFY, self._number.to_bytes(4, "little"))
        identity = read_identity(data)
        if status is not Status.OK or identity is None:
            raise ConnectionLostError(SOMETHING_ELSE)
        if identity.protocol != PROTOCOL:
            raise MoteError(
                f"its agent speaks protocol {identity.protocol}, and this Mote protocol {PROTOCOL}",
                where=self.line.name,
                remedy="build the agent with this version of Mote",
            )
        if identity.message_bytes < LEAST_MESSAGE:
            raise MoteError(
                f"its agent takes messages of {identity.message_bytes} bytes only",
                where=self.line.name,
                remedy=f"build it with MOTE_AGENT_FRAME of {LEAST_MESSAGE} or more",
            )
        if (most := max(identity.inputs, identity.outputs, identity.memories)) > MOST_REGIONS:
            raise self._implausible(f"has {most:,} inputs, outputs or memories, and {MOST_REGIONS} can be asked for")
        return identity

    def _implausible(self, what: str) -> LostBoardError:
        """The board states or does something that no agent with this model does: nothing that it says is used."""
        return LostBoardError(
            f"its agent says that it {what}",
            where=self.line.name,
            remedy="flash its firmware anew with this version of Mote (`mote board flash`)",
        )

    def _settle(self, identity: Identity) -> None:
        """Ends an inference that another session has left in the middle. That the agent answers shows that the session
        is open, and that its identity was no answer to somebody else."""
        if identity.can(Request.CONTINUE):
            self._exchange(Request.CONTINUE, self._in_session(struct.pack("<I", NO_STOP)), self.patience.run_s)
        else:
            self._exchange(Request.REGION, self._in_session(struct.pack("<BBH", AgentRegion.MEMORY, 0, 0)))

    def _check_model(self, identity: Identity) -> None:
        if self._model is not None and identity.model != self._model:
            has = f"the model {identity.model.hex()}" if identity.has_model else "no model"
            raise MoteError(
                f"has {has}, not {self._model.hex()}",
                where=self.line.name,
                remedy="flash the model with `mote board flash`",
            )

    def _need(self, request: Request) -> None:
        if not self.identity.can(request):
            raise MoteError(
                f"its agent cannot {request.name.lower()}",
                where=self.line.name,
                remedy="build the agent with MOTE_AGENT_RUNS and MOTE_AGENT_LOADS",
            )

    def _load_always(self, request: Request, load: Callable[[], None]) -> None:
        self._need(request)
        self.together(load)
        self._loads.append(load)

    # Requests in a session

    def _in_session(self, data: bytes = b"") -> bytes:
        return self._number.to_bytes(4, "little") + data

    def _exchange(self, request: Request, data: bytes, wait_s: float | None = None) -> tuple[Status, bytes]:
        """The status and the data of the answer to a request, which is sent again until one comes."""
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

    def _ask(self, request: Request, data: bytes = b"", wait_s: float | None = None) -> bytes:
        """The data of the answer with status OK."""
        status, answer = self._exchange(request, self._in_session(data), wait_s)
        if status is not Status.OK:
            raise self._refused(request, status)
        return answer

    def _refused(self, request: Request, status: Status) -> MoteError:
        what, remedy = REFUSALS.get(status, (f"it says status {status}", "build the agent with this version of Mote"))
        return MoteError(f"{request.name.lower()}: {what}", where=self.line.name, remedy=remedy)

    def _place(self, region: AgentRegion, index: int) -> Placement:
        if (region, index) not in self._places:
            data = self._ask(Request.REGION, struct.pack("<BBH", region, index, 0))
            if len(data) != PLACE.size:
                raise ConnectionLostError(SOMETHING_ELSE)
            place = Placement(*PLACE.unpack(data))
            if place.bytes > MOST_BYTES:
                raise ConnectionLostError(SOMETHING_ELSE)
            self._places[region, index] = place
        return self._places[region, index]

    @property
    def _most(self) -> int:
        """Bytes of data that a message may have."""
        return min(self._known().message_bytes, MOST_MESSAGE) - HEAD

    def _read(self, region: AgentRegion, index: int, offset: int, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            size = min(count - len(data), self._most - _WORDS_OF_READ)
            head = struct.pack("<BBHII", region, index, 0, offset + len(data), size)
            piece = self._ask(Request.READ, head)
            if len(piece) != size:
                raise ConnectionLostError(SOMETHING_ELSE)
            data += piece
        return bytes(data)

    def _write(self, region: AgentRegion, index: int, data: bytes, offset: int = 0) -> None:
        size = self._most - _WORDS_OF_WRITE
        for at in range(0, len(data), size):
            head = struct.pack("<BBHI", region, index, 0, offset + at)
            self._ask(Request.WRITE, head + data[at : at + size])

    def _infer(self, inputs: Sequence[bytes], wants: Wants, *, anew: bool) -> BoardInference:
        identity = self._known()
        if len(inputs) != identity.inputs:
            raise self._other_inputs(f"{identity.inputs} inputs, not {len(inputs)}")
        for i, data in enumerate(inputs):
            if (size := self._place(AgentRegion.INPUT, i).bytes) != len(data):
                raise self._other_inputs(f"an input {i} of {size:,} bytes, not {len(data):,}")
            self._write(AgentRegion.INPUT, i, data)
        flags = wants.flags | (RunFlag.RESET_STATES if anew else RunFlag(0))
        result, tensors = self._run(flags, shows=wants.tensors)
        outputs = [self._output(i) for i in range(self._outputs(identity))]
        return BoardInference(
            outputs,
            self._cycles(result.ticks),
            tensors,
            self._steps() if wants.steps else None,
            result.stack or None if wants.stack else None,
        )

    def _run(self, flags: RunFlag, *, shows: bool) -> tuple[_Result, dict[int, bytes]]:
        """The end of an inference, and the tensors behind its steps where it `shows` them: no more stops and bytes than
        the model has."""
        stop = 0 if shows else NO_STOP
        result = self._result(Request.RUN, struct.pack("<II", flags, stop))
        tensors: dict[int, bytearray] = {}
        parts = total = 0
        while result.status is Status.STOPPED:
            parts, total = parts + 1, total + result.size
            if not shows:
                raise self._implausible(f"has stopped behind step {result.step:,}, where nobody asked it to")
            if parts > self.extent.traced_parts:
                raise self._implausible(f"has stopped {parts:,} times in an inference, more often than the model can")
            if total > self.extent.traced_bytes:
                raise self._implausible(
                    f"has {total:,} bytes of tensors, and the model has {self.extent.traced_bytes:,}"
                )
            pieces = tensors.setdefault(result.step, bytearray())
            pieces += result.head
            pieces += self._read(AgentRegion.TENSOR, 0, len(result.head), result.size - len(result.head))
            result = self._result(Request.CONTINUE, struct.pack("<I", stop))
        return result, {step: bytes(pieces) for step, pieces in tensors.items()}

    def _outputs(self, identity: Identity) -> int:
        """The number of outputs, which is the model's."""
        wanted = self.extent.outputs
        if wanted is not None and identity.outputs != len(wanted):
            raise self._implausible(f"has {identity.outputs} outputs, and the model has {len(wanted)}")
        return identity.outputs

    def _output(self, index: int) -> bytes:
        size, wanted = self._place(AgentRegion.OUTPUT, index).bytes, self.extent.outputs
        if wanted is not None and size != wanted[index]:
            raise self._implausible(f"has {size:,} bytes of output {index}, and the model has {wanted[index]:,}")
        return self._read(AgentRegion.OUTPUT, index, 0, size)

    def _other_inputs(self, what: str) -> MoteError:
        return MoteError(f"its model has {what}", where=self.line.name, remedy="give the inputs of that model")

    def _result(self, request: Request, data: bytes) -> _Result:
        status, answer = self._exchange(request, self._in_session(data), self.patience.run_s)
        if status not in (Status.OK, Status.STOPPED, Status.MODEL_FAILED):
            raise self._refused(request, status)
        if len(answer) < RESULT.size:
            raise ConnectionLostError(SOMETHING_ELSE)
        step, size, value, stack, ticks = RESULT.unpack_from(answer)
        result = _Result(status, step, size, value, stack, ticks, answer[RESULT.size :])
        if len(result.head) > result.size:
            raise ConnectionLostError(SOMETHING_ELSE)
        if status is Status.MODEL_FAILED:
            raise MoteError(
                f"the model failed with status {result.value}", where=self.line.name, remedy="mote_status in its header"
            )
        return result

    def _cycles(self, ticks: int) -> int | None:
        identity = self._known()
        if identity.counter == Counter.NONE:
            return None
        return identity.cycles(ticks) if self._ticks_per_cycle is None else round(ticks / self._ticks_per_cycle)

    def _steps(self) -> list[int]:
        identity = self._known()
        count = identity.steps if self.extent.steps is None else self.extent.steps
        size = self._place(AgentRegion.CYCLES, 0).bytes
        if identity.counter == Counter.NONE or size < 8 * count:
            raise MoteError(
                f"its agent counts the cycles of {size // 8:,} steps, and the model has {count:,}",
                where=self.line.name,
                remedy=f"build the agent with a cycle counter and MOTE_AGENT_STEPS of {count}",
            )
        ticks = struct.unpack(f"<{count}Q", self._read(AgentRegion.CYCLES, 0, 0, 8 * count))
        return [self._cycles(each) or 0 for each in ticks]

    def _load(self, image: bytes) -> None:
        room = self._place(AgentRegion.IMAGE, 0).bytes
        if len(image) > room:
            raise MoteError(
                f"has room for images of {room:,} bytes, and this one has {len(image):,}",
                where=self.line.name,
                remedy="build the agent with more room for images, or pack a smaller model",
            )
        self._write(AgentRegion.IMAGE, 0, image)
        self._ask(Request.LOAD, struct.pack("<II", len(image), crc32(image)), self.patience.run_s)
        self._look_again()

    def _look_again(self) -> None:
        """The model is another one now. Asking for regions, unlike identifying, is refused where the device was reset
        meanwhile."""
        self._places.clear()
        inputs, outputs = (self._count(region) for region in (AgentRegion.INPUT, AgentRegion.OUTPUT))
        steps = self._place(AgentRegion.CYCLES, 0).bytes // 8
        self._identity = replace(self._known(), inputs=inputs, outputs=outputs, steps=steps)

    def _count(self, region: AgentRegion) -> int:
        """The number of inputs or outputs."""
        for index in range(MOST_REGIONS):
            head = struct.pack("<BBH", region, index, 0)
            if self._exchange(Request.REGION, self._in_session(head))[0] is not Status.OK:
                return index
        return MOST_REGIONS

    def _call(self, offset: int, argument: int) -> Called:
        answer = self._ask(Request.CALL, struct.pack("<II", offset, argument), self.patience.run_s)
        if len(answer) != CALLED.size:
            raise ConnectionLostError(SOMETHING_ELSE)
        value, ticks = CALLED.unpack(answer)
        return Called(value, self._cycles(ticks))
