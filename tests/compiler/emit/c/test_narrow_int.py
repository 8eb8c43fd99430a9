"""Nothing in portable C depends on the width of `int`, which has 16 bits on AVR, MSP430 and others.

The checker of tests/helpers/narrow_int.py reads the runtime of images here, and in test_compilers.py every kernel
and the code that calls it; that file also runs models on a simulated AVR.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

import mote
from mote.compiler.kernels import checks, library
from tests.helpers import narrow_int
from tests.helpers.support import needs

TOP = Path(mote.__file__).parent
INCLUDES = [
    *(Path(str(folder)) for folder in (*library.FOLDERS, *library.FITS)),
    TOP / "compiler" / "emit" / "image" / "runtime",
    TOP / "deploy" / "update",
    TOP / "deploy" / "wire",
    TOP / "deploy" / "agent",
]
HEAD = "#include <stddef.h>\n#include <stdint.h>\n"
STRCMP = "int strcmp(const char *, const char *);\n"
WRONG = {
    "int32_t f(void) { return 1 << 30; }": "shift count",
    "int32_t f(int32_t n) { return 1 << n; }": "`<<` gives",
    "uint32_t f(uint32_t n) { return 1u << n; }": "`<<` gives",
    "uint32_t f(uint8_t x) { return (uint32_t)(x << 8); }": "`<<` gives 0..65280",
    "int32_t f(int16_t a, int16_t b) { return a * b; }": "`*` gives",
    "int32_t f(int16_t a, int16_t b) { return a + b; }": "`+` gives",
    "int32_t f(uint8_t a, uint8_t b) { return a * b; }": "`*` gives 0..65025",
    "int32_t f(int16_t a) { return -a; }": "`-` gives",
    "uint32_t f(uint16_t a) { return a - 1u; }": "`-` gives",
    "uint32_t f(uint32_t a) { return (a + 7u) & ~7u; }": "`~` gives",
    "int32_t f(int32_t a) { return (int)a; }": "a cast to int",
    "int32_t f(uint32_t a) { return __builtin_clz(a); }": "implicit conversion",
    "enum { N = 300 }; int32_t f(int8_t a) { return a * N; }": "`*` gives",
}
RIGHT = (
    "int32_t f(int8_t a, int8_t b) { return a * b; }",
    "int32_t f(int32_t n) { return (int32_t)1 << n; }",
    "int32_t f(int16_t a, int16_t b) { return (int32_t)a * b; }",
    "uint16_t f(uint16_t a) { return (uint16_t)(a - 1u); }",
    "size_t f(size_t a, size_t b) { return a * b; }",
    "int32_t f(uint8_t a) { return (a & 15) * 2000; }",
    "int32_t f(void) { return 1000000 * 2; }",
    "enum { L = 3, M }; int32_t f(int8_t a) { return a * M; }",
)


def _numbered(sources: Iterable[str]) -> str:
    """One function a line, each with a name of its own."""
    return "".join(source.replace(" f(", f" f{i}(") + "\n" for i, source in enumerate(sources))


@pytest.fixture(autouse=True)
def clang() -> None:
    needs("clang")


def test_what_depends_on_it_is_seen() -> None:
    found = narrow_int.findings(HEAD + _numbered(WRONG))
    for line, (source, reason) in enumerate(WRONG.items(), 3):
        assert any(f"stdin:{line}:" in f and reason in f for f in found), source


def test_what_does_not_is_left_alone() -> None:
    assert narrow_int.findings(HEAD + _numbered(RIGHT)) == []


POINTERS = "needs pointers of at least 32 bits"
"""The runtime's refusal of cores whose addresses are too short, as those of the checker's core are."""


OF_A_PART = ("agent_port.c",)
"""Sources that include a header which is generated for a part with a 32-bit core."""


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("folder", ["compiler/emit/image/runtime", "deploy/update", "deploy/wire", "deploy/agent"])
def test_the_runtime_of_images(folder: str) -> None:
    sources = sorted(path for path in (TOP / folder).glob("*.c") if path.name not in OF_A_PART)
    assert sources
    for path in sources:
        findings = narrow_int.findings(f'{STRCMP}#include "{path}"\n', INCLUDES)
        assert [text for text in findings if POINTERS not in text] == []


FITS = sorted(name for name in checks.names() if "vectors" not in name)
"""All but those of kernels for vectors of a host, whose `int` has 32 bits."""


def test_what_the_runtime_checks_parameters_with(tmp_path: Path) -> None:
    """All in one file, so that no two kernels of a model can have functions or types of one name."""
    for name in FITS:
        (tmp_path / name).write_text(library.header(name), encoding="utf-8")
    source = "".join(f'#include "{name}"\n' for name in FITS)
    assert FITS and narrow_int.findings(source, [tmp_path, *INCLUDES]) == []
