"""`mote sign`: sign an image with a private key, for devices that accept updates from its owner only."""

from __future__ import annotations

import argparse
import os
import sys
from getpass import getpass
from pathlib import Path
from typing import TYPE_CHECKING

from mote.cli.common import add_json, print_json
from mote.deploy import keys
from mote.deploy.signature import key_id, split
from mote.emit.image import format
from mote.errors import MoteError
from mote.files import check_new, read_file, write_file, write_secret

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PASSPHRASE = "MOTE_KEY_PASSPHRASE"
"""The environment variable with the passphrase of a private key."""


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
    if arguments.image is None and arguments.key and not arguments.c_array:
        raise MoteError("there is nothing to sign", remedy="name an image, or --c-array to write the public key")
    if arguments.image is None and arguments.output:
        raise MoteError("--output is for a signed image, and none is named", remedy="name the image to sign")
    unsigned = split(read_file(arguments.image), arguments.image) if arguments.image else None
    said: dict[str, object] = {}
    if arguments.image is None and arguments.key:
        public = _public(arguments.key)
    else:
        key = _new(arguments.new_key, said) if arguments.new_key else _private(arguments.key)
        public = keys.public_of(key)
    said["key_id"] = key_id(public).hex()
    if arguments.c_array:
        write_file(arguments.c_array, keys.c_array(public).encode(), keys.C_ARRAY.encode())
        said["c_array"] = arguments.c_array
    if unsigned:
        output = arguments.output or arguments.image
        signed = keys.sign(unsigned, key)
        write_file(output, signed.data, format.BEGINS)
        replaced = unsigned.signature is not None
        said |= {"image": output, "version": signed.version, "bytes": len(signed.data), "replaced": replaced}
    print_json(said) if arguments.json else _print_text(said)
    return 0


def _new(path: str, said: dict[str, object]) -> Ed25519PrivateKey:
    """A new key, in two files."""
    private, public, key = keys.new_key(os.environ.get(PASSPHRASE, ""))
    beside = str(Path(path).with_name(f"{Path(path).stem}.pub.pem"))
    check_new(beside)
    write_secret(path, private)
    write_file(beside, public, keys.PUBLIC)
    said |= {"private_key": path, "public_key": beside}
    return key


def _private(path: str) -> Ed25519PrivateKey:
    return keys.read_private(read_file(path), path, passphrase_of(path))


def _public(path: str) -> bytes:
    """The public key of a file with either."""
    data = read_file(path)
    return keys.read_public(data, path) if keys.PUBLIC in data else keys.public_of(_private(path))


def passphrase_of(path: str) -> keys.Passphrase:
    """From the environment, else from whoever sits at the terminal."""

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


def _print_text(said: dict[str, object]) -> None:
    if "private_key" in said:
        print(f"private key in {said['private_key']}: keep it off the devices, and a copy of it safe")
        print(f"public key in {said['public_key']}, id {said['key_id']}")
    if "c_array" in said:
        print(f"public key as a C array in {said['c_array']}, id {said['key_id']}")
    if "image" in said:
        again = ", in place of the signature that it had" if said["replaced"] else ""
        print(f"{said['image']}: version {said['version']}, {said['bytes']:,} bytes")
        print(f"  signed with key {said['key_id']}{again}")
