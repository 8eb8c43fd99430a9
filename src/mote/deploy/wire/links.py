"""Transports to a device: TCP, as client or server, or a serial port."""

from __future__ import annotations

import os
import select
import socket
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Protocol, TypeVar

from mote.errors import MoteError

if sys.platform != "win32":
    import termios

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
    """Most unacknowledged data frames: a serial port buffers few."""

    def open(self) -> None:
        """Opens, or reopens, the transport."""

    def close(self) -> None: ...

    def send(self, data: bytes) -> None: ...

    def receive(self, seconds: float) -> bytes:
        """Received bytes; empty on timeout."""


class Opened:
    """A transport that is open inside a `with`."""

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
        """The actual port, where port 0 was requested."""
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
        self.name, self.baud = path, baud
        self._file: int | None = None
        if sys.platform == "win32":
            raise MoteError("serial ports need Linux or macOS", where=path, remedy="use --connect or --listen")
        if getattr(termios, f"B{baud}", None) is None:
            raise MoteError(f"{baud} baud is no speed that this system knows", where=path, remedy="give another --baud")

    def open(self) -> None:
        """Opens the port. A USB port may take a while to reappear after the device's reset."""
        seconds = OPENING_S if self._file is not None else 0.0
        self.close()
        try:
            self._file = _eventually(lambda: os.open(self.name, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK), seconds)
            self._make_raw(self._file)
        except (OSError, termios.error) as error:
            reason = _reason(error) if isinstance(error, OSError) else "it is no terminal"
            raise MoteError(
                f"cannot be opened ({reason})", where=self.name, remedy="check the name, the plug and your rights to it"
            ) from None

    def _make_raw(self, file: int) -> None:
        speed = getattr(termios, f"B{self.baud}")
        modes = termios.tcgetattr(file)
        modes[0], modes[1], modes[3] = 0, 0, 0  # nothing is translated, echoed or waited for
        modes[2] = termios.CS8 | termios.CREAD | termios.CLOCAL
        modes[4] = modes[5] = speed
        modes[6][termios.VMIN], modes[6][termios.VTIME] = 0, 0
        termios.tcsetattr(file, termios.TCSANOW, modes)
        termios.tcflush(file, termios.TCIOFLUSH)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def send(self, data: bytes) -> None:
        file = self._opened()
        try:
            while data:
                if not select.select([], [file], [], OPENING_S)[1]:
                    raise ConnectionLostError("the port takes no more bytes")
                data = data[os.write(file, data) :]
        except OSError as error:
            raise ConnectionLostError(f"the port is gone ({_reason(error)})") from None

    def receive(self, seconds: float) -> bytes:
        file = self._opened()
        try:
            if not select.select([file], [], [], seconds)[0]:
                return b""
            data = os.read(file, CHUNK)
        except OSError as error:
            raise ConnectionLostError(f"the port is gone ({_reason(error)})") from None
        if not data:
            raise ConnectionLostError("the port is gone")
        return data

    def _opened(self) -> int:
        if self._file is None:
            raise ConnectionLostError("the port is not open")
        return self._file


def _eventually(attempt: Callable[[], Opening], seconds: float) -> Opening:
    """Retries an attempt until a timeout. An unresolvable host name fails at once."""
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
