"""`mote ota`: install an image on a device, over TCP or a serial line."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from typing import NoReturn

from mote.base.errors import MoteError
from mote.deploy.delivery import BAUD, Address, ota, update_plan
from mote.deploy.delivery import address as parsed
from mote.deploy.update.session import Device, Patience, Session, UpdateOutcome, update
from mote.deploy.wire.links import Listening
from mote.ui.cli import output
from mote.ui.cli.common import add_json, add_number, bold, green, named, print_json, progress, show


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
    add_number(p, "--baud", BAUD, "speed of the serial port")
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
    add_number(
        p,
        "--wait",
        Patience.confirm_s,
        "time for the firmware to confirm the new model",
        kind=seconds,
        metavar="SECONDS",
    )
    add_number(
        p, "--timeout", Patience.answer_s, "time to wait for an answer before a retry", kind=seconds, metavar="SECONDS"
    )
    add_number(p, "--connections", Patience.connections, "connection attempts when the line breaks")
    add_json(p)


def seconds(text: str) -> float:
    value = float(text)
    if value <= 0:
        raise argparse.ArgumentTypeError("must be more than 0")
    return value


def address(text: str) -> Address:
    """A host, which may be omitted, and a port."""
    try:
        return parsed(text)
    except MoteError as error:
        raise argparse.ArgumentTypeError(error.reason) from None


def run(arguments: argparse.Namespace) -> int:
    if arguments.forever:
        serve(arguments)
    with progress(f"waiting for {arguments.serial or 'the device'}") as say:
        outcome = ota(
            arguments.image,
            **named(arguments, "connect", "listen", "serial", "baud", "sources"),
            restart=not arguments.no_restart,
            **named(arguments, "confirm", "wait", "timeout", "connections"),
            say=say,
        )
    if isinstance(outcome, UpdateOutcome):
        say_outcome(outcome, arguments)
    else:
        print_json(outcome.json()) if arguments.json else print_device(outcome, _place(arguments))
    return 0


def _place(arguments: argparse.Namespace) -> str:
    """How messages call the line."""
    if arguments.serial is not None:
        return str(arguments.serial)
    host, port = arguments.connect or arguments.listen
    return f"{host or '*'}:{port}"


def serve(arguments: argparse.Namespace) -> NoReturn:
    """One device after another, until a signal comes; what goes wrong with one is said."""
    if arguments.image is None or arguments.listen is None:
        raise MoteError("needs an image, and --listen", where="option --forever", remedy="give both, or omit it")
    plan = update_plan(arguments.image, arguments.sources, restart=not arguments.no_restart, confirm=arguments.confirm)
    patience = Patience(arguments.timeout, confirm_s=arguments.wait, connections=1)
    line = Listening(*arguments.listen)
    while True:
        line.open()
        try:
            say_outcome(update(Session(line, patience), replace(plan, follows=False), arguments.image), arguments)
        except MoteError as error:
            output.complain(f"mote: error: {error}", error, json_too=arguments.json)
        sys.stdout.flush()
        line.hang_up()


def say_outcome(outcome: UpdateOutcome, arguments: argparse.Namespace) -> None:
    if arguments.json:
        print_json({"image": arguments.image, **outcome.json()})
    else:
        print_outcome(outcome, arguments.image)


def print_device(device: Device, name: str) -> None:
    show(bold(f"device at {name}"))
    if device.active is None:
        show("  runs no model")
    else:
        trial = f", on trial (boot {device.tries})" if device.state == "trial" else ""
        show(f"  runs version {device.version} from slot {device.active}{trial}")
        show(f"  which has {device.bytes:,} bytes and the CRC-32 {device.crc:08x}")
    product = f", product {device.product}" if device.product else ""
    show(f"  accepts versions from {device.counter} on, up to {device.slot_bytes:,} bytes{product}")
    if device.state == "receiving":
        show(f"  has received {device.position:,} of {device.stream_bytes:,} bytes of an update")
    if device.rejected:
        show(f"  version {device.rejected} failed its trial")


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
    show(f"{image}: {what}{resumed}{again}, in {outcome.seconds:.1f} s")
    show(f"  {SAID[outcome.state]}")
