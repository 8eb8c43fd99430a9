"""Damaged payloads and short streams that may be good or not, from a seed."""

from __future__ import annotations

import random
import struct

from mote.hardware.npu.commands import Command, named
from mote.hardware.npu.stream import CommandStream, made

MACS = {"ethos-u55": 128, "ethos-u65": 512, "ethos-u85": 512}


def mutant(payload: bytes, chance: random.Random) -> bytes:
    """A payload with up to three words changed, cut off at times."""
    if not chance.randrange(16):
        payload = payload[: chance.randrange(len(payload) + 1)]
    words = bytearray(payload)
    for _ in range(chance.randrange(4) if len(words) >= 4 else 0):
        at = 4 * chance.randrange(len(words) // 4)
        (word,) = struct.unpack_from("<I", words, at)
        struct.pack_into("<I", words, at, _likely(word, chance) & 0xFFFFFFFF)
    return bytes(words)


def _likely(word: int, chance: random.Random) -> int:
    """A word that is more likely to mean something than a random one."""
    return (
        lambda: word ^ 1 << chance.randrange(32),
        lambda: word + chance.randrange(-32, 32),
        lambda: word & 0xFFFF | chance.randrange(1 << 16) << 16,
        lambda: word & 0xFFFF0000 | chance.choice((0x4000, 0x100)) | chance.randrange(0x94),
        lambda: -chance.randrange(256),
        lambda: chance.randrange(1 << 32),
    )[chance.randrange(6)]()


def short_stream(core: str, chance: random.Random) -> CommandStream:
    """A stream of one operation whose registers are small, some of them odd or not set at all."""
    kinds = named(core)
    commands = []
    for name, kind in kinds.items():
        command = Command(kind)
        for field in kind.fields:
            if field.values is not None:
                wild = chance.random() < 0.2
                value = chance.choice(sorted(field.values)) if wild else min(field.values)
            elif field.name == "region":
                value = chance.randrange(3)
            elif name.endswith(("_M1", "_SIZE0", "_SIZE1")) or "PAD" in name:
                value = chance.randrange(min(6, 1 << field.bits))
            elif field.address or field.name == "length":
                value = chance.choice((0, 16, 32, 64, 160, 320))
                value += chance.randrange(-40, 40) if chance.random() < 0.04 else 0
                value = value if field.signed else abs(value)
            else:
                value = chance.randrange(1 << min(field.bits, 4)) if chance.random() < 0.2 else 0
            command = command.with_value(value, field.name)
        if not kind.operation and chance.random() < 0.997:
            commands.append(command)
    works = [Command(kinds[name]) for name in ("CONV", "DEPTHWISE", "POOL", "ELEMENTWISE", "DMA_START")]
    commands.append(chance.choice(works))
    if commands[-1].name in ("POOL", "ELEMENTWISE"):
        values = commands[-1].kind.fields[0].values or {}
        commands[-1] = commands[-1].with_value(chance.choice(sorted(values)))
    return made(core, MACS[core], [*commands, Command(kinds["STOP"], 0xFFFF)], cores=1)
