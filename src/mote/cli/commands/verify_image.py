"""`mote verify-image`: whether an image is whole, and signed with the private key that belongs to a public one."""

from __future__ import annotations

import argparse

from mote.cli.common import add_json, green, print_json, red
from mote.deploy.keys import Verdict, read_public, verify
from mote.deploy.signature import key_id, split
from mote.files import read_file


def add(p: argparse.ArgumentParser) -> None:
    p.add_argument("image", metavar="IMAGE", help="a .mote file")
    p.add_argument("--key", metavar="PUBLIC.pem", required=True, help="the public key: Ed25519, SubjectPublicKeyInfo")
    add_json(p)


def run(arguments: argparse.Namespace) -> int:
    signed = split(read_file(arguments.image), arguments.image)
    public = read_public(read_file(arguments.key), arguments.key)
    verdict = verify(signed, public)
    wanted = key_id(public).hex()
    signer = signed.signature.key_id.hex() if signed.signature else None
    if arguments.json:
        print_json(
            {
                "image": arguments.image,
                "version": signed.version,
                "valid": verdict is Verdict.VALID,
                "verdict": verdict,
                "key_id": wanted,
                "signed_by": signer,
            }
        )
    else:
        _print_text(arguments.image, verdict, wanted, signer)
    return 0 if verdict is Verdict.VALID else 1


def _print_text(image: str, verdict: Verdict, wanted: str, signer: str | None) -> None:
    say = {
        Verdict.VALID: f"the signature of key {wanted} is valid",
        Verdict.UNSIGNED: "is not signed",
        Verdict.OTHER_KEY: f"is signed with key {signer}, not with {wanted}",
        Verdict.FORGED: f"names key {wanted}, but the signature is forged or damaged",
    }
    print(f"{image}: " + (green if verdict is Verdict.VALID else red)(say[verdict]))
