"""Messages of the update protocol. `mote_ota.c` is the other side; `docs/deploy/updates.md` describes every one."""

from __future__ import annotations

from enum import IntEnum, IntFlag

PROTOCOL = 1


class Type(IntEnum):
    """Requests of the host."""

    HELLO = 1
    BEGIN = 2
    DATA = 3
    FINISH = 4
    RESTART = 5
    CONFIRM = 6
    ABORT = 7


class BeginFlag(IntFlag):
    """Options of an update."""

    DELTA = 1
    ANEW = 2
