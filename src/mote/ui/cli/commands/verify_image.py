"""`mote verify-image`: whether an image is whole, and signed with the private key that belongs to a public one."""

from __future__ import annotations

import argparse

from mote.deploy.delivery import ImageVerdict, verify_image
from mote.deploy.keys import Verdict
from mote.ui.cli.common import add_json, green, print_json, red, show


def add(p: argparse.ArgumentParser) -> None:
    p.add_argument("image", metavar="IMAGE", help="a .mote file")
    p.add_argument("--key", metavar="PUBLIC.pem", required=True, help="the public key: Ed25519, SubjectPublicKeyInfo")
    add_json(p)


def run(arguments: argparse.Namespace) -> int:
    result = verify_image(arguments.image, arguments.key)
    print_json(result.json()) if arguments.json else _print_text(result)
    return 0 if result.valid else 1


def _print_text(result: ImageVerdict) -> None:
    wanted, signer = result.key_id, result.signed_by
    say = {
        Verdict.VALID: f"the signature of key {wanted} is valid",
        Verdict.UNSIGNED: "is not signed",
        Verdict.OTHER_KEY: f"is signed with key {signer}, not with {wanted}",
        Verdict.FORGED: f"names key {wanted}, but the signature is forged or damaged",
    }
    show(f"{result.image}: " + (green if result.valid else red)(say[result.verdict]))
    if result.learns:
        show("  it learns on the device: a signature covers its weights as they are shipped")
