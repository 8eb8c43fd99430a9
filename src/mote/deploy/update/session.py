"""The host's side of an update: queries the device, sends the image or a delta, and waits until it runs.

The host sends requests and the device responds. Requests without a response are repeated; data frames carry their
offset, so that nothing is stored twice. After a lost connection or a reset, the update resumes from what the device
reports.
"""

from __future__ import annotations

import secrets
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from zlib import crc32

from mote.base.errors import MoteError
from mote.base.notebook import sizes
from mote.base.results import Result
from mote.deploy.update import delta
from mote.deploy.update.header import ImageHeader
from mote.deploy.update.messages import PROTOCOL, BeginFlag, Type
from mote.deploy.wire.frames import ANSWER, FrameReader, Message
from mote.deploy.wire.links import ConnectionLostError, Line

STATES = ("idle", "receiving", "trial")
NO_SLOT = 0xFF
RESTARTING_S = 0.2
"""Seconds after a restart request in which frames are lost."""
MOST_STALLED = 100
"""Responses without progress, per retry, after which a device is given up; lost frames cause some."""
_HELLO = struct.Struct("<4x4B12I")
_POSITION = struct.Struct("<III")
_BEGIN = struct.Struct("<III")
NOT_BEGUN = 4
STATUS = {
    1: ("the settings of its update module do not fit", "correct the firmware"),
    2: ("its flash cannot be written", "try again; if that does not help, the flash is worn out"),
    3: ("it has no model that may run", "send one"),
    NOT_BEGUN: ("it knows of no update", "send it again"),
    5: ("it has a model on trial", "confirm that one first (--confirm), or reset the device to take it back"),
    6: ("the image is larger than its slot", "pack a smaller model"),
    7: ("the image is not complete", "send it again"),
    8: ("the image was damaged on the way", "send it again"),
    9: ("this is no image that it knows", "pack the model with a Mote that fits its firmware"),
    10: ("the image is for another product", "pack it with the right --product"),
    11: ("it had a newer version already", "pack the model with a higher --model-version"),
    12: ("the image is not signed", "sign it with `mote sign`"),
    13: ("the signature is not genuine", "sign the image with a key that the firmware knows"),
    14: ("its firmware cannot run the image", "pack it with --runtime and the manifest of that firmware"),
    15: ("the delta is to another image", "send the whole image: omit --from"),
    16: ("the delta is damaged", "send it again"),
    254: ("it does not understand a message", "use a Mote that fits its firmware"),
    255: ("it does not know a message", "use a Mote that fits its firmware"),
}
"""Errors of devices (`mote_update_status` in `mote_update.h`), and their remedies."""


@dataclass(frozen=True)
class Device(Result):
    """State reported by a device."""

    TITLE = "Device, {state}"

    protocol: int
    """Version of the update protocol."""
    state: str
    """State: idle, receiving or trial."""
    tries: int
    """Number of boots of a model on trial so far."""
    active: int | None
    """Slot of the running model; None if none runs."""
    most_data: int
    """Maximum bytes of a frame."""
    slot_bytes: int
    """Bytes of a slot."""
    version: int
    """Version of the running model."""
    bytes: int
    """Bytes of the running image."""
    crc: int
    """CRC-32 of the running image."""
    counter: int
    """Anti-rollback counter: images with lower versions are rejected."""
    product: int
    """Product number of the device; 0 for any."""
    rejected: int
    """Version of the last model that failed its trial; 0 for none."""
    stream_bytes: int
    """Bytes of the update being received."""
    stream_crc: int
    """CRC-32 of that update."""
    position: int
    """Bytes of it received so far."""
    position_crc: int
    """CRC-32 of the bytes received so far."""

    def __repr__(self) -> str:
        runs = "no model" if self.active is None else f"version {self.version} from slot {self.active}"
        return f"<Device {self.state}, runs {runs}, slots of {self.slot_bytes:,} bytes>"

    def runs(self, image: ImageHeader) -> bool:
        """Whether the device runs an image."""
        return self.active is not None and (self.bytes, self.crc) == (image.bytes, image.crc)

    def _facts(self) -> dict[str, object]:
        return {"runs version": None if self.active is None else self.version, "slots": sizes(self.slot_bytes)}


def read_device(data: bytes) -> Device:
    """Parses the response to HELLO."""
    if len(data) != _HELLO.size:
        raise ConnectionLostError("the device answers something else")
    protocol, state, tries, active, *rest = _HELLO.unpack(data)
    known = STATES[state] if state < len(STATES) else str(state)
    return Device(protocol, known, tries, None if active == NO_SLOT else active, *rest)


@dataclass(frozen=True)
class Patience:
    """Timeouts in seconds, and numbers of retries."""

    answer_s: float = 2.0
    finish_s: float = 60.0
    """Time for the device to check a complete image; signatures are slow on small cores."""
    restart_s: float = 20.0
    confirm_s: float = 10.0
    tries: int = 5
    connections: int = 5


@dataclass(repr=False)
class UpdateOutcome(Result):
    """Result of an update."""

    LINE = "{state}: {sent}, {stream_bytes:,} bytes in {seconds:.1f} s"
    TITLE = "Update {state}"
    FACTS = "sent, bytes=stream_bytes, frames sent again=sent_again"

    device: Device
    """State of the device before the update."""
    sent: str = "nothing"
    """Kind of data sent: `image`, `delta` or `nothing`."""
    stream_bytes: int = 0
    """Bytes of the image or delta."""
    resumed_at: int = 0
    """Bytes that the device already had."""
    bytes_sent: int = 0
    """Bytes sent, including repetitions."""
    sent_again: int = 0
    """Number of repeated frames."""
    connections: int = 1
    """Number of connections opened."""
    seconds: float = 0.0
    """Duration in seconds."""
    state: str = ""
    """Final state: `confirmed`, `trial` (running, not confirmed by the firmware yet), `installed` (runs from the next
    boot) or `restarting`."""


@dataclass
class Session:
    """A session with one device."""

    line: Line
    patience: Patience = field(default_factory=Patience)
    say: Callable[[str], None] = lambda text: None
    sequence: int = field(default_factory=lambda: secrets.randbelow(256))
    outcome: UpdateOutcome | None = None
    _reader: FrameReader = field(default_factory=FrameReader)

    def ask(self, kind: Type, data: bytes = b"", wait_s: float | None = None) -> bytes:
        """Sends a request, repeated on timeout; returns its response with status MOTE_UPDATE_OK."""
        self.sequence = (self.sequence + 1) % 256
        question = Message(kind, self.sequence, data)
        until = time.monotonic() + (self.patience.answer_s * self.patience.tries if wait_s is None else wait_s)
        while time.monotonic() < until:
            self.line.send(question.framed)
            answer = self._answer(lambda m: m.type == kind | ANSWER and m.sequence == question.sequence)
            if answer is not None:
                return checked(answer.data)
        raise ConnectionLostError("the device does not answer")

    def _answer(self, fits: Callable[[Message], bool]) -> Message | None:
        """First matching response within the timeout."""
        until = time.monotonic() + self.patience.answer_s
        while (left := until - time.monotonic()) > 0:
            for message in self._reader.take(self.line.receive(left)):
                if fits(message):
                    return message
        return None

    def hello(self) -> Device:
        device = read_device(self.ask(Type.HELLO, bytes([PROTOCOL, 0, 0, 0])))
        if device.protocol != PROTOCOL:
            raise MoteError(
                f"the device speaks protocol {device.protocol}, and this Mote protocol {PROTOCOL}",
                where=self.line.name,
                remedy="use a Mote that fits its firmware",
            )
        if device.most_data == 0:
            raise MoteError(
                "the device announces that it takes 0 bytes of data at a time",
                where=self.line.name,
                remedy="give the protocol a larger frame in the firmware (mote_ota_t)",
            )
        return device

    def reopen(self) -> None:
        self.line.open()
        self._reader = FrameReader()

    def begin(self, stream: UpdateStream) -> int:
        """Announces the stream; returns the offset from which the device needs it."""
        flags = BeginFlag.DELTA if stream.is_delta else BeginFlag(0)
        data = stream.data
        for more in (BeginFlag(0), BeginFlag.ANEW):
            answer = self.ask(Type.BEGIN, _BEGIN.pack(flags | more, len(data), crc32(data)))
            if len(answer) != _POSITION.size:
                raise ConnectionLostError("the device answers something else")
            _, position, crc = _POSITION.unpack(answer)
            if position <= len(data) and crc32(data[:position]) == crc:
                return int(position)
        raise MoteError("the device has something else than it says", where=self.line.name, remedy="reset the device")

    def transfer(self, stream: bytes, position: int, most: int, outcome: UpdateOutcome) -> None:
        """Sends all data from a position on, with several unacknowledged frames; rejected ones are repeated, and a
        device without progress is given up."""
        taken = sent = furthest = most_sent = position
        silent, gone_back, stalled = 0, -1, 0
        while taken < len(stream):
            while sent < len(stream) and sent - taken < self.line.window * most:
                data = stream[sent : sent + most]
                self.sequence = (self.sequence + 1) % 256
                self.line.send(Message(Type.DATA, self.sequence, sent.to_bytes(4, "little") + data).framed)
                outcome.bytes_sent += len(data)
                sent += len(data)
            most_sent = max(most_sent, sent)
            answer = self._answer(lambda m: m.type == Type.DATA | ANSWER and len(m.data) == _POSITION.size)
            if answer is None:
                silent += 1
                if silent > self.patience.tries:
                    raise ConnectionLostError("the device does not answer")
                outcome.sent_again += (sent - taken + most - 1) // most
                sent = taken
                continue
            at = _POSITION.unpack(checked(answer.data))[1]
            if at > most_sent:
                raise MoteError(
                    f"the device says that it has {at:,} bytes, of which {most_sent:,} were sent",
                    where=self.line.name,
                    remedy="reset the device",
                )
            stalled = 0 if at > furthest else stalled + 1
            furthest = max(furthest, at)
            if stalled > MOST_STALLED * self.patience.tries:
                raise ConnectionLostError("the device takes no more data")
            if at > taken:
                taken, sent, silent = at, max(at, sent), 0
                self.say(f"sending {taken:,} of {len(stream):,} bytes")
            elif gone_back != taken or at < taken:
                outcome.sent_again += (sent - at + most - 1) // most
                taken = sent = gone_back = at


def checked(data: bytes) -> bytes:
    """Checks a response for status OK; a device that was reset has lost the session."""
    status = int.from_bytes(data[:4], "little")
    if len(data) < 4 or status == NOT_BEGUN:
        raise ConnectionLostError("the device knows of no update")
    if status:
        what, remedy = STATUS.get(status, (f"it says status {status}", "use a Mote that fits its firmware"))
        raise MoteError(f"the device refuses: {what}", remedy=remedy)
    return data


@dataclass(frozen=True)
class UpdateStream:
    """Data to send: an image or a delta."""

    data: bytes
    is_delta: bool


@dataclass(frozen=True)
class UpdatePlan:
    """The image to install, and possible sources of deltas."""

    image: bytes
    header: ImageHeader
    sources: Sequence[tuple[ImageHeader, bytes]] = ()
    """Images that devices may run, from which deltas are made."""
    restarts: bool = True
    confirms: bool = False
    """Whether the host confirms the model; otherwise the firmware does."""
    follows: bool = True
    """Whether to wait for the device after its restart; the next device that connects may be another one."""

    def streams(self, device: Device) -> list[UpdateStream]:
        """Possible streams for a device, shortest first: the image, or a delta from its current one."""
        deltas = [
            UpdateStream(delta.encode(old, self.image), True) for header, old in self.sources if device.runs(header)
        ]
        return sorted([UpdateStream(self.image, False), *deltas], key=lambda stream: len(stream.data))


def known_to(device: Device, streams: Sequence[UpdateStream]) -> UpdateStream | None:
    """The stream that a device received last, completely or in part."""
    known = (device.stream_bytes, device.stream_crc)
    return next((stream for stream in streams if known == (len(stream.data), crc32(stream.data))), None)


def check_first(device: Device, plan: UpdatePlan, where: str) -> None:
    """Raises an error for what the device would reject, before anything is sent."""
    header = plan.header
    if header.version < device.counter:
        reason = f"has version {header.version}, and the device accepts none below {device.counter}"
        raise MoteError(reason, where=where, remedy="pack the model with a higher --model-version")
    if device.product and header.product != device.product:
        reason = f"is for product {header.product}, and the device is product {device.product}"
        raise MoteError(reason, where=where, remedy=f"pack the model with --product {device.product}")
    if len(plan.image) > device.slot_bytes:
        reason = f"has {len(plan.image):,} bytes, and the device has room for {device.slot_bytes:,}"
        raise MoteError(reason, where=where, remedy="pack a smaller model")
    if device.state == "trial" and not device.runs(header):
        raise MoteError(f"{STATUS[5][0]}, of version {device.version}", where=where, remedy=STATUS[5][1])


def update(session: Session, plan: UpdatePlan, where: str) -> UpdateOutcome:
    """Updates a device to an image. A lost connection is reopened, and the update resumes."""
    began = time.monotonic()
    connections = 1
    while True:
        try:
            outcome = _attempt(session, plan, where)
            break
        except ConnectionLostError as lost:
            if connections >= session.patience.connections:
                raise MoteError(
                    f"the device was lost {connections} times: {lost}",
                    where=session.line.name,
                    remedy="check the line, and run the command again: what the device has is not sent twice",
                ) from None
            connections += 1
            session.say(f"{lost}; trying again")
            session.reopen()
    outcome.connections = connections
    outcome.seconds = time.monotonic() - began
    return outcome


def _attempt(session: Session, plan: UpdatePlan, where: str) -> UpdateOutcome:
    device = session.hello()
    outcome = session.outcome = session.outcome or UpdateOutcome(device)
    if not device.runs(plan.header):
        streams = plan.streams(device)
        known = known_to(device, streams)
        if not (known and device.state == "trial" and device.tries == 0):
            check_first(device, plan, where)
            _send(session, known if known and device.state == "receiving" else streams[0], device, outcome)
        outcome.state = "installed"
        if not plan.restarts:
            return outcome
        if not plan.follows:
            session.ask(Type.RESTART)
            outcome.state = "restarting"
            return outcome
        device = _restart(session, plan, where)
    outcome.device = _settled(session, plan, device)
    outcome.state = "confirmed" if outcome.device.state != "trial" else "trial"
    return outcome


def _send(session: Session, stream: UpdateStream, device: Device, outcome: UpdateOutcome) -> None:
    position = session.begin(stream)
    outcome.sent = "delta" if stream.is_delta else "image"
    outcome.stream_bytes = len(stream.data)
    outcome.resumed_at = max(outcome.resumed_at, position)
    session.transfer(stream.data, position, device.most_data, outcome)
    session.say("the device checks it")
    session.ask(Type.FINISH, wait_s=session.patience.finish_s)


def _restart(session: Session, plan: UpdatePlan, where: str) -> Device:
    """Restarts the device and returns its state afterwards."""
    session.say("the device restarts")
    session.ask(Type.RESTART)
    time.sleep(RESTARTING_S)
    until = time.monotonic() + session.patience.restart_s
    while time.monotonic() < until:
        try:
            device = session.hello()
        except ConnectionLostError:
            session.reopen()
            continue
        if device.runs(plan.header):
            return device
        if device.state != "trial":
            to = "to no model, the one before being below what it accepts or damaged"
            to = to if device.active is None else f"to version {device.version}"
            raise MoteError(
                f"the device went back {to}: the new model was not confirmed in its trial",
                where=where,
                remedy="find out from the device why its firmware does not accept the model",
            )
        time.sleep(0.1)
    raise MoteError("the device does not come back with the new model", where=where, remedy="reset it, and ask again")


def _settled(session: Session, plan: UpdatePlan, device: Device) -> Device:
    """State of the device after its model is confirmed, or after the timeout."""
    if device.state == "trial" and plan.confirms:
        session.ask(Type.CONFIRM)
        return session.hello()
    until = time.monotonic() + session.patience.confirm_s
    while device.state == "trial" and time.monotonic() < until:
        time.sleep(0.2)
        device = session.hello()
    return device
