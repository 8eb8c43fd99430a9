"""The verifier of signatures in C: against RFC 8032, OpenSSL (by way of `cryptography`) and a reference in Python."""

from __future__ import annotations

import os
import random
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from mote.base.files import temporary_folder
from mote.hardware import targets, toolchain
from mote.hardware.toolchain import Execution, Mode
from tests.deploy import ed25519_reference as reference
from tests.deploy.ed25519_reference import L, P
from tests.helpers.support import emulated, examples, needs, soaked

ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
invalid = pytest.importorskip("cryptography.exceptions").InvalidSignature

HERE = Path(__file__).parent
UPDATE = HERE.parents[1] / "src" / "mote" / "deploy" / "update"
SOURCES = [UPDATE / "mote_sha512.c", UPDATE / "mote_ed25519.c"]
GLUE = HERE.parent / "compiler" / "kernels" / "program.c"
FLAGS = ["-std=c99", "-Wconversion", "-pedantic", "-Werror"]
SAID = {0x3CA5965A: "VALID", 1: "WRONG", 2: "KEY", 3: "UNREAD", 4: "UNABLE"}
CODE_BYTES = 4200
"""Of SHA-512 and Ed25519 together on a Cortex-M4 at -Os, constants included."""
STACK_BYTES = 1400


@dataclass(frozen=True)
class Case:
    """A signature to verify, and what is to be said of it."""

    signature: bytes
    key: bytes
    message: bytes
    want: str

    @property
    def packed(self) -> bytes:
        return self.signature + self.key + len(self.message).to_bytes(4, "little") + self.message


def run(cases: list[Case], core: str = "host", compiler: str | None = None, *, thorough: bool = True) -> Execution:
    """Verify all of them in one program: on the host under the sanitizers, unless not `thorough`."""
    target, given = targets.load(core), b"".join(case.packed for case in cases)
    host = target.arch == "host"
    with temporary_folder() as folder:
        elf = toolchain.build(
            UPDATE,
            [*SOURCES, HERE / "verify_cases.c"],
            GLUE,
            target,
            toolchain.find_compiler(target, compiler),
            mode=Mode.DUMP if thorough else Mode.MEASURE,
            optimize="size",
            workdir=folder,
            sanitize=host and thorough,
            extra_flags=[*FLAGS, f"-DGIVEN={len(given)}", *(["-DTHOROUGH"] if thorough else [])],
        )
        emulator, mode = toolchain.find_emulator(target), Mode.DUMP if thorough else Mode.MEASURE
        return toolchain.execute(elf, target, emulator, [[given]], workdir=folder, mode=mode, timeout_s=120.0)


def check(cases: list[Case], core: str = "host", compiler: str | None = None) -> None:
    raw = run(cases, core, compiler).dumps[0][0]
    said = [SAID[int.from_bytes(raw[i : i + 4], "little")] for i in range(0, len(raw), 4)]
    wrong = [(found, case) for found, case in zip(said, cases, strict=True) if found != case.want]
    assert not wrong, wrong[:3]


RFC = [
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
    (
        "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704",
    ),
]
"""Section 7.1 of RFC 8032: private key, public key, message, signature (the one with 1023 bytes is left out)."""


def rfc() -> list[Case]:
    found = []
    for secret, key, message, signature in RFC:
        raw = bytes.fromhex(secret)
        assert ed25519.Ed25519PrivateKey.from_private_bytes(raw).sign(bytes.fromhex(message)).hex() == signature
        found.append(Case(bytes.fromhex(signature), bytes.fromhex(key), bytes.fromhex(message), "VALID"))
    return found


def flipped(data: bytes, bit: int) -> bytes:
    return data[: bit // 8] + bytes([data[bit // 8] ^ 1 << bit % 8]) + data[bit // 8 + 1 :]


def openssl(signature: bytes, key: bytes, message: bytes) -> bool:
    try:
        ed25519.Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except invalid:
        return False
    return True


def forgeries(signature: bytes, key: bytes, message: bytes, rng: random.Random) -> list[Case]:
    """What is near to a genuine signature. A key with a bit flipped may be none at all."""
    s = int.from_bytes(signature[32:], "little")
    bent = flipped(key, rng.randrange(256))
    return [
        Case(flipped(signature, rng.randrange(256)), key, message, "WRONG"),
        Case(flipped(signature, rng.randrange(256, 512)), key, message, "WRONG"),
        Case(signature[:32] + (s + L).to_bytes(32, "little"), key, message, "WRONG"),
        Case(signature[:32] + (L - s).to_bytes(32, "little"), key, message, "WRONG"),
        Case(signature, bent, message, "KEY" if reference.decoded(bent) is None else "WRONG"),
        Case(signature, key, flipped(message, rng.randrange(8 * len(message))) if message else b"\0", "WRONG"),
        Case(signature, key, message + b"\0", "WRONG"),
        Case(signature, key, message[:-1] if message else b"x", "WRONG"),
    ]


def random_cases(count: int, seed: int) -> list[Case]:
    """Genuine signatures by OpenSSL, each with its forgeries; messages end around the ends of blocks."""
    rng, found = random.Random(seed), []
    for _ in range(count):
        private = ed25519.Ed25519PrivateKey.from_private_bytes(rng.randbytes(32))
        key = private.public_key().public_bytes_raw()
        message = rng.randbytes(rng.choice([0, 1, 47, 48, 63, 64, 65, 111, 112, 127, 128, 129, 192, 255, 300, 1000]))
        signature = private.sign(message)
        found += [Case(signature, key, message, "VALID"), *forgeries(signature, key, message, rng)]
    return found


@cache
def strange_cases() -> list[Case]:
    """Keys and signatures that nobody makes by chance: small orders, encodings that are not the only one, R or the key
    with a part of small order, S around the order. What is to be said of them is the reference's word."""
    rng, message = random.Random(7), b"strange"
    small = [reference.encoded(p) for p in reference.torsion()]
    # Encodings of the same y as another one of y < 19, those with x = 0 and the sign of a negative x among them.
    twice = [(y + P | sign << 255).to_bytes(32, "little") for y in range(19) for sign in (0, 1)]
    signs = [flipped(key, 255) for key in small]
    triples = []
    for key in [*small, *twice, *signs, bytes(32), b"\xff" * 32, (P - 1).to_bytes(32, "little")]:
        for r in (reference.encoded((0, 1)), (P + 1).to_bytes(32, "little"), key):
            triples.append((r + bytes(32), key))
    secret = rng.randrange(L)
    honest = reference.times(secret, reference.BASE)
    for part in reference.torsion():
        key = reference.encoded(reference.add(honest, part))
        for nonce in (reference.torsion()[0], part):
            triples.append((reference.signed(secret, nonce, rng.randrange(L), key, message), key))
    key = reference.encoded(honest)
    good = reference.signed(secret, (0, 1), rng.randrange(L), key, message)
    triples += [
        (good[:32] + s.to_bytes(32, "little"), key) for s in (0, 1, L - 1, L, L + 1, 2**252, 2**255, 2**256 - 1)
    ]
    # r = 0: R is the point zero, in its only encoding and in others.
    nothing = reference.signed(secret, (0, 1), 0, key, message)
    triples += [(nothing, key), (flipped(nothing, 255), key), ((P + 1).to_bytes(32, "little") + nothing[32:], key)]
    return [Case(s, k, message, reference.verdict(s, k, message)) for s, k in triples]


def test_strange_cases_are_of_all_kinds() -> None:
    """Where OpenSSL takes a signature that the verifier does not, the key is one that it refuses."""
    cases = strange_cases()
    assert {case.want for case in cases} == {"VALID", "WRONG", "KEY"}
    for case in cases:
        if openssl(case.signature, case.key, case.message) != (case.want == "VALID"):
            assert case.want == "KEY", case
    assert any(openssl(case.signature, case.key, case.message) for case in cases if case.want == "KEY")


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_signatures_on_the_host(compiler: str) -> None:
    """Under the sanitizers; with clang other random ones than with gcc."""
    needs(compiler)
    check([*rfc(), *strange_cases(), *random_cases(examples(60), seed=len(compiler))], compiler=compiler)


def test_thousands_of_signatures(tmp_path: Path) -> None:
    """Built as a library for speed, so that there can be many."""
    cases = random_cases(examples(900), seed=int.from_bytes(os.urandom(4)) if os.environ.get("MOTE_FUZZ") else 0)
    given = tmp_path / "cases"
    given.write_bytes(b"".join(case.packed for case in cases))
    main = tmp_path / "main.c"
    main.write_text(MAIN)
    program = tmp_path / "program"
    subprocess.run(["cc", "-O2", f"-I{UPDATE}", "-o", program, main, *SOURCES], check=True)
    said = subprocess.run([program, given], capture_output=True, check=True).stdout.split()
    assert [SAID[int(word)] for word in said] == [case.want for case in cases]


MAIN = r"""
#include <stdio.h>
#include "mote_ed25519.h"
int main(int count, char **arguments) {
    static uint8_t head[100], message[1 << 16];
    FILE *file = fopen(arguments[count - 1], "rb");
    while (fread(head, 1, 100, file) == 100) {
        const uint32_t bytes = head[96] | (uint32_t)head[97] << 8;
        const mote_message_t all = {message, NULL, NULL, bytes};
        if (fread(message, 1, bytes, file) != bytes) return 1;
        printf("%d\n", (int)mote_ed25519_verify(NULL, head, head + 64, &all));
    }
    return 0;
}
"""


FIELD = r"""
#include <stdio.h>
#include "mote_ed25519.c"
int main(void) {
    number_t in[2], out[6];
    while (fread(in, sizeof in, 1, stdin) == 1) {
        field_multiply(&out[0], &in[0], &in[1]);
        field_add(&out[1], &in[0], &in[1]);
        field_subtract(&out[2], &in[0], &in[1]);
        out[3] = in[0];
        field_settle(&out[3]);
        number_modulo_order(&out[4], (const uint8_t *)in);
        out[5] = in[0];
        field_square(&out[5], 1);
        fwrite(out, sizeof out, 1, stdout);
    }
    return 0;
}
"""
EDGES = [
    0,
    1,
    2,
    18,
    19,
    37,
    38,
    39,
    P - 1,
    P,
    P + 1,
    2 * P,
    2 * P + 37,
    L - 1,
    L,
    2**255 - 1,
    2**255,
    2**256 - 38,
    2**256 - 1,
]
EDGES += [2**256 - 2**k for k in (32, 128, 224)] + [2**k - 1 for k in (32, 64, 128, 224)]
"""Numbers where carries go all the way, which random signatures never meet."""


@pytest.mark.parametrize("core", soaked(["", "-D__ARM_ARCH_6M__"], [""]))
def test_carries_of_numbers(core: str, tmp_path: Path) -> None:
    """Each operation, against Python's integers; with products of 64 bits, and as for a core that has none."""
    needs("cc")
    source, program = tmp_path / "field.c", tmp_path / "field"
    source.write_text(FIELD)
    flags = ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", *core.split(), f"-I{UPDATE}"]
    subprocess.run(["cc", *flags, "-o", program, source, UPDATE / "mote_sha512.c"], check=True)
    rng = random.Random(0)
    pairs = [(a, b) for a in EDGES for b in EDGES] + [(rng.getrandbits(256), rng.getrandbits(256)) for _ in range(300)]
    given = b"".join(number.to_bytes(32, "little") for pair in pairs for number in pair)
    raw = subprocess.run([program], input=given, capture_output=True, check=True).stdout
    found = [int.from_bytes(raw[i : i + 32], "little") for i in range(0, len(raw), 32)]
    for i, (a, b) in enumerate(pairs):
        product, total, difference, settled, remainder, square = found[6 * i : 6 * i + 6]
        assert (product - a * b) % P == (total - a - b) % P == (difference - a + b) % P == (square - a * a) % P == 0, (
            a,
            b,
        )
        assert settled == a % P and remainder == (a + (b << 256)) % L, (a, b)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("core", ["cortex-m0plus", "cortex-m4", "rv32imc"])
def test_signatures_on_cores(core: str) -> None:
    """A core has instructions of its own for the products."""
    check([*rfc(), *random_cases(2, seed=3), *strange_cases()[::9]], emulated(core))


def test_the_stack_is_small() -> None:
    case = random_cases(1, seed=1)[0]
    found = run([case], emulated("cortex-m4"), thorough=False)
    assert found.stack is not None and found.stack <= STACK_BYTES


def test_code_is_small(tmp_path: Path) -> None:
    needs("arm-none-eabi-gcc", "arm-none-eabi-size")
    target = targets.load("cortex-m4")
    objects = [tmp_path / f"{source.stem}.o" for source in SOURCES]
    for source, output in zip(SOURCES, objects, strict=True):
        command = ["arm-none-eabi-gcc", *target.gcc_flags, "-Os", "-std=c99", "-c", source, "-o", output]
        subprocess.run(command, check=True)
    sizes = subprocess.run(["arm-none-eabi-size", *objects], capture_output=True, text=True, check=True).stdout
    text, data, bss = (sum(int(line.split()[i]) for line in sizes.splitlines()[1:]) for i in range(3))
    assert text <= CODE_BYTES and data == bss == 0
