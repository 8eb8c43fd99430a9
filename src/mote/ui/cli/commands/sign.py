"""`mote sign`: sign an image with a private key, for devices that accept updates from its owner only."""

from __future__ import annotations

import argparse
from typing import Any

from mote.deploy.delivery import PASSPHRASE, sign
from mote.ui.cli.common import add_json, named, print_json, show


def add(p: argparse.ArgumentParser) -> None:
    p.epilog = f"The passphrase of an encrypted key is asked for, or taken from the environment variable {PASSPHRASE}."
    p.add_argument("image", metavar="IMAGE", nargs="?", help="a .mote file; a signature that it has is replaced")
    key = p.add_mutually_exclusive_group(required=True)
    key.add_argument("--key", metavar="PRIVATE.pem", help="the private key: Ed25519, PKCS #8")
    key.add_argument(
        "--new-key",
        metavar="PRIVATE.pem",
        help=f"make a key, encrypted where {PASSPHRASE} is set; the public one goes beside it, to PRIVATE.pub.pem",
    )
    p.add_argument("--output", "-o", metavar="FILE", help="where the signed image goes (default: in place)")
    p.add_argument("--c-array", metavar="FILE.h", help="write the public key as a C array, for the firmware")
    add_json(p)


def run(arguments: argparse.Namespace) -> int:
    signing = sign(arguments.image, **named(arguments, "key", "new_key", "output", "c_array"))
    print_json(signing.json()) if arguments.json else _print_text(signing.json())
    return 0


def _print_text(said: dict[str, Any]) -> None:
    if "private_key" in said:
        show(f"private key in {said['private_key']}: keep it off the devices, and a copy of it safe")
        show(f"public key in {said['public_key']}, id {said['key_id']}")
    if "c_array" in said:
        show(f"public key as a C array in {said['c_array']}, id {said['key_id']}")
    if "image" in said:
        again = ", in place of the signature that it had" if said["replaced"] else ""
        show(f"{said['image']}: version {said['version']}, {said['bytes']:,} bytes")
        show(f"  signed with key {said['key_id']}{again}")
