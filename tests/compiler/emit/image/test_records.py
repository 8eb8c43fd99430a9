"""What runtimes and images know kernels by: the order of parameters, the text that tells kernels apart."""

from __future__ import annotations

import zlib
from dataclasses import replace

import numpy as np
import pytest

from mote.compiler.emit.image.kernels import KernelRecord, merged, record
from mote.compiler.kernels.contract import Call, Entry, Instance, Needs, Packed
from mote.compiler.kernels.structs import fields, words

WINDOW = "rows.in_rows,rows.out_rows,rows.in_stride,rows.out_stride,rows.taps,rows.step,rows.spread,rows.pad"


def packed(**changes: object) -> Packed:
    params = {"scale": 2, "zero": -1}
    return replace(Packed("quantize_f32_s8", params, Entry(Call.FLAT), headers=("quantize",)), **changes)  # type: ignore[arg-type]


def test_fields_stand_in_the_order_of_c_with_nested_structs_in_place() -> None:
    found = fields(("mote_pool_s8.h",), "mote_avg_pool_s8_t")
    assert ",".join(map(str, found)).startswith(f"{WINDOW},cols.in_size,")
    assert [f.path for f in found if f.pointer] == []
    assert [str(f) for f in fields(("mote_lut_s8.h",), "mote_lut_s8_t")] == ["table*"]


def test_fields_of_instances_are_found_through_macros() -> None:
    found = fields(("mote_gemm3_s8.h",), "mote_pointwise3_pair_nhwc_5_t", ["MOTE_GEMM3(pair, nhwc, 5)"])
    assert str(found[-1]) == "gemm.stream*" and found[0].path == "width"
    lines = ['MOTE_LINES(lines_x, int8_t, 4, mote_lut_s8_t first; mote_add_s8_t then, f("a, (b", c); g(d))']
    made = fields(("mote_lines_s8.h",), "mote_lines_x_t", lines)
    assert list(map(str, made)) == ["first.table*", "then.a", "then.b", "then.c"]


def test_a_kernel_is_known_by_its_name_and_its_parameters() -> None:
    found = record(packed())
    assert found.signature == "quantize_f32_s8(scale,zero)"
    assert found.id == zlib.crc32(b"quantize_f32_s8(scale,zero)")


def test_parameters_are_words_in_the_order_of_the_struct_whatever_was_named() -> None:
    known = record(packed()).fields
    assert words(known, {"zero": -1, "scale": 2}) == [0x40000000, 0xFFFFFFFF]
    assert words(known, {}) == [0, 0]
    with pytest.raises(AssertionError, match="named other"):
        words(known, {"other": 1})
    with pytest.raises(AssertionError, match="do not hold"):
        words(known, {"zero": 1 << 32})
    table = np.arange(256).astype(np.int8)
    assert words(fields(("mote_lut_s8.h",), "mote_lut_s8_t"), {"table": table})[0] is table


def test_records_are_read_back_as_they_were_written() -> None:
    made = packed(
        instances=(Instance("MOTE_X", ("a", 3), ("nop",), (7,)),),
        entry=Entry(Call.FLAT, row="quantize_row", row_index=True),
        needs=Needs(scratch=8, alignment=8),
    )
    found = record(made)
    assert KernelRecord.from_json(found.to_json()) == found
    assert KernelRecord.from_json(record(packed()).to_json()) == record(packed())


def test_a_record_with_more_functions_covers_one_with_fewer() -> None:
    few, many = (
        record(packed()),
        record(packed(entry=Entry(Call.FLAT, row="quantize_row", row_index=True, rows="quantize_rows"))),
    )
    assert many.covers(few) and not few.covers(many)
    assert merged([few, many]) == merged([many, few]) == [many]
    with pytest.raises(ValueError, match="two kernels have the name"):
        few.joined(replace(many, row="another", operands=2))
