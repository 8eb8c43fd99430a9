"""C functions that decrypt a model's constants."""

from __future__ import annotations

from pathlib import Path

from mote.compiler.emit.c.c import CFunction, Comment, Definition, Text, assign, loop, when
from mote.compiler.emit.c.encryption import COUNTER
from mote.compiler.emit.c.model.handle import taken, variable
from mote.compiler.emit.c.options import ProjectOptions
from mote.compiler.emit.c.values import ConstantPool

AES = "mote_aes.h"
KEY = "mote_key.h"
"""The header with `#define MOTE_KEY {0x.., ..}` that users write for tests of encrypted models."""

LITTLE_ENDIAN = Text("""\
#if defined(__BYTE_ORDER__) && defined(__ORDER_LITTLE_ENDIAN__)
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "encrypted constants are little-endian"
#endif
#endif
""")


def aes() -> str:
    """The text of the AES implementation in C, for tests."""
    return (Path(__file__).parent / AES).read_text(encoding="utf-8")


def signature(options: ProjectOptions) -> str:
    """Signature of the decryption function that the firmware defines."""
    return f"int {options.name}_decrypt(uint8_t *to, const uint8_t *from, size_t bytes, const uint8_t *counter)"


def functions(options: ProjectOptions, pool: ConstantPool) -> list[Definition]:
    """The function that decrypts constants, and one that checks the key by decrypting zeros."""
    name, cipher = options.name, options.cipher
    assert cipher is not None
    checked = pool.sealed("key_check", cipher.encrypt("key", bytes(COUNTER)))
    decrypted = f"{name}_decrypt((uint8_t *)to, from + {COUNTER}, bytes, from)"
    failed = f"{name}_decrypt(zeros, {checked} + {COUNTER}, {COUNTER}, {checked}) != 0"
    return [
        LITTLE_ENDIAN,
        Comment("Encrypted constants begin with the counter block of their first bytes."),
        CFunction(
            f"static void {name}_open({taken(options, 'void *to', 'const uint8_t *from', 'size_t bytes')})",
            [when(f"{decrypted} != 0", assign(f"{variable(options, 'state')}.locked", 1))],
        ),
        Comment("With the right key these bytes are zeros."),
        CFunction(
            f"static mote_status {name}_check_key(void)",
            [
                f"uint8_t zeros[{COUNTER}]",
                "uint32_t other = 0u",
                when(failed, "return MOTE_NOT_READY"),
                loop("size_t", "i", COUNTER, "other |= zeros[i]"),
                "return other == 0u ? MOTE_OK : MOTE_DAMAGED",
            ],
        ),
        *reference(options),
    ]


def reference(options: ProjectOptions) -> list[Definition]:
    """The decryption hook in software for tests, with the key in a file next to it."""
    return [
        Text(f"""\
/* For tests: the hook in software, with the key in {KEY}, which you make: #define MOTE_KEY {{0x01, 0x02, ...}} */
#ifdef MOTE_REFERENCE_DECRYPT
#include "{AES}"
#include "{KEY}"
{hook(options, "static const uint8_t key[] = MOTE_KEY;", "key, sizeof key")}#endif
""")
    ]


def hook(options: ProjectOptions, before: str, key: str) -> str:
    """The decryption hook in software. `before`: its first lines; `key`: the arguments for the key and its size."""
    return f"""\
{signature(options)} {{
    {before}
    mote_aes_t aes;
    mote_aes_init(&aes, {key});
    mote_aes_ctr(&aes, to, from, bytes, counter);
    return 0;
}}
"""
