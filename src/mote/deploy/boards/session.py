"""A session with the agent on a board: inferences, tensors between steps, cycles, images, scratch memory.

The host asks and the agent answers (`mote_agent.h`). A device that was reset knows no session any more and refuses;
then, as after a lost connection, the session is opened anew and the job begins anew: an inference, or of a model with
states all of them from the first one on. What was read is returned only when all of it came from one session.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeVar

from mote.base.errors import MoteError
from mote.compiler.firmware import ModelExtent
from mote.deploy.boards.agent import inference
from mote.deploy.boards.agent.device import AgentDevice, Called
from mote.deploy.boards.agent.exchange import AgentExchange, BoardPatience, LostBoardError, RestartedError, losing_board
from mote.deploy.boards.agent.inference import BoardInference, Wants
from mote.deploy.boards.interruption import Interruption
from mote.deploy.boards.protocol import PLACE, AgentRegion, Identity, Placement, Request, Status
from mote.deploy.wire.links import ConnectionLostError, Line

Value = TypeVar("Value")


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
        self.device = AgentDevice(AgentExchange(line, self.patience, rest, clock), ticks_per_cycle)
        self.restarts = 0
        """Times that a job was begun anew."""
        self.interruptions: list[Interruption] = []
        """The times that a session that was open was lost."""
        self._reset, self._say = reset, say
        self._loads: list[Callable[[], None]] = []
        self._inside = False
        self._failures = 0
        self._begun = 0
        """Inferences that are begun again if the board is lost now."""

    @property
    def extent(self) -> ModelExtent:
        """The extent of the model that runs; as long as nobody states it, of any."""
        return self.device.extent

    @extent.setter
    def extent(self, extent: ModelExtent) -> None:
        self.device.extent = extent

    # Jobs

    @property
    def identity(self) -> Identity:
        """The device as its agent describes it."""
        return self.device.identity if self.device.is_open else self.together(self._known)

    def expect(self, model: bytes) -> None:
        """The device must have the compiled model of this id, also after a reset."""
        self.device.model = model
        self.device.check_model(self.identity)

    def region(self, region: AgentRegion, index: int = 0) -> Placement:
        """The place of a region in the device's memory."""
        return self.together(lambda: self.device.place(region, index))

    def room(self, region: AgentRegion) -> int:
        """Bytes of a region; 0 where the agent was built without it."""

        def job() -> int:
            head = struct.pack("<BBH", region, 0, 0)
            status, data = self.device.exchange.answered(Request.REGION, head)
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
                results.append(
                    inference.infer(self.device, inputs[len(results)], wanted, anew=not stateful or not results)
                )
                self._failures = self._failures if stateful else 0
                done(len(results))
            self._begun = 0

        self.together(job)
        return results

    def load_image(self, image: bytes) -> None:
        """Loads an image for the agent's runtime into RAM, and again after every reset."""
        self._load_always(Request.LOAD, lambda: self.device.load(image))

    def load_scratch(self, data: bytes, offset: int = 0) -> None:
        """Writes code or data to the scratch memory, and again after every reset."""
        self._load_always(Request.CALL, lambda: self.device.write(AgentRegion.SCRATCH, 0, data, offset))

    def load_model(self, data: bytes, entry: int) -> None:
        """Loads a model that was linked for the scratch memory, which the function at an offset makes the agent's, and
        again after every reset."""

        def load() -> None:
            self.device.write(AgentRegion.SCRATCH, 0, data)
            if status := self.device.call(entry, 0).value:
                raise MoteError(f"the model cannot be opened (status {status})", where=self.line.name)
            self.device.look_again()

        self._load_always(Request.CALL, load)

    def read_scratch(self, offset: int, count: int) -> bytes:
        return self.together(lambda: self.device.read(AgentRegion.SCRATCH, 0, offset, count))

    def call(self, offset: int, argument: int = 0) -> Called:
        """Calls a function in the scratch memory: `uint32_t function(uint32_t argument)`."""
        return self.together(lambda: self.device.call(offset, argument))

    def restart(self) -> Identity:
        """Restarts the device; what it says then."""
        self._need(Request.RESTART)

        def job() -> None:
            self.device.exchange.ask(Request.RESTART)
            self.device.close()

        try:
            self.together(job)
        except MoteError:
            self.device.close()
            raise
        return self.identity

    def reconnect(self) -> Identity:
        """Opens the line again, as after firmware was written; what the device says then."""
        self.device.close()
        self._loads.clear()
        self.device.exchange.open_line()
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
        if self.device.is_open:
            again = f"{self._begun:,} inference{'s' if self._begun > 1 else ''}" if self._begun else ""
            self.interruptions.append(Interruption(str(error), again, self.line.name))
            self._begun = 0

    def _recover(self, error: Exception) -> None:
        self.device.close()
        if isinstance(error, ConnectionLostError):
            if self._reset is not None:
                self._say("resetting the board")
                with losing_board():
                    self._reset()
            self.device.exchange.open_line()

    def _known(self) -> Identity:
        """The identity of the device in an open session."""
        if not self.device.is_open:
            self.device.open()
            try:
                for load in self._loads:
                    load()
            except BaseException:
                self.device.close()
                raise
        return self.device.identity

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
