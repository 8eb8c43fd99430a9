"""`mote sign` and `mote verify-image`: keys and images of all kinds, and the bytes that devices read."""

from __future__ import annotations

import importlib.util
import json
import struct
import subprocess
from hashlib import sha512
from pathlib import Path
from zlib import crc32

import pytest

from mote.base.errors import MoteError
from mote.base.extras import installing
from mote.deploy.signature import split
from mote.ui.cli import main
from mote.ui.cli.commands.sign import PASSPHRASE
from tests.helpers.support import needs

pem = pytest.importorskip("cryptography.hazmat.primitives.serialization")
rsa = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.rsa")


def an_image(version: int = 3, more: int = 64) -> bytes:
    """The header of an image, as far as signing reads it, and something behind it."""
    body = struct.pack("<II", version, 0) + bytes(range(192 - 24)) + bytes(more)
    return struct.pack("<4sHHII", b"MOTE", 1, 192, 16 + len(body), crc32(body)) + body


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an image and two new keys."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(PASSPHRASE, raising=False)
    (tmp_path / "m.mote").write_bytes(an_image())
    assert main(["sign", "--new-key", "mine.pem"]) == main(["sign", "--new-key", "other.pem"]) == 0
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """The exit status, and what was printed by this command."""
    capsys.readouterr()
    status = main(arguments)
    printed = capsys.readouterr()
    return status, printed.out + printed.err


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Why a command fails, in words and without a traceback; as JSON it says the same."""
    status, text = said(capsys, *arguments)
    assert status == 1 and "Traceback" not in text
    assert json.loads(said(capsys, *arguments, "--json")[1].splitlines()[0])["error"]["reason"] in text
    return text


def test_a_signed_image_is_valid_for_its_key_only(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sign", "m.mote", "--key", "mine.pem", "-o", "signed.mote"]) == 0
    assert (here / "m.mote").read_bytes() == an_image()
    assert said(capsys, "verify-image", "signed.mote", "--key", "mine.pub.pem")[0] == 0
    status, text = said(capsys, "verify-image", "signed.mote", "--key", "other.pub.pem", "--json")
    found = json.loads(text)
    assert status == 1 and not found["valid"] and found["verdict"] == "signed with another key"
    assert found["key_id"] != found["signed_by"] and found["version"] == 3
    status, text = said(capsys, "verify-image", "m.mote", "--key", "mine.pub.pem")
    assert status == 1 and "is not signed" in text


def test_the_block_is_what_devices_read(here: Path) -> None:
    """80 bytes: SIGN, algorithm 1, the first bytes of the key's SHA-512, the signature of all before."""
    assert main(["sign", "m.mote", "--key", "mine.pem"]) == 0
    data = (here / "m.mote").read_bytes()
    public = pem.load_pem_public_key((here / "mine.pub.pem").read_bytes())
    image, block = data[:-80], data[-80:]
    assert image == an_image() and block[:8] == b"SIGN" + struct.pack("<I", 1)
    assert block[8:16] == sha512(public.public_bytes_raw()).digest()[:8]
    public.verify(block[16:], image)


def test_signing_again_replaces_the_signature(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for key in ("other", "mine"):
        found = json.loads(said(capsys, "sign", "m.mote", "--key", f"{key}.pem", "--json")[1])
    assert found["replaced"] and found["bytes"] == len(an_image()) + 80 == (here / "m.mote").stat().st_size
    assert "in place of the signature" in said(capsys, "sign", "m.mote", "--key", "mine.pem")[1]
    assert main(["verify-image", "m.mote", "--key", "mine.pub.pem"]) == 0


def test_every_changed_byte_is_noticed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By the CRC-32 or, where that was made to fit, by the signature."""
    assert main(["sign", "m.mote", "--key", "mine.pem"]) == 0
    good = (here / "m.mote").read_bytes()
    for at in range(0, len(good), 7):
        changed = bytearray(good)
        changed[at] ^= 0x10
        if 16 <= at < len(good) - 80:
            changed[12:16] = crc32(changed[16:-80]).to_bytes(4, "little")
        (here / "changed.mote").write_bytes(changed)
        assert said(capsys, "verify-image", "changed.mote", "--key", "mine.pub.pem")[0] == 1, at
    for size in (0, 3, 191, 192, len(good) - 81, len(good) - 1, len(good) + 1):
        (here / "changed.mote").write_bytes((good + b"x")[:size])
        text = refused(capsys, "verify-image", "changed.mote", "--key", "mine.pub.pem")
        assert "error: changed.mote: " in text, size


def test_damaged_images_are_not_signed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for data, why in (
        (an_image()[:-1], "is cut off: it has 256 bytes, of which 255 are there"),
        (an_image()[:-1] + b"x", "is damaged: the CRC-32 of its bytes is"),
        (an_image() + bytes(80), "has 80 bytes behind it that are no signature"),
        (b"GIF89a" + bytes(300), "is no image"),
        (an_image() + b"SIGN" + struct.pack("<I", 9) + bytes(72), "is signed with algorithm 9"),
    ):
        (here / "m.mote").write_bytes(data)
        assert why in refused(capsys, "sign", "m.mote", "--key", "mine.pem")
        assert (here / "m.mote").read_bytes() == data
    assert "cannot read the file" in refused(capsys, "sign", "absent.mote", "--key", "mine.pem")


def test_a_file_of_another_kind_is_not_overwritten(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "letter.txt").write_text("Dear reader")
    assert "another kind" in refused(capsys, "sign", "m.mote", "--key", "mine.pem", "-o", "letter.txt")
    assert (here / "letter.txt").read_text() == "Dear reader"


def test_keys_that_are_none(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    large = rsa.generate_private_key(65537, 2048)
    plain = (pem.Encoding.PEM, pem.PrivateFormat.PKCS8, pem.NoEncryption())
    (here / "rsa.pem").write_bytes(large.private_bytes(*plain))
    shown = (pem.Encoding.PEM, pem.PublicFormat.SubjectPublicKeyInfo)
    (here / "rsa.pub.pem").write_bytes(large.public_key().public_bytes(*shown))
    (here / "noise.pem").write_bytes(bytes(range(256)))
    damaged = (here / "mine.pem").read_text().replace("MC4C", "MC4D")
    (here / "damaged.pem").write_text(damaged)
    (here / "damaged.pub.pem").write_text((here / "mine.pub.pem").read_text().replace("MCow", "MCox"))
    for key, why in (
        ("rsa.pem", "is a key of kind RSA, and images are signed with Ed25519"),
        ("mine.pub.pem", "is a public key, which cannot sign"),
        ("noise.pem", "is not a private key"),
        ("damaged.pem", "is a damaged PEM file"),
        ("absent.pem", "cannot read the file"),
    ):
        assert why in refused(capsys, "sign", "m.mote", "--key", key)
    for key, why in (
        ("rsa.pub.pem", "is a key of kind RSA"),
        ("mine.pem", "is a private key"),
        ("noise.pem", "is not a public key"),
        ("damaged.pub.pem", "is a damaged PEM file"),
    ):
        assert why in refused(capsys, "verify-image", "m.mote", "--key", key)
    assert (here / "m.mote").read_bytes() == an_image()


def test_encrypted_keys(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASSPHRASE, "swordfish")
    assert main(["sign", "m.mote", "--new-key", "hidden.pem"]) == 0
    assert b"ENCRYPTED" in (here / "hidden.pem").read_bytes()
    assert main(["sign", "m.mote", "--key", "hidden.pem"]) == 0
    assert main(["verify-image", "m.mote", "--key", "hidden.pub.pem"]) == 0
    monkeypatch.setenv(PASSPHRASE, "herring")
    assert "the passphrase is not right" in refused(capsys, "sign", "m.mote", "--key", "hidden.pem")
    monkeypatch.delenv(PASSPHRASE)
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    assert "nobody to ask" in refused(capsys, "sign", "m.mote", "--key", "hidden.pem")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("mote.deploy.delivery.getpass", lambda prompt: "swordfish" if "hidden.pem" in prompt else "")
    assert main(["sign", "m.mote", "--key", "hidden.pem"]) == 0


def test_new_keys_overwrite_nothing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (here / "mine.pem").stat().st_mode & 0o777 == 0o600
    before = {path.name: path.read_bytes() for path in here.iterdir()}
    assert "is there already" in refused(capsys, "sign", "--new-key", "mine.pem")
    (here / "mine.pem").rename(here / "away.pem")
    assert "mine.pub.pem: is there already" in refused(capsys, "sign", "--new-key", "mine.pem")
    assert not (here / "mine.pem").exists()
    (here / "away.pem").rename(here / "mine.pem")
    assert before == {path.name: path.read_bytes() for path in here.iterdir()}
    assert "cannot be written" in refused(capsys, "sign", "--new-key", "absent/mine.pem")


def test_the_public_key_as_c(here: Path, tmp_path: Path) -> None:
    """Of either file, and it is C."""
    needs("cc")
    texts = []
    for key in ("mine.pem", "mine.pub.pem"):
        assert main(["sign", "--key", key, "--c-array", "key.h"]) == 0
        texts.append((here / "key.h").read_text())
    assert texts[0] == texts[1]
    raw = pem.load_pem_public_key((here / "mine.pub.pem").read_bytes()).public_bytes_raw()
    main_c = (
        '#include <stdio.h>\n#include "key.h"\nint main(void) { return fwrite(mote_public_key, 1, 32, stdout) != 32; }'
    )
    (here / "main.c").write_text(main_c)
    subprocess.run(["cc", "-std=c99", "-Wall", "-Werror", "-pedantic", "main.c", "-o", "main"], check=True)
    assert subprocess.run(["./main"], capture_output=True, check=True).stdout == raw


def test_keys_of_openssl(here: Path) -> None:
    needs("openssl")
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", "o.pem"], check=True)
    subprocess.run(["openssl", "pkey", "-in", "o.pem", "-pubout", "-out", "o.pub.pem"], check=True)
    assert main(["sign", "m.mote", "--key", "o.pem"]) == main(["verify-image", "m.mote", "--key", "o.pub.pem"]) == 0


def test_what_is_asked_for_must_make_sense(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "nothing to sign" in refused(capsys, "sign", "--key", "mine.pem")
    assert "--output is for a signed image" in refused(capsys, "sign", "--new-key", "new.pem", "-o", "x.mote")
    assert main(["sign", "m.mote"]) == main(["verify-image", "m.mote"]) == 2


def test_without_the_package_the_command_to_install_it_is_named(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr("mote.deploy.keys.find_spec", lambda name: None if name == "cryptography" else found(name))
    for command in (
        ("sign", "m.mote", "--key", "mine.pem"),
        ("sign", "--new-key", "new.pem"),
        ("verify-image", "m.mote", "--key", "mine.pub.pem"),
    ):
        assert installing("sign") in refused(capsys, *command)


def test_an_unsigned_image_is_split() -> None:
    found = split(an_image(version=9), "m.mote")
    assert (found.version, found.signature, found.data) == (9, None, an_image(version=9))
    with pytest.raises(MoteError, match=r"m\.mote"):
        split(b"", "m.mote")
