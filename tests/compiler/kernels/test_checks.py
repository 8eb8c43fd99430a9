"""Parameter checks from tables: the C that a line becomes, what it admits, and errors that name the line."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from mote.base.errors import MoteError
from mote.compiler.emit.image.stock_kernels import everything
from mote.compiler.kernels import checks, library
from tests.compiler.kernels.c_harness import KERNELS

STRUCT = """
typedef struct { int32_t shift, rows, more; const int16_t *table; const float *scale; } mote_sample_t;
typedef mote_sample_t mote_tensors_t, mote_summed_t, mote_sized_t, mote_kept_t;
"""
TABLE = """
[sample]
# Fields, an array and one that may be NULL.
sample: whole; shift, more in 0..31; table[rows, 3]; scale[rows]?
tensors: reads int16_t[n, rows]; reads 1 float[rows]; writes int8_t[n, rows]
summed: adds; sums int32_t[2 * rows + more]
sized: let size = mote_size(rows); tensors; scratch int8_t[rows, rows, rows, rows, more]; size < 3 || size == 100
kept: keeps 1 int32_t[rows + more]; more != 7
"""
MAIN = """
static int16_t image[64];
static mote_room_t room(int32_t form) {
    mote_room_t r = {0};
    r.image = (const uint8_t *)image, r.end = r.image + sizeof image, r.form = form, r.hi = 4;
    r.in[0] = 24, r.in[1] = 12, r.out = 12, r.sums = 32, r.scratch = 80;
    return r;
}
#define TRY(check, how, change, expected) do { \\
    mote_room_t r = room(how); mote_sample_t p = {0}; p.shift = 31, p.rows = 3, p.more = 2, p.table = image; \\
    change; if (mote_##check##_fits(&p, &r) != (expected)) { printf("line %d\\n", __LINE__); wrong = 1; } } while (0)
#define WHOLE MOTE_RUN_WHOLE
#define SUMS MOTE_RUN_SUMS
int main(void) {
    int wrong = 0;
    TRY(sample, WHOLE, , 1);
    TRY(sample, MOTE_RUN_EACH, , 0);
    TRY(sample, WHOLE, p.shift = 32, 0);
    TRY(sample, WHOLE, p.more = -1, 0);
    TRY(sample, WHOLE, p.rows = 0, 0);
    TRY(sample, WHOLE, p.rows = 21, 1);
    TRY(sample, WHOLE, p.rows = 22, 0);
    TRY(sample, WHOLE, p.rows = 0x55555556, 0); /* times 3 and 2 it wraps to a few bytes */
    TRY(sample, WHOLE, p.table = NULL, 0);
    TRY(sample, WHOLE, p.table = (const int16_t *)(r.image + 1), 0);
    TRY(sample, WHOLE, p.scale = (const float *)(r.image + 116), 1);
    TRY(sample, WHOLE, p.scale = (const float *)(r.image + 120), 0);
    TRY(tensors, MOTE_RUN_EACH, , 1);
    TRY(tensors, SUMS, , 0);
    TRY(tensors, WHOLE, r.in[0] = 22, 0);
    TRY(tensors, WHOLE, r.in[1] = 8, 0);
    TRY(tensors, WHOLE, r.out = 11, 0);
    TRY(tensors, WHOLE, r.hi = 5, 0);
    TRY(tensors, WHOLE, r.hi = 0, 0);
    TRY(summed, SUMS, , 1);
    TRY(summed, SUMS, p.more = 0, 1);
    TRY(summed, SUMS, p.more = 3, 0);
    TRY(summed, SUMS, p.rows = 0, 0);
    TRY(summed, SUMS, p.rows = 1 << 30, 0);
    TRY(summed, WHOLE, , 0);
    TRY(sized, WHOLE, p.rows = 2, 1);
    TRY(sized, WHOLE, (p.rows = 2, p.more = 6), 0);
    TRY(sized, WHOLE, (p.rows = 2, p.more = 0), 0);
    TRY(sized, WHOLE, p.rows = 3, 0);
    TRY(kept, WHOLE, (p.rows = 1, p.more = 2), 1);
    TRY(kept, WHOLE, (p.rows = 1, p.more = 3), 0);
    TRY(kept, WHOLE, (p.rows = 1, p.more = -1), 0);
    TRY(kept, WHOLE, (p.rows = 1, p.more = 2, r.fixed = 2), 0);
    return wrong;
}
"""


def test_a_line_is_a_c_function() -> None:
    ((header, check),) = checks.read("lut_s8: each int8_t -> int8_t; table[256]", "checks.txt")
    assert header == "lut_s8" and check is not None
    assert check.lines == [
        "MOTE_UNUSED static inline int mote_lut_s8_fits(const mote_lut_s8_t *p, const mote_room_t *room) {",
        "    return mote_each_fits(room, room->hi, 1, 1) &&",
        "           mote_array_fits(room, p->table, 256, 1, 1, 1, sizeof *p->table);",
        "}",
    ]


def test_macros_have_the_parameters_of_the_kernels_macro() -> None:
    text = library.header("mote_cumsum_fits.h")
    assert "#define MOTE_CUMSUM_FITS(name, T, A) \\\n" in text
    assert "mote_##name##_fits(const mote_##name##_t *p, const mote_room_t *room)" in text
    assert "return mote_cumsum_t_fits(p, room, sizeof(T));" in text
    assert "mote_takes(room, 0, mote_much_times(mote_count(room->hi, p->count, p->inner, 1), (uint32_t)size)" in text


def test_the_table_comes_behind_what_is_written_by_hand() -> None:
    text = library.header("mote_filter_bank_fits.h")
    assert 0 < text.index("int mote_bands_fit(") < text.index("int mote_filter_bank_fits(")
    assert text.count("#ifndef") == text.count("#endif") == 1


def test_a_header_without_checks_of_its_own_has_those_of_the_headers_in_it() -> None:
    includes = re.findall(r'#include "(\w+)\.h"', library.header("mote_lines4_s8_fits.h"))
    assert {"mote_add4_s8_fits", "mote_lines_s8_fits", "mote_mul4_s8_fits"} <= {*includes}


def test_what_clauses_admit(tmp_path: Path) -> None:
    functions = [check.lines for _, check in checks.read(TABLE, "checks.txt") if check]
    source = tmp_path / "sample.c"
    lines = ["#include <stdio.h>", '#include "mote_common_fits.h"', STRUCT, *(x for f in functions for x in f), MAIN]
    source.write_text("\n".join(lines))
    for name in ("mote_common_fits.h", "mote_elements_fits.h", "mote_room.h"):
        (tmp_path / name).write_text(library.header(name), encoding="utf-8")
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-fsanitize=address,undefined"]
    command = ["gcc", *flags, f"-I{tmp_path}", *KERNELS, str(source), "-o", str(tmp_path / "sample")]
    subprocess.run(command, check=True)
    done = subprocess.run([tmp_path / "sample"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("sample: shift in 0-31", "'shift in 0-31' is no clause"),
        ("sample: reads float", "'reads float' is no clause"),
        ("sample: each int8_t", "'each int8_t' is no clause"),
        ("sample: vectors float depth", "'vectors float depth' is no clause"),
        ("sample: mote_counts((rows)", "is no clause"),
        ("sample: shift in 0..31;", "'' is no clause"),
        ("sample shift in 0..31", "is no check"),
        ("Sample: any", "is no check"),
        ("[lut_s8]\nMOTE_NONE: any", "mote_lut_s8.h defines no macro MOTE_NONE"),
        ("MOTE_SAMPLE(name, hi): each int8_t -> int8_t", "hi: a parameter of MOTE_SAMPLE and the name of a field"),
    ],
)
def test_a_malformed_line_is_an_error_with_its_place(line: str, reason: str) -> None:
    with pytest.raises(MoteError, match=re.escape(reason)) as error:
        _ = [check.lines for _, check in checks.read(f"# a comment\n\n{line}\n", "checks.txt") if check]
    assert f"checks.txt:{3 + line.count(chr(10))}" in str(error.value)


def test_every_kernel_has_a_check() -> None:
    headers = {header for record in everything() for header in record.headers}
    assert not unchecked(headers), "add a line for each to checks.txt beside it: docs/develop/adding-a-kernel.md#checks"
    gone = [header for header in checks.tables() if not library.is_own(f"mote_{header}.h")]
    assert not gone, "checks.txt has lines for headers that are no more"
    assert unchecked({*headers, "planted"}) == ["planted"]


def unchecked(headers: Iterable[str]) -> list[str]:
    """The headers of kernels whose parameters nothing checks."""
    return [header for header in headers if not library.is_own(f"mote_{header}_fits.h")]
