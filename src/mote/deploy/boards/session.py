"""Sessions with a board's agent: inferences, traced tensors, cycles, images, scratch memory.

The host requests, the agent answers (`mote_agent.h`). A device that was reset rejects requests of the old session;
then, and after a lost connection, the session is reopened and the job restarted: one inference, or for stateful models
all from the first. Results are only returned if all come from one session."""

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
    """A session with a board. Every public method is a job that restarts if the device was reset or the connection was
    lost, at most `patience.attempts` times without progress."""

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
        """`line` is an open transport. `reset` resets a board that does not respond, `rest` is called whenever it waits
        for a request, `ticks_per_cycle` is its counter's rate if the agent does not know the core clock."""
        self.line = line
        self.patience = patience or BoardPatience()
        self.device = AgentDevice(AgentExchange(line, self.patience, rest, clock), ticks_per_cycle)
        self.restarts = 0
        """Number of job restarts."""
        self.interruptions: list[Interruption] = []
        """Losses of an open session."""
        self._reset, self._say = reset, say
        self._loads: list[Callable[[], None]] = []
        self._inside = False
        self._failures = 0
        self._begun = 0
        """Number of inferences to rerun if the board is lost now."""

    @property
    def extent(self) -> ModelExtent:
        """Expected numbers and bytes of outputs and steps; unlimited if unknown."""
        return self.device.extent

    @extent.setter
    def extent(self, extent: ModelExtent) -> None:
        self.device.extent = extent

    # Jobs

    @property
    def identity(self) -> Identity:
        """Identity of the device."""
        return self.device.identity if self.device.is_open else self.together(self._known)

    def expect(self, model: bytes) -> None:
        """Requires the device to have the compiled model of this id, also after resets."""
        self.device.model = model
        self.device.check_model(self.identity)

    def region(self, region: AgentRegion, index: int = 0) -> Placement:
        """Address and size of a region in the device's memory."""
        return self.together(lambda: self.device.place(region, index))

    def room(self, region: AgentRegion) -> int:
        """Bytes of a region; 0 if the agent was built without it."""

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
        """Runs inferences in order from initial states. If one is lost, a stateful model starts over from the first;
        others continue with the lost one."""
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
        """Loads an image into the agent's runtime, again after every reset."""
        self._load_always(Request.LOAD, lambda: self.device.load(image))

    def load_scratch(self, data: bytes, offset: int = 0) -> None:
        """Writes code or data to scratch memory, again after every reset."""
        self._load_always(Request.CALL, lambda: self.device.write(AgentRegion.SCRATCH, 0, data, offset))

    def load_model(self, data: bytes, entry: int) -> None:
        """Loads a model linked for scratch memory and registers it by the function at an offset, again after every
        reset."""

        def load() -> None:
            self.device.write(AgentRegion.SCRATCH, 0, data)
            if status := self.device.call(entry, 0).value:
                raise MoteError(f"the model cannot be opened (status {status})", where=self.line.name)
            self.device.look_again()

        self._load_always(Request.CALL, load)

    def read_scratch(self, offset: int, count: int) -> bytes:
        return self.together(lambda: self.device.read(AgentRegion.SCRATCH, 0, offset, count))

    def call(self, offset: int, argument: int = 0) -> Called:
        """Calls a function in scratch memory: `uint32_t function(uint32_t argument)`."""
        return self.together(lambda: self.device.call(offset, argument))

    def restart(self) -> Identity:
        """Restarts the device; returns its identity afterwards."""
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
        """Reopens the transport, as after flashing; returns the device's identity."""
        self.device.close()
        self._loads.clear()
        self.device.exchange.open_line()
        return self.identity

    def together(self, job: Callable[[], Value]) -> Value:
        """Runs several requests as one job that restarts as a whole; it must not depend on device state other than
        loaded data."""
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
        """Records the loss of a session, unless it was not open yet."""
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
        """Identity of the device in an open session, which is opened if necessary."""
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
