"""The device behind an agent in an open session: identity, memory regions, functions."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from fractions import Fraction
from zlib import crc32

from mote.base.errors import MoteError
from mote.compiler.firmware import ModelExtent
from mote.deploy.boards.agent.exchange import SOMETHING_ELSE, AgentExchange, LostBoardError
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
    AgentRegion,
    Counter,
    Identity,
    Placement,
    Request,
    Status,
    read_identity,
)
from mote.deploy.wire.links import ConnectionLostError

_WORDS_OF_READ, _WORDS_OF_WRITE = 4, 12


@dataclass(frozen=True)
class Called:
    """Result of a function in scratch memory: value and cycles."""

    value: int
    cycles: int | None


class AgentDevice:
    """A device in an open session."""

    def __init__(self, exchange: AgentExchange, ticks_per_cycle: Fraction | None = None) -> None:
        """`ticks_per_cycle` is its counter's rate if the agent does not know the core clock."""
        self.exchange = exchange
        self.extent = ModelExtent()
        """Expected numbers and bytes of outputs and steps; unlimited if unknown."""
        self.model: bytes | None = None
        """Id of the compiled model that it must have."""
        self.places: dict[tuple[AgentRegion, int], Placement] = {}
        self._identity: Identity | None = None
        self._ticks_per_cycle = ticks_per_cycle

    @property
    def where(self) -> str:
        """Name of the transport, for error messages."""
        return self.exchange.line.name

    @property
    def is_open(self) -> bool:
        return self._identity is not None

    @property
    def identity(self) -> Identity:
        """Identity of the device when the session was opened."""
        assert self._identity is not None
        return self._identity

    def open(self) -> None:
        """Opens a session."""
        self.places.clear()
        identity = self._identify()
        self.check_model(identity)
        self._settle(identity)
        self._identity = identity

    def close(self) -> None:
        """Forgets the session, which is lost or to be reopened."""
        self._identity = None

    def _identify(self) -> Identity:
        status, data = self.exchange.exchange(Request.IDENTIFY, self.exchange.begin())
        identity = read_identity(data)
        if status is not Status.OK or identity is None:
            raise ConnectionLostError(SOMETHING_ELSE)
        if identity.protocol != PROTOCOL:
            raise MoteError(
                f"its agent speaks protocol {identity.protocol}, and this Mote protocol {PROTOCOL}",
                where=self.where,
                remedy="build the agent with this version of Mote",
            )
        if identity.message_bytes < LEAST_MESSAGE:
            raise MoteError(
                f"its agent takes messages of {identity.message_bytes} bytes only",
                where=self.where,
                remedy=f"build it with MOTE_AGENT_FRAME of {LEAST_MESSAGE} or more",
            )
        if (most := max(identity.inputs, identity.outputs, identity.memories)) > MOST_REGIONS:
            raise self.implausible(f"has {most:,} inputs, outputs or memories, and {MOST_REGIONS} can be asked for")
        return identity

    def _settle(self, identity: Identity) -> None:
        """Aborts an inference that another session left unfinished; the answer also proves that the session is open and
        the identity is genuine."""
        if identity.can(Request.CONTINUE):
            self.exchange.answered(Request.CONTINUE, struct.pack("<I", NO_STOP), self.exchange.patience.run_s)
        else:
            self.exchange.answered(Request.REGION, struct.pack("<BBH", AgentRegion.MEMORY, 0, 0))

    def check_model(self, identity: Identity) -> None:
        """Raises an error if the device has another model than the required one."""
        if self.model is not None and identity.model != self.model:
            has = f"the model {identity.model.hex()}" if identity.has_model else "no model"
            raise MoteError(
                f"has {has}, not {self.model.hex()}", where=self.where, remedy="flash the model with `mote board flash`"
            )

    def implausible(self, what: str) -> LostBoardError:
        """Error for a device that reports or does something impossible for an agent with this model; nothing of it is
        used."""
        return LostBoardError(
            f"its agent says that it {what}",
            where=self.where,
            remedy="flash its firmware anew with this version of Mote (`mote board flash`)",
        )

    def place(self, region: AgentRegion, index: int = 0) -> Placement:
        """Address and size of a region in the device's memory."""
        if (region, index) not in self.places:
            data = self.exchange.ask(Request.REGION, struct.pack("<BBH", region, index, 0))
            if len(data) != PLACE.size:
                raise ConnectionLostError(SOMETHING_ELSE)
            place = Placement(*PLACE.unpack(data))
            if place.bytes > MOST_BYTES:
                raise ConnectionLostError(SOMETHING_ELSE)
            self.places[region, index] = place
        return self.places[region, index]

    @property
    def _most(self) -> int:
        """Maximum data bytes of a message."""
        return min(self.identity.message_bytes, MOST_MESSAGE) - HEAD

    def read(self, region: AgentRegion, index: int, offset: int, count: int) -> bytes:
        """Reads bytes of a region."""
        data = bytearray()
        while len(data) < count:
            size = min(count - len(data), self._most - _WORDS_OF_READ)
            head = struct.pack("<BBHII", region, index, 0, offset + len(data), size)
            piece = self.exchange.ask(Request.READ, head)
            if len(piece) != size:
                raise ConnectionLostError(SOMETHING_ELSE)
            data += piece
        return bytes(data)

    def write(self, region: AgentRegion, index: int, data: bytes, offset: int = 0) -> None:
        """Writes bytes to a region."""
        size = self._most - _WORDS_OF_WRITE
        for at in range(0, len(data), size):
            head = struct.pack("<BBHI", region, index, 0, offset + at)
            self.exchange.ask(Request.WRITE, head + data[at : at + size])

    def cycles(self, ticks: int) -> int | None:
        """Converts counts to core cycles; None without a counter."""
        identity = self.identity
        if identity.counter == Counter.NONE:
            return None
        return identity.cycles(ticks) if self._ticks_per_cycle is None else round(ticks / self._ticks_per_cycle)

    def load(self, image: bytes) -> None:
        """Loads an image for the agent's runtime into RAM."""
        room = self.place(AgentRegion.IMAGE, 0).bytes
        if len(image) > room:
            raise MoteError(
                f"has room for images of {room:,} bytes, and this one has {len(image):,}",
                where=self.where,
                remedy="build the agent with more room for images, or pack a smaller model",
            )
        self.write(AgentRegion.IMAGE, 0, image)
        self.exchange.ask(Request.LOAD, struct.pack("<II", len(image), crc32(image)), self.exchange.patience.run_s)
        self.look_again()

    def look_again(self) -> None:
        """Updates cached facts after the model changed; unlike identification, region requests fail if the device was
        reset."""
        self.places.clear()
        inputs, outputs = (self._count(region) for region in (AgentRegion.INPUT, AgentRegion.OUTPUT))
        steps = self.place(AgentRegion.CYCLES, 0).bytes // 8
        self._identity = replace(self.identity, inputs=inputs, outputs=outputs, steps=steps)

    def _count(self, region: AgentRegion) -> int:
        """Number of inputs or outputs."""
        for index in range(MOST_REGIONS):
            head = struct.pack("<BBH", region, index, 0)
            if self.exchange.answered(Request.REGION, head)[0] is not Status.OK:
                return index
        return MOST_REGIONS

    def call(self, offset: int, argument: int) -> Called:
        """Calls a function in the scratch memory."""
        answer = self.exchange.ask(Request.CALL, struct.pack("<II", offset, argument), self.exchange.patience.run_s)
        if len(answer) != CALLED.size:
            raise ConnectionLostError(SOMETHING_ELSE)
        value, ticks = CALLED.unpack(answer)
        return Called(value, self.cycles(ticks))
