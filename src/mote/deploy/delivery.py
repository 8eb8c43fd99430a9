"""`mote.delta`, `mote.sign`, `mote.verify_image`, `mote.ota` and `mote.flash`: deliver images and firmware to
devices."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from getpass import getpass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mote.base.errors import MoteError, explaining
from mote.base.files import check_new, read_file, write_file, write_secret
from mote.base.notebook import card
from mote.base.progress import Say, silent
from mote.base.results import Result
from mote.compiler.emit.image import format
from mote.compiler.emit.image.reader import read_header
from mote.deploy import keys
from mote.deploy.firmware.flash import FlashCommand, flash_command, flash_job
from mote.deploy.firmware.flash import flash as run_command
from mote.deploy.keys import Verdict
from mote.deploy.signature import key_id, split
from mote.deploy.update import delta as deltas
from mote.deploy.update.header import load_image
from mote.deploy.update.session import Device, Patience, Session, UpdateOutcome, UpdatePlan, update
from mote.deploy.wire.links import Connecting, ConnectionLostError, Line, Listening, Opened, Serial

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PASSPHRASE = "MOTE_KEY_PASSPHRASE"
"""Environment variable with the passphrase of a private key."""
BAUD = 115_200
"""Default baud rate of a serial port."""
Address = tuple[str, int]
"""(host or "", port)."""


@dataclass(frozen=True, repr=False)
class Delta(Result):
    """A delta update from one image to another."""

    LINE = "from {old!r} to {new!r}: {data!n:,} bytes, {share:.0%} of the image"
    TITLE = "{old} → {new}"
    FACTS = "delta=data!n:size, image=image_bytes:size"
    JSON = "old, new, bytes=data!n, image_bytes"

    old: str
    """Image that devices run."""
    new: str
    """Image to update to."""
    data: bytes = field(repr=False)
    """The delta, which `mote_update` applies on the device."""
    image_bytes: int
    """Bytes of the new image."""

    def write(self, path: str | Path) -> None:
        """Writes the delta to a file atomically; replaces an existing delta."""
        write_file(str(path), self.data, deltas.MAGIC)

    @property
    def share(self) -> float:
        """Bytes of the delta by those of the image."""
        return len(self.data) / self.image_bytes


@explaining()
def delta(old: str | Path, new: str | Path) -> Delta:
    """Make a delta update from `old`, the image that devices run, to `new`, which is signed if devices require it."""
    before, after = load_image(str(old))[1], load_image(str(new))[1]
    made = deltas.encode(before, after, old_name=str(old), new_name=str(new))
    return Delta(str(old), str(new), made, len(after))


@dataclass(frozen=True)
class Signing:
    """Result of `mote.sign`: the written files."""

    key_id: str
    """Hexadecimal id of the public key."""
    private_key: str | None = None
    """File of the new private key; None if no key was made."""
    public_key: str | None = None
    """File of the new public key; None if no key was made."""
    c_array: str | None = None
    """C header with the public key; None if not requested."""
    image: str | None = None
    """File of the signed image; None if none was signed."""
    version: int | None = None
    """The version of the signed image."""
    bytes: int | None = None
    """Bytes of the signed image."""
    replaced: bool | None = None
    """Whether an earlier signature was replaced."""

    def __repr__(self) -> str:
        what = f"{self.image!r}, version {self.version}" if self.image else "no image"
        return f"<Signing of {what} with key {self.key_id}>"

    def _repr_html_(self) -> str:
        return card(self.image or "key", {name: value for name, value in self.json().items() if name != "image"})

    def json(self) -> dict[str, Any]:
        """Files, ids and versions as JSON types."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@explaining()
def sign(
    image: str | Path | None = None,
    *,
    key: str | Path | None = None,
    new_key: str | Path | None = None,
    output: str | Path | None = None,
    c_array: str | Path | None = None,
    passphrase: Callable[[], str] | str | None = None,
) -> Signing:
    """Sign an image with an Ed25519 private key, or make a key.

    `key` is the PEM file of the private key; `new_key` makes one instead, with the public key next to it. The signed
    image is written to `output`, or in place. `c_array` is a C header to write with the public key, for the firmware.
    `passphrase` is that of the private key; without it, the environment variable MOTE_KEY_PASSPHRASE or a prompt is
    used."""
    if (key is None) == (new_key is None):
        raise MoteError("give either a key or the name of a new one", where="option key", remedy="key= or new_key=")
    if image is None and key is not None and c_array is None:
        raise MoteError("there is nothing to sign", remedy="name an image, or --c-array to write the public key")
    if image is None and output is not None:
        raise MoteError("--output is for a signed image, and none is named", remedy="name the image to sign")
    unsigned = split(read_file(image), str(image)) if image is not None else None
    said: dict[str, Any] = {}
    private: Ed25519PrivateKey | None = None
    if new_key is not None:
        private = _new(str(new_key), passphrase, said)
    elif unsigned is not None:
        private = _private(str(key), passphrase)
    public = keys.public_of(private) if private is not None else _public(str(key), passphrase)
    if c_array is not None:
        write_file(str(c_array), keys.c_array(public).encode(), keys.C_ARRAY.encode())
        said["c_array"] = str(c_array)
    if unsigned is not None and private is not None:
        signed = keys.sign(unsigned, private)
        file = str(output if output is not None else image)
        write_file(file, signed.data, format.BEGINS)
        replaced = unsigned.signature is not None
        said |= {"image": file, "version": signed.version, "bytes": len(signed.data), "replaced": replaced}
    return Signing(key_id(public).hex(), **said)


def _new(path: str, passphrase: Callable[[], str] | str | None, said: dict[str, Any]) -> Ed25519PrivateKey:
    """Makes a key pair, in two files."""
    secret = passphrase() if callable(passphrase) else passphrase
    private, public, key = keys.new_key(os.environ.get(PASSPHRASE, "") if secret is None else secret)
    beside = str(Path(path).with_name(f"{Path(path).stem}.pub.pem"))
    check_new(beside)
    write_secret(path, private)
    write_file(beside, public, keys.PUBLIC)
    said |= {"private_key": path, "public_key": beside}
    return key


def _private(path: str, passphrase: Callable[[], str] | str | None) -> Ed25519PrivateKey:
    return keys.read_private(read_file(path), path, _asked(path) if passphrase is None else _known(passphrase))


def _public(path: str, passphrase: Callable[[], str] | str | None) -> bytes:
    """Public key from a file with a public or private key."""
    data = read_file(path)
    return keys.read_public(data, path) if keys.PUBLIC in data else keys.public_of(_private(path, passphrase))


def _known(passphrase: Callable[[], str] | str) -> keys.Passphrase:
    return passphrase if callable(passphrase) else lambda: passphrase


def _asked(path: str) -> keys.Passphrase:
    """Passphrase from the environment, else by a prompt in the terminal."""

    def ask() -> str:
        known = os.environ.get(PASSPHRASE)
        if known is not None:
            return known
        if not sys.stdin.isatty():
            raise MoteError(
                "is encrypted, and there is nobody to ask for its passphrase",
                where=path,
                remedy=f"set the environment variable {PASSPHRASE}, or run it in a terminal",
            )
        return getpass(f"passphrase of {path}: ")

    return ask


@dataclass(frozen=True, repr=False)
class ImageVerdict(Result):
    """Result of verifying an image's signature with a public key."""

    LINE = "on {image!r}: {verdict}, key {key_id}"
    TITLE = "{image}"
    FACTS = "signature=verdict:s, key=key_id, version"
    JSON = "image, version, valid, verdict:s, key_id, signed_by, learns"

    image: str
    """Image file."""
    version: int
    """The version of the image."""
    verdict: Verdict
    """Verdict: valid, unsigned, other key or forged."""
    key_id: str
    """Hexadecimal id of the public key."""
    signed_by: str | None
    """Id of the key named by the signature; None without one."""
    learns: bool = False
    """Whether the model learns on the device; the signature covers its weights as shipped."""

    @property
    def valid(self) -> bool:
        """Whether the signature is genuine."""
        return self.verdict is Verdict.VALID

    def __bool__(self) -> bool:
        return self.valid


@explaining()
def verify_image(image: str | Path, key: str | Path) -> ImageVerdict:
    """Check that an image is complete and signed with the private key of the public `key` (a PEM file). The result is
    truthy if the signature is valid."""
    signed = split(read_file(image), str(image))
    public = keys.read_public(read_file(key), str(key))
    signer = signed.signature.key_id.hex() if signed.signature else None
    learns = bool(read_header(signed.image)["features"] & format.Feature.TRAINS)
    return ImageVerdict(str(image), signed.version, keys.verify(signed, public), key_id(public).hex(), signer, learns)


@explaining()
def ota(
    image: str | Path | None = None,
    *,
    connect: Address | str | None = None,
    listen: Address | str | None = None,
    serial: str | None = None,
    baud: int = BAUD,
    sources: Sequence[str | Path] = (),
    restart: bool = True,
    confirm: bool = False,
    wait: float = Patience.confirm_s,
    timeout: float = Patience.answer_s,
    connections: int = Patience.connections,
    say: Say = silent,
) -> UpdateOutcome | Device:
    """Update a device over the air to an image; without one, query the device's state (`Device`).

    Exactly one of `connect` ("host:port" where the device listens), `listen` (address that the device connects to) and
    `serial` (a serial port, with its `baud` rate) is given. `sources` are images that it may run already, for delta
    updates. `restart=False` lets the device choose when to activate the model; `confirm` confirms it from here; `wait`
    is the time for that in seconds, `timeout` the time for a response, `connections` the number of times that a lost
    connection is reopened."""
    link = device_line(connect, listen, serial, baud)
    patience = Patience(timeout, confirm_s=wait, connections=connections)
    plan = None if image is None else update_plan(image, sources, restart=restart, confirm=confirm)
    with Opened(link) as opened:
        session = Session(opened, patience, say)
        return _hello(session) if plan is None else update(session, plan, str(image))


def update_plan(image: str | Path, sources: Sequence[str | Path], *, restart: bool, confirm: bool) -> UpdatePlan:
    """The image to install with its header, and images that deltas may start from."""
    header, data = load_image(str(image))
    return UpdatePlan(data, header, [load_image(str(path)) for path in sources], restarts=restart, confirms=confirm)


def device_line(connect: Address | str | None, listen: Address | str | None, serial: str | None, baud: int) -> Line:
    """Transport to a device, from exactly one of the given options."""
    if sum(way is not None for way in (connect, listen, serial)) != 1:
        raise MoteError("give one of connect, listen and serial", where="option connect", remedy="`mote ota --help`")
    if serial is not None:
        return Serial(serial, baud)
    if connect is not None:
        return Connecting(*address(connect))
    assert listen is not None
    return Listening(*address(listen))


def address(given: Address | str) -> Address:
    """Parses HOST:PORT; the host may be omitted."""
    if not isinstance(given, str):
        return given
    host, _, port = given.rpartition(":")
    if not port.isdecimal() or int(port) > 65_535:
        raise MoteError(f"'{given}' is no HOST:PORT", remedy="write it like 192.168.1.20:7000")
    return host.strip("[]"), int(port)


def _hello(session: Session) -> Device:
    try:
        return session.hello()
    except ConnectionLostError as lost:
        remedy = "check the line, and that the firmware hands what it receives to mote_ota_receive"
        raise MoteError(str(lost), where=session.line.name, remedy=remedy) from None


@dataclass(frozen=True)
class FlashResult:
    """Command that writes a firmware to a part."""

    firmware: str
    """Firmware file or folder."""
    target: str | None
    """The part; None if unknown."""
    tool: str
    """Name of the flash tool."""
    command: FlashCommand
    """The tool's command."""

    def __repr__(self) -> str:
        part = f" to {self.target}" if self.target else ""
        return f"<FlashResult of {self.firmware!r}{part} with {self.tool}: {' '.join(self.command.arguments)}>"

    def _repr_html_(self) -> str:
        return card(
            self.firmware, {"part": self.target, "tool": self.tool, "command": " ".join(self.command.arguments)}
        )

    def run(self) -> None:
        """Runs the command; its output goes to the user."""
        run_command(self.command)

    def json(self) -> dict[str, Any]:
        """The command as JSON types."""
        folder = None if self.command.folder is None else str(self.command.folder)
        arguments = list(self.command.arguments)
        return {"firmware": self.firmware, "target": self.target, "tool": self.tool, "command": arguments} | (
            {"folder": folder} if folder else {}
        )


@explaining()
def flash(
    firmware: str | Path, target: str = "", *, tool: str = "", port: str = "", probe: str = "", dry_run: bool = False
) -> FlashResult:
    """Write firmware to a part with an installed flash tool.

    `firmware` is an .elf, .hex, .bin or .uf2 file, or a folder of `mote compile --output`. `target` is the part, by
    default the one that the folder was built for. `tool` is a name in `mote doctor`, `port` a serial port, a probe's
    serial number or a drive's folder, `probe` OpenOCD's name of the probe. With `dry_run` the command is only returned;
    its `run()` executes it later."""
    job = flash_job(str(firmware), target, port, probe)
    chosen, command = flash_command(job, tool)
    made = FlashResult(str(firmware), job.part.target if job.part else None, chosen.name, command)
    if not dry_run:
        made.run()
    return made
