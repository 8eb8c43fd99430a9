"""The bytes of images as `format.py` has them, against the structs of the runtime and the tables of the manual."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import mote.compiler.emit.image
from mote.compiler.emit.image import format
from mote.compiler.emit.image.format import (
    DTYPES,
    ENTRIES,
    FEATURES,
    HEADER,
    ROLES,
    SECTIONS,
    SIGNATURE,
    TRAINED,
    ImageRecord,
    RecordField,
)
from mote.compiler.kernels import library
from mote.compiler.lower.program import IMAGE, STATES, Form, Kind
from mote.compiler.lower.values import Values
from mote.ir.graph.types import StateRole
from tests.helpers.support import needs

DOC = Path(__file__).parents[4] / "docs" / "deploy" / "image-format.md"
RUNTIME = Path(mote.compiler.emit.image.__file__).parent / "runtime"
RECORDS = (HEADER, *ENTRIES.values(), TRAINED)
FORMS = {
    Form.WHOLE: "the kernel's own function over tensors in one piece: rows `lo` to `hi` - 1, `hi` units, or all",
    Form.ROW: "its row function, from pointers to rows, for one output row after another",
    Form.EACH: "its own function over a row of each tensor: `hi` units, or `lo` = 0 and `hi` = 1",
    Form.ROWS: "its function for several rows, from pointers to the rows under all of them, at most `hi` at a time",
    Form.SUMS: "one row of the input into running sums; y is the tap",
    Form.RING: "new rows into a ring buffer, which is the place `out`",
    Form.ARRIVAL: "the row that the caller hands over becomes row y of `out`",
    Form.COPY: "`hi` bytes from operand 0 to `out`",
    Form.JUMP: "on to step `lo` of the schedule",
    Form.BRANCH: "on to step `lo` if the byte at operand 0 is zero",
    Form.REPEAT: "on to step `lo`, but for every `times`-th time",
}
VALUES = {
    Values.NONE: "it is not learned",
    Values.ANY: "anything",
    Values.FLOAT: "float32, finite",
    Values.INT8: "int8, from `low` to `high`",
    Values.INT32: "int32, from `low` to `high`",
}
TABLES: dict[str, Callable[[], str]] = {
    **{f"fields: {r.name}": lambda r=r: fields(r) for r in (*RECORDS, SIGNATURE)},  # type: ignore[misc]
    "features": lambda: table(["bit", "name", "what"], [(f.bit_length() - 1, f.name, FEATURES[f]) for f in FEATURES]),
    "sections": lambda: table(["section", "entries"], list(SECTIONS.items())),
    "roles": lambda: table(["role", "name", "what"], [(r.value, r.name, what) for r, what in ROLES.items()]),
    "values": lambda: table(["kind", "what"], [(v.value, what) for v, what in VALUES.items()]),
    "dtypes": lambda: table(["number", "type"], [(code, name) for name, code in DTYPES.items()]),
    "forms": lambda: table(["form", "name", "what"], [(f.value, f.name, what) for f, what in FORMS.items()]),
}


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def fields(record: ImageRecord) -> str:
    rows = [(at, f.type, f"`{f.name}`", f.what) for at, f in record.placed]
    return f"`{record.name}`, {record.nbytes} bytes:\n\n" + table(["byte", "type", "field", "what"], rows)


def test_the_manual_has_the_tables_of_the_format() -> None:
    """`MOTE_UPDATE_SNAPSHOTS=1` writes them anew."""
    text = DOC.read_text(encoding="utf-8")
    seen = re.findall(r"<!-- (.*?) -->\n", text)
    assert sorted(seen) == sorted([*TABLES, *["end"] * len(TABLES)])
    for name, made in TABLES.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        text = pattern.sub(lambda m, made=made: f"{m[1]}{made()}\n{m[2]}", text)  # type: ignore[misc]
    if os.environ.get("MOTE_UPDATE_SNAPSHOTS"):
        DOC.write_text(text, encoding="utf-8")
    assert DOC.read_text(encoding="utf-8") == text


def c_name(record: ImageRecord, field: RecordField) -> str:
    """The name of a field in C, where the sections of the header are an array of structs."""
    section = re.fullmatch(r"(\w+)_(offset|count)", field.name)
    if record is HEADER and section and section[1] in SECTIONS:
        return f"sections[MOTE_SECTION_{section[1].upper()}].{section[2]}"
    return field.name


def test_the_structs_of_the_runtime_are_the_records(tmp_path: Path) -> None:
    needs("gcc")
    asserts = [f"sizeof({r.name}) == {r.nbytes}" for r in RECORDS]
    asserts += [f"offsetof({r.name}, {c_name(r, f)}) == {at}" for r in RECORDS for at, f in r.placed]
    asserts += [f"sizeof((({r.name} *)0)->{c_name(r, f)}) == {f.nbytes}" for r in RECORDS for _, f in r.placed]
    numbers = {
        "MOTE_IMAGE_MAGIC": format.MAGIC,
        "MOTE_IMAGE_FORMAT": format.FORMAT,
        "MOTE_IMAGE_HEADER": HEADER.nbytes,
        "MOTE_SIGNATURE_MAGIC": format.SIGNATURE_MAGIC,
        "MOTE_MEMORY_STATES": STATES,
        "MOTE_MEMORY_IMAGE": IMAGE,
        "MOTE_MEMORY_NONE": format.NO_MEMORY,
        "MOTE_OPERANDS": format.MOST_OPERANDS,
        "MOTE_NO_LIST": format.NO_LIST,
        "MOTE_NO_COUNTER": format.NO_COUNTER,
        "MOTE_NO_PLACE": format.NO_PLACE,
        "MOTE_FEATURES": sum(FEATURES),
        **{f"MOTE_FEATURE_{f.name}": f.value for f in FEATURES},
        **{f"MOTE_RUN_{f.name}": f.value for f in Form},
        **{f"MOTE_ROLE_{r.name}": r.value for r in ROLES},
        "MOTE_ROLES": len(ROLES),
        **{f"MOTE_WEIGHTS_{v.name}": v.value for v in Values},
        **{f"MOTE_PLACE_{k.name}": k.value for k in Kind},
        **{f"MOTE_{d.value.upper()}": code for d, code in DTYPES.items()},
    }
    asserts += [f"(uint32_t)({name}) == {value}u" for name, value in numbers.items()]
    lines = [f'_Static_assert({a}, "{a}");' for a in asserts]
    includes = ["<stddef.h>", '"mote_image.h"', '"mote_runtime.h"', '"mote_room.h"', '"mote_weights.h"']
    source = tmp_path / "format.c"
    source.write_text("\n".join([*(f"#include {i}" for i in includes), *lines, ""]))
    folders = [RUNTIME, *library.FOLDERS, *library.FITS]
    command = ["gcc", "-std=c11", "-fsyntax-only", *(f"-I{folder}" for folder in folders), str(source)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr


@pytest.mark.parametrize("record", [*RECORDS, SIGNATURE], ids=lambda r: r.name)
def test_records_have_no_gaps_and_come_back(record: ImageRecord) -> None:
    values = {f.name: 1 if f.count == 1 else (1,) * f.count for f in record.fields}
    data = record.pack(values)
    assert len(data) == record.nbytes and record.unpack(data) == values
    assert all(at % min(f.nbytes // f.count, 4) == 0 for at, f in record.placed)


def test_every_role_of_a_state_has_a_number() -> None:
    assert {r.name for r in ROLES} == {r.name for r in StateRole} | {"LOSS"}
