"""The MAC of what was learned: HMAC-SHA-512 of RFC 4231, and Python's."""

from __future__ import annotations

import hmac
import random
import struct
import subprocess
from pathlib import Path

from mote.deploy.update.sources import mac_files, update_files
from tests.deploy.update.update_bench import HERE, UPDATE, built

RFC_4231 = [
    (b"\x0b" * 20, b"Hi There", "87aa7cdea5ef619d4ff0b4241a1d6cb0"),
    (b"Jefe", b"what do ya want for nothing?", "164b7a7bfcf819e2e395fbe73b56e0a3"),
    (b"\xaa" * 20, b"\xdd" * 50, "fa73b0089d56a284efb0f0756c890be9"),
    (bytes(range(1, 26)), b"\xcd" * 50, "b0ba465637458c6990e5a8c5f61d4af7"),
    (b"\x0c" * 20, b"Test With Truncation", "415fad6271580a531d4179bc891d87a6"),
    (b"\xaa" * 131, b"Test Using Larger Than Block-Size Key - Hash Key First", "80b24263c7c1a3ebb71493c1dd7be8b4"),
    (
        b"\xaa" * 131,
        b"This is a test using a larger than block-size key and a larger than block-size data."
        b" The key needs to be hashed before being used by the HMAC algorithm.",
        "e37b6a775dc87dbaa4dfa9f96e5e3ffd",
    ),
]


def test_macs_are_those_of_the_standard(tmp_path: Path) -> None:
    rng = random.Random(4)
    cases = [(key, message) for key, message, _ in RFC_4231]
    cases += [(rng.randbytes(n % 300), rng.randbytes(37 * n % 700)) for n in range(0, 600, 13)]
    given = b"".join(struct.pack("<II", len(key), len(message)) + key + message for key, message in cases)
    program = built(tmp_path, [HERE / "hmac_cases.c", UPDATE / "mote_hmac.c", UPDATE / "mote_sha512.c"])
    said = subprocess.run([program], input=given, capture_output=True, check=False)
    assert said.returncode == 0, said.stderr.decode()
    lines = said.stdout.decode().split()
    assert lines[: len(RFC_4231)] == [wanted for _, _, wanted in RFC_4231]
    assert lines == [hmac.digest(key, message, "sha512")[:16].hex() for key, message in cases]


def test_firmware_gets_its_files() -> None:
    assert {"mote_hmac.c", "mote_hmac.h", "mote_sha512.c", "mote_sha512.h", "mote_mac.h"} == mac_files().keys()
    assert mac_files().items() <= update_files().items()
