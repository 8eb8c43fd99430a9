"""Decodes and encodes payloads of the Ethos-U driver: hardware configuration and commands.

A payload is little-endian words. `COP1` is a list of driver actions, one of which is the command stream; `COP2` is a
header, one entry and metadata around it."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from mote.base.errors import MoteError
from mote.hardware.npu.commands import CORES, Command, CommandKind, kinds, named

MACS = {
    "ethos-u55": (32, 64, 128, 256),
    "ethos-u65": (256, 512),
    "ethos-u85": (128, 256, 512, 1024, 2048),
}
"""Possible MACs per cycle of each generation."""
MOST_WORDS = 1 << 24
"""Limit on command stream words, by the driver's length field."""
REMEDY = "compile the model again with Vela, for a driver of Ethos-U, and hand over the payload unchanged"

CONFIG, COMMANDS, NOP = 1, 2, 5
"""Action codes of `COP1`."""
ACTIONS = {CONFIG: "configuration", COMMANDS: "command stream", NOP: "padding"}
"""Actions supported by the driver; 3 (read registers) and 4 (dump internal memory) were for debugging."""


@dataclass(frozen=True)
class Config:
    """Hardware configuration of a stream, as two register words."""

    word: int
    identity: int

    @property
    def core(self) -> str:
        return CORES[self.word >> 28]

    @property
    def macs(self) -> int:
        """MACs per cycle over all cores."""
        return 1 << (self.word & 15)

    @property
    def name(self) -> str:
        """Vela's name of the configuration, such as `ethos-u55-128`."""
        return f"{self.core}-{self.macs}"

    @property
    def cores(self) -> int:
        """Number of weight decoders, which share the output channels and have one weight stream each."""
        if self.core == "ethos-u85":
            return 1 << (self.word >> 12 & 3)
        return 2 if self.name == "ethos-u65-512" else 1

    @property
    def shram(self) -> int:
        """Bytes of internal memory; Ethos-U85 has separate memories and does not state it."""
        return 0 if self.core == "ethos-u85" else (self.word >> 8 & 0xFF) << 10

    @property
    def architecture(self) -> str:
        """Architecture version, such as `1.0.6`."""
        return f"{self.identity >> 28}.{self.identity >> 20 & 0xFF}.{self.identity >> 16 & 15}"


@dataclass(frozen=True)
class Action:
    """An action of `COP1`: its first word and following words (without the command stream's)."""

    tag: int
    words: tuple[int, ...] = ()

    @property
    def kind(self) -> int:
        return self.tag & 0xFF


@dataclass(frozen=True)
class StreamMetadata:
    """Fields of `COP2` besides the configuration: addressing mode, bytes of fast memory, padding."""

    features: int
    staging: int
    padding: bytes


@dataclass(frozen=True)
class CommandStream:
    """Commands of a payload with its container format."""

    config: Config
    commands: tuple[Command, ...]
    container: tuple[Action, ...] | StreamMetadata

    @property
    def form(self) -> str:
        return "COP2" if isinstance(self.container, StreamMetadata) else "COP1"

    def encode(self) -> bytes:
        """Encodes the payload, byte-identical unless commands changed."""
        body = b"".join(command.encode() for command in self.commands)
        if isinstance(self.container, StreamMetadata):
            return _second(self.config, self.container, body)
        return b"COP1" + b"".join(_action(action, body) for action in self.container)

    def with_commands(self, commands: Sequence[Command]) -> CommandStream:
        return replace(self, commands=tuple(commands))

    def command(self, name: str, operand: int = 0) -> Command:
        """A new command for this stream's generation."""
        return Command(named(self.config.core)[name], operand)


@dataclass(frozen=True)
class NpuOperation:
    """An operation command with a snapshot of the registers."""

    command: Command
    registers: Mapping[str, Command]

    @property
    def name(self) -> str:
        return self.command.name

    @property
    def where(self) -> str:
        return f"{self.name} at byte {self.command.offset}"

    def has(self, register: str) -> bool:
        return register in self.registers

    def register(self, name: str) -> Command:
        """A register that the operation needs; raises an error if unset."""
        try:
            return self.registers[name]
        except KeyError:
            raise MoteError(f"register {name} was not set before it", where=self.where, remedy=REMEDY) from None

    def value(self, name: str, field: str = "") -> int:
        """Value of a register or of one of its fields."""
        register = self.register(name)
        return register[field] if field else register.value

    def said(self, name: str, field: str) -> str:
        """Name of the value of a register's field."""
        return self.register(name).said(field)


def decode(payload: bytes) -> CommandStream:
    """Decodes a payload. Raises an error for anything the driver and hardware do not define: unknown actions and
    commands, reserved bits, meaningless values, wrong lengths."""
    data = bytes(payload)
    if len(data) < 8:
        _refuse(0, f"{len(data)} bytes are no payload")
    if len(data) % 4:
        _refuse(len(data) - len(data) % 4, "a payload consists of words of 4 bytes")
    if data[:4] not in (b"COP1", b"COP2"):
        _refuse(0, f"a payload begins with COP1 or COP2, not with {data[:4]!r}")
    return _decode_first(data) if data[:4] == b"COP1" else _decode_second(data)


def operations(stream: CommandStream) -> Iterator[NpuOperation]:
    """Operations of a stream in order, each with the registers set before it."""
    registers: dict[str, Command] = {}
    for command in stream.commands:
        if command.kind.operation:
            yield NpuOperation(command, dict(registers))
        else:
            registers[command.name] = command


def made(core: str, macs: int, commands: Sequence[Command], *, cores: int = 1, shram: int = 24 << 10) -> CommandStream:
    """Builds a payload as Vela writes it: configuration, padding to 16 bytes, commands."""
    version = 1 if core == "ethos-u85" else 0
    memory = (cores.bit_length() - 1) << 12 if core == "ethos-u85" else shram >> 10 << 8
    word = CORES.index(core) << 28 | version << 4 | macs.bit_length() - 1 | memory
    identity = 0x20000000 if core == "ethos-u85" else 0x10060000
    actions = (Action(CONFIG | 0x10 << 16, (word, identity)), *(Action(NOP),) * 3, Action(COMMANDS))
    return CommandStream(Config(word, identity), tuple(commands), actions)


def _decode_first(data: bytes) -> CommandStream:
    words = struct.unpack(f"<{len(data) // 4}I", data)
    actions: list[Action] = []
    config: Config | None = None
    body: tuple[int, int] | None = None
    at = 1
    while at < len(words):
        tag = words[at]
        kind = tag & 0xFF
        if kind not in ACTIONS:
            _refuse(4 * at, f"action {kind} is none that the driver knows")
        length = {CONFIG: 2, COMMANDS: (tag >> 8 & 0xFF) << 16 | tag >> 16, NOP: 0}[kind]
        if length > len(words) - at - 1:
            _refuse(4 * at, f"the {ACTIONS[kind]} has {length} words, and {len(words) - at - 1} words follow")
        inside = words[at + 1 : at + 1 + length] if kind == CONFIG else ()
        actions.append(Action(COMMANDS if kind == COMMANDS else tag, inside))
        if kind == CONFIG:
            if config is not None:
                _refuse(4 * at, "there is a second configuration")
            if tag >> 8 & 0xFF or tag >> 24:
                _refuse(4 * at, f"reserved bits are set in the configuration's first word {tag:#010x}")
            config = _config(inside[0], inside[1], 4 * at + 4)
        elif kind == COMMANDS:
            if body is not None:
                _refuse(4 * at, "there is a second command stream: the driver starts one")
            if config is None:
                _refuse(4 * at, "no configuration comes before the command stream")
            if (at + 1) % 4:
                _refuse(4 * at, "the command stream does not begin at a multiple of 16 bytes")
            body = (at + 1, length)
        elif tag != NOP:
            _refuse(4 * at, f"reserved bits are set in the padding {tag:#010x}")
        at += 1 + length
    if config is None:
        _refuse(4, "there is no configuration: the payload does not say which hardware it is for")
    if body is None:
        _refuse(len(data), "there is no command stream")
    first, length = body
    return CommandStream(config, _commands(words[first : first + length], config.core, 4 * first), tuple(actions))


def _decode_second(data: bytes) -> CommandStream:
    if len(data) < 60:
        _refuse(len(data), "the header of COP2 takes 60 bytes")
    release, total, entry, entry_bytes, meta_bytes, mark, meta_release, inner, *rest = struct.unpack_from(
        "<IQII I4sII IIIQ", data, 4
    )
    word, identity, features, staging = rest
    expected = (
        (4, release, 1, "version of the payload (1.0)"),
        (8, total, len(data) - 16, "bytes after the header"),
        (16, entry, 1, "kind of entry (a command stream)"),
        (20, entry_bytes, len(data) - 24, "bytes of the entry"),
        (28, mark, b"VEUM", "mark of the metadata"),
        (32, meta_release, 1, "version of the metadata (1.0)"),
        (36, inner, 20, "bytes of the metadata"),
    )
    for offset, value, right, meaning in expected:
        if value != right:
            _refuse(offset, f"the {meaning} must be {right!r}, not {value!r}")
    first = 28 + meta_bytes
    if not 60 <= first <= len(data) or first % 16:
        _refuse(24, f"the command stream cannot begin at byte {first} of {len(data)}")
    if first > 64:
        _refuse(60, f"{first - 60} bytes of padding are more than the 4 that alignment takes")
    if features not in (1, 2):
        _refuse(48, f"features {features:#x} are unknown: 1 is addresses of the network, 2 those of inputs and outputs")
    config = _config(word, identity, 40)
    words = struct.unpack_from(f"<{(len(data) - first) // 4}I", data, first)
    return CommandStream(
        config, _commands(words, config.core, first), StreamMetadata(features, staging, data[60:first])
    )


def _second(config: Config, metadata: StreamMetadata, body: bytes) -> bytes:
    meta = struct.pack("<4sIIIIIQ", b"VEUM", 1, 20, config.word, config.identity, metadata.features, metadata.staging)
    meta += metadata.padding
    entry = struct.pack("<I", len(meta)) + meta + body
    return b"COP2" + struct.pack("<IQII", 1, 8 + len(entry), 1, len(entry)) + entry


def _action(action: Action, body: bytes) -> bytes:
    if action.kind == COMMANDS:
        words = len(body) // 4
        if words >= MOST_WORDS:
            raise MoteError(f"a command stream of {words} words is too long", remedy="split the model into regions")
        return struct.pack("<I", COMMANDS | words >> 16 << 8 | (words & 0xFFFF) << 16) + body
    return struct.pack(f"<{1 + len(action.words)}I", action.tag, *action.words)


def _config(word: int, identity: int, offset: int) -> Config:
    """Parses the configuration; raises an error if such hardware does not exist."""
    product = word >> 28
    if product >= len(CORES):
        _refuse(offset, f"product {product} is none of {', '.join(CORES)}")
    config = Config(word, identity)
    if config.macs not in MACS[config.core]:
        _refuse(offset, f"there is no {config.core} of {config.macs} MACs per cycle")
    if config.cores > 4:
        _refuse(offset, f"there is no {config.core} with {config.cores} weight decoders")
    version = word >> 4 & 15
    if version != (1 if config.core == "ethos-u85" else 0):
        _refuse(offset, f"version {version} of command streams is unknown")
    if identity >> 28 != (2 if config.core == "ethos-u85" else 1):
        _refuse(offset + 4, f"architecture {config.architecture} is not that of {config.core}")
    return config


def _commands(words: Sequence[int], core: str, start: int) -> tuple[Command, ...]:
    table = kinds(core)
    commands: list[Command] = []
    at = 0
    while at < len(words):
        word = words[at]
        offset = start + 4 * at
        kind = table.get(word & 0xFFFF)
        if kind is None:
            _refuse(offset, f"{word:#010x} is no command of {core}")
        operand = word >> 16
        if kind.words == 2:
            if at + 1 == len(words):
                _refuse(offset, f"{kind.name} has no second word")
            operand |= words[at + 1] << 16
        if kind.malformed(operand):
            _refuse(offset, f"{kind.name} sets bits that must be 0: operand {operand:#x}")
        _known(kind, operand, offset)
        commands.append(Command(kind, operand, offset))
        at += kind.words
    return tuple(commands)


def _known(kind: CommandKind, operand: int, offset: int) -> None:
    for field in kind.fields:
        if field.values is not None and field.of(operand) not in field.values:
            names = ", ".join(f"{value} {name}" for value, name in field.values.items())
            _refuse(offset, f"{kind.name} has no {field.name} {field.of(operand)} (there are: {names})")


def _refuse(offset: int, reason: str) -> NoReturn:
    raise MoteError(reason, where=f"payload of Ethos-U, byte {offset}", remedy=REMEDY)
