"""Transports to a device: TCP, as client or server, or a serial port."""

from __future__ import annotations

import os
import select
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Protocol, TypeVar

from mote.base.errors import MoteError
from mote.base.extras import require

CHUNK = 4096
OPENING_S = 10.0
"""Seconds to connect, and for a device to reconnect."""
PAUSE_S = 0.2
Opening = TypeVar("Opening")


class ConnectionLostError(Exception):
    """Raised when the connection is lost, or the device does not respond."""


class Line(Protocol):
    """A byte transport to a device."""

    name: str
    window: int
    """Maximum unacknowledged data frames; a serial port buffers few."""

    def open(self) -> None:
        """Opens, or reopens, the transport."""

    def close(self) -> None: ...

    def send(self, data: bytes) -> None: ...

    def receive(self, seconds: float) -> bytes:
        """Receives bytes; empty on timeout."""


class Opened:
    """Context manager of an open transport."""

    def __init__(self, line: Line) -> None:
        self.line = line

    def __enter__(self) -> Line:
        self.line.open()
        return self.line

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.line.close()


class _Socket:
    """The common part of both TCP transports."""

    window = 8
    name = ""
    _socket: socket.socket | None = None

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def send(self, data: bytes) -> None:
        try:
            self._connected().sendall(data)
        except OSError as error:
            raise ConnectionLostError(f"the connection broke ({_reason(error)})") from None

    def receive(self, seconds: float) -> bytes:
        connected = self._connected()
        try:
            if not select.select([connected], [], [], seconds)[0]:
                return b""
            data = connected.recv(CHUNK)
        except OSError as error:
            raise ConnectionLostError(f"the connection broke ({_reason(error)})") from None
        if not data:
            raise ConnectionLostError("the device closed the connection")
        return data

    def _connected(self) -> socket.socket:
        if self._socket is None:
            raise ConnectionLostError("there is no connection")
        return self._socket


class Connecting(_Socket):
    """A TCP client: the device listens."""

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port
        self.name = f"{host}:{port}"

    def open(self) -> None:
        self.close()
        try:
            self._socket = _eventually(self._connect, OPENING_S)
        except OSError as error:
            raise MoteError(
                f"cannot be connected to ({_reason(error)})",
                where=self.name,
                remedy="check the address, and that the device listens there",
            ) from None

    def _connect(self) -> socket.socket:
        connection = socket.create_connection((self.host, self.port), timeout=OPENING_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection


class Listening(_Socket):
    """A TCP server: the device connects, one at a time."""

    def __init__(self, host: str, port: int) -> None:
        self.name = f"{host or '*'}:{port}"
        try:
            self._server = socket.create_server((host, port))
        except OSError as error:
            raise MoteError(
                f"cannot be listened on ({_reason(error)})", where=self.name, remedy="name another port"
            ) from None

    @property
    def port(self) -> int:
        """Actual port, if port 0 was requested."""
        return int(self._server.getsockname()[1])

    def open(self) -> None:
        """Waits for a device to connect: without limit the first time, then with a timeout."""
        again = self._socket is not None
        super().close()
        self._server.settimeout(OPENING_S if again else None)
        try:
            self._socket = self._server.accept()[0]
        except TimeoutError:
            raise MoteError(
                "the device does not connect again", where=self.name, remedy="look after the device, and start anew"
            ) from None
        self._socket.settimeout(OPENING_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def hang_up(self) -> None:
        """Closes the connection, to wait for the next device."""
        super().close()

    def close(self) -> None:
        super().close()
        self._server.close()


class Serial:
    """A serial port or pseudo-terminal: 8N1, raw."""

    window = 1

    def __init__(self, path: str, baud: int) -> None:
        if baud <= 0:
            raise MoteError(f"{baud} baud is no speed", where=path, remedy="give the speed of the device's port")
        self.name, self.baud = path, baud
        self.seconds_a_byte = 10 / baud
        """Seconds per byte: start bit, 8 data bits and stop bit."""
        self._serial = require("serial", extra="boards", what="a serial port")
        self._port: Any = None

    def open(self) -> None:
        """Opens the port, which may take a while to reappear after a USB device's reset."""
        seconds = OPENING_S if self._port is not None else 0.0
        self.close()
        try:
            self._port = _eventually(self._open, seconds)
            self._port.reset_input_buffer()
        except (OSError, ValueError) as error:
            raise MoteError(
                f"cannot be opened ({_port_reason(error)})",
                where=self.name,
                remedy="check the name, the plug, your rights to it and the speed in baud",
            ) from None

    def _open(self) -> Any:
        return self._serial.Serial(self.name, self.baud, timeout=0, write_timeout=OPENING_S)

    def close(self) -> None:
        if self._port is not None:
            with suppress(OSError):
                self._port.close()

    def send(self, data: bytes) -> None:
        port = self._opened()
        try:
            port.write(data)
        except OSError as error:
            raise ConnectionLostError(f"the port is gone ({_port_reason(error)})") from None

    def receive(self, seconds: float) -> bytes:
        port = self._opened()
        try:
            port.timeout = seconds
            first = port.read(1)
            return bytes(first + port.read(min(port.in_waiting, CHUNK)) if first else first)
        except (OSError, TypeError) as error:  # a TypeError: the port was closed meanwhile
            raise ConnectionLostError(f"the port is gone ({_port_reason(error)})") from None

    def _opened(self) -> Any:
        if self._port is None or not self._port.is_open:
            raise ConnectionLostError("the port is not open")
        return self._port


def _port_reason(error: Exception) -> str:
    """The system's error text without port and function names."""
    number = getattr(error, "errno", None)
    return os.strerror(number) if number else " ".join(str(error).split())


def _eventually(attempt: Callable[[], Opening], seconds: float) -> Opening:
    """Retries an attempt until a timeout; an unresolvable host name fails at once."""
    until = time.monotonic() + seconds
    while True:
        try:
            return attempt()
        except OSError as error:
            if time.monotonic() >= until or isinstance(error, socket.gaierror):
                raise
        time.sleep(PAUSE_S)


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
