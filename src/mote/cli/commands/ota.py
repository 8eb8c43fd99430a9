"""`mote ota`: install an image on a device, over TCP or a serial line."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict, replace
from typing import NoReturn

from mote.cli import output
from mote.cli.common import add_json, bold, green, print_json, progress
from mote.deploy.update.header import load_image
from mote.deploy.update.links import Connecting, ConnectionLostError, Line, Listening, Opened, Serial
from mote.deploy.update.session import Device, Patience, Session, UpdateOutcome, UpdatePlan, update
from mote.errors import MoteError

BAUD = 115_200


def add(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "image", metavar="IMAGE", nargs="?", help=".mote file to install; without one, print what the device has"
    )
    line = p.add_mutually_exclusive_group(required=True)
    line.add_argument("--connect", type=address, metavar="HOST:PORT", help="the device listens there")
    line.add_argument("--listen", type=address, metavar="[HOST:]PORT", help="wait here for the device to connect")
    line.add_argument("--serial", metavar="DEVICE", help="the device is at this serial port, such as /dev/ttyUSB0")
    p.add_argument(
        "--forever",
        action="store_true",
        help="with --listen: serve one device after another until stopped; a device reconnects after its restart",
    )
    p.add_argument("--baud", type=int, default=BAUD, metavar="N", help=f"speed of the serial port (default: {BAUD})")
    p.add_argument(
        "--from",
        dest="sources",
        action="append",
        default=[],
        metavar="OLD",
        help="an image that the device may run: only the differences are sent where it does; repeatable",
    )
    p.add_argument("--no-restart", action="store_true", help="let the device choose when to activate the new model")
    p.add_argument("--confirm", action="store_true", help="make the device confirm the new model once it runs")
    p.add_argument(
        "--wait",
        type=seconds,
        default=Patience.confirm_s,
        metavar="SECONDS",
        help=f"time for the firmware to confirm the new model (default: {Patience.confirm_s:g})",
    )
    p.add_argument(
        "--timeout",
        type=seconds,
        default=Patience.answer_s,
        metavar="SECONDS",
        help=f"time to wait for an answer before a retry (default: {Patience.answer_s:g})",
    )
    p.add_argument(
        "--connections",
        type=int,
        default=Patience.connections,
        metavar="N",
        help=f"connection attempts when the line breaks (default: {Patience.connections})",
    )
    add_json(p)


def seconds(text: str) -> float:
    value = float(text)
    if value <= 0:
        raise argparse.ArgumentTypeError("must be more than 0")
    return value


def address(text: str) -> tuple[str, int]:
    """A host, which may be omitted, and a port."""
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65_535:
        raise argparse.ArgumentTypeError(f"'{text}' is no HOST:PORT")
    return host.strip("[]"), int(port)


def run(arguments: argparse.Namespace) -> int:
    plan = _plan(arguments) if arguments.image is not None else None
    patience = Patience(arguments.timeout, confirm_s=arguments.wait, connections=arguments.connections)
    if arguments.forever:
        if plan is None or arguments.listen is None:
            raise MoteError("needs an image, and --listen", where="option --forever", remedy="give both, or omit it")
        serve(Listening(*arguments.listen), replace(plan, follows=False), replace(patience, connections=1), arguments)
    with progress(f"waiting for {arguments.serial or 'the device'}") as say, Opened(_line(arguments)) as line:
        session = Session(line, patience, say)
        if plan is None:
            device = _asked(session)
        else:
            outcome = update(session, plan, arguments.image)
    if plan is None:
        print_json(asdict(device)) if arguments.json else print_device(device, line.name)
    else:
        say_outcome(outcome, arguments)
    return 0


def serve(line: Listening, plan: UpdatePlan, patience: Patience, arguments: argparse.Namespace) -> NoReturn:
    """One device after another, until a signal comes; what goes wrong with one is said."""
    while True:
        line.open()
        try:
            say_outcome(update(Session(line, patience), plan, arguments.image), arguments)
        except MoteError as error:
            output.complain(f"mote: error: {error}", error, json_too=arguments.json)
        sys.stdout.flush()
        line.hang_up()


def say_outcome(outcome: UpdateOutcome, arguments: argparse.Namespace) -> None:
    if arguments.json:
        print_json({"image": arguments.image, **asdict(outcome)})
    else:
        print_outcome(outcome, arguments.image)


def _plan(arguments: argparse.Namespace) -> UpdatePlan:
    header, image = load_image(arguments.image)
    sources = [load_image(path) for path in arguments.sources]
    return UpdatePlan(image, header, sources, restarts=not arguments.no_restart, confirms=arguments.confirm)


def _line(arguments: argparse.Namespace) -> Line:
    if arguments.serial is not None:
        return Serial(arguments.serial, arguments.baud)
    if arguments.connect is not None:
        return Connecting(*arguments.connect)
    return Listening(*arguments.listen)


def _asked(session: Session) -> Device:
    try:
        return session.hello()
    except ConnectionLostError as lost:
        remedy = "check the line, and that the firmware hands what it receives to mote_ota_receive"
        raise MoteError(str(lost), where=session.line.name, remedy=remedy) from None


def print_device(device: Device, name: str) -> None:
    print(bold(f"device at {name}"))
    if device.active is None:
        print("  runs no model")
    else:
        trial = f", on trial (boot {device.tries})" if device.state == "trial" else ""
        print(f"  runs version {device.version} from slot {device.active}{trial}")
        print(f"  which has {device.bytes:,} bytes and the CRC-32 {device.crc:08x}")
    product = f", product {device.product}" if device.product else ""
    print(f"  accepts versions from {device.counter} on, up to {device.slot_bytes:,} bytes{product}")
    if device.state == "receiving":
        print(f"  has received {device.position:,} of {device.stream_bytes:,} bytes of an update")
    if device.rejected:
        print(f"  version {device.rejected} failed its trial")


SAID = {
    "confirmed": green("confirmed"),
    "trial": "on trial: the firmware has not confirmed it yet",
    "installed": "installed: it runs from the next restart on",
    "restarting": "installed: the device restarts",
}


def print_outcome(outcome: UpdateOutcome, image: str) -> None:
    what = {
        "nothing": "runs it already",
        "image": f"{outcome.stream_bytes:,} bytes",
        "delta": f"a delta of {outcome.stream_bytes:,} bytes",
    }[outcome.sent]
    resumed = f", resumed at {outcome.resumed_at:,}" if outcome.resumed_at else ""
    again = f", {outcome.sent_again} frames sent again" if outcome.sent_again else ""
    print(f"{image}: {what}{resumed}{again}, in {outcome.seconds:.1f} s")
    print(f"  {SAID[outcome.state]}")
