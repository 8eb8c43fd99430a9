"""Weights that a model learns on the device: C functions that save and load them."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import numpy as np

from mote.compiler.emit.c.c import CFunction, Comment, Define, Definition, Noted, Statement, Text, assign, call, when
from mote.compiler.emit.c.model.checks import Checked, ConstantSpan
from mote.compiler.emit.c.model.handle import handed, taken, variable
from mote.compiler.emit.c.model.states import between_inferences
from mote.compiler.emit.c.options import ProjectOptions
from mote.compiler.lower.values import value_range
from mote.compiler.plan.plan import Plan
from mote.ir.graph import State
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import StateRole

TYPES = "mote_flash.h"
"""The C header with the types that describe flash memory."""
HEAD, END = 16, 4
"""Bytes of a record before and after the learned weights: see `mote_weights.h`."""


def learned(plan: Plan) -> tuple[State, ...]:
    """The states with learned weights."""
    return tuple(s for s in plan.graph.states if s.role is StateRole.LEARNED)


def record_bytes(plan: Plan) -> int:
    payload = sum(state.initial.nbytes for state in learned(plan))
    return HEAD + -(-payload // 4) * 4 + END


def saving(options: ProjectOptions) -> str:
    return f"mote_status {options.name}_save_weights({taken(options, 'const mote_records_t *flash', const=True)})"


def loading(options: ProjectOptions) -> str:
    return f"mote_status {options.name}_load_weights({taken(options, 'const mote_records_t *flash')})"


def counting(options: ProjectOptions) -> str:
    return f"uint32_t {options.name}_saved_weights(const mote_records_t *flash)"


def exporting(options: ProjectOptions) -> str:
    return f"mote_status {options.name}_export_weights({taken(options, 'void *record', 'size_t bytes', const=True)})"


def importing(options: ProjectOptions) -> str:
    return f"mote_status {options.name}_import_weights({taken(options, 'const void *record', 'size_t bytes')})"


def described(options: ProjectOptions, damaged: str = "MOTE_DAMAGED") -> list[Statement]:
    """The statements that initialize `own`, the description of records; they return `damaged` if its table in flash is
    corrupted."""
    return ["mote_weights_t own", when(f"!{options.name}_describe_weights(&own)", f"return {damaged}")]


def functions(plan: Plan, options: ProjectOptions) -> list[Definition]:
    """The table of the learned states, and the functions that save and load them."""
    name = options.name
    states = f"{variable(options, 'kept')}.states.bytes"
    between = [*between_inferences(options), *described(options)]
    record = f"{name.upper()}_WEIGHTS_BYTES"
    fits = when(f"!mote_records_fit(flash, {record})", "return MOTE_BAD_FLASH")
    short = when(f"record == NULL || bytes < {record}", "return MOTE_BAD_STATE")
    holds = when(f"!mote_weights_hold(&own, {states})", "return MOTE_BAD_STATE")
    newest = "const mote_weights_found_t newest = mote_weights_find(&own, flash)"
    return [
        *_table(plan, options),
        CFunction(
            saving(options),
            [
                *between,
                fits,
                holds,
                f"return mote_weights_save(&own, flash, {states}) ? MOTE_OK : MOTE_BAD_FLASH",
            ],
        ),
        CFunction(
            loading(options),
            [
                *between,
                fits,
                newest,
                when("newest.own == UINT32_MAX", "return MOTE_BAD_STATE"),
                f"const uint32_t at = mote_record_at(flash, {record}, newest.own)",
                when(
                    f"!mote_weights_take(&own, flash->flash, at, {states})",
                    f"{name}_forget({handed(options)})",
                    "return MOTE_BAD_FLASH",
                ),
                "return MOTE_OK",
            ],
        ),
        CFunction(
            counting(options),
            [
                *described(options, damaged="0"),
                when(f"!mote_records_fit(flash, {record})", "return 0"),
                "return mote_weights_find(&own, flash).saves",
            ],
        ),
        CFunction(
            exporting(options),
            [*between, short, holds, call("mote_weights_export", "&own", states, "record"), "return MOTE_OK"],
        ),
        CFunction(
            importing(options),
            [
                *between,
                short,
                f"return mote_weights_import(&own, record, {states}) ? MOTE_OK : MOTE_BAD_STATE",
            ],
        ),
    ]


def declarations(plan: Plan, options: ProjectOptions) -> list[Definition]:
    """The declarations, in the model's header, of the functions that save and load learned weights."""
    name, macro = options.name, options.name.upper()
    return [
        Comment("Bytes of a record of what the model has learned."),
        Noted(Define(f"{macro}_WEIGHTS_BYTES", record_bytes(plan)), f"{len(learned(plan))} tensors"),
        Text(""),
        Comment(
            "Write what was learned to flash, behind the records that are there, and take it from the newest record\n"
            "that is whole. The area holds two records or more, in sectors of their own: where it holds n, a sector\n"
            "is erased once in n saves. Power may fail at any moment: the record before holds until the new one is\n"
            "complete. MOTE_BAD_FLASH: the area is too small or not described as mote_flash.h says, or the flash\n"
            "failed; what was saved before holds, and only a load that cannot read the record that it has checked\n"
            "leaves the model as after init. MOTE_BAD_STATE: there is no record of this model (a version, the size,\n"
            "the model and a CRC-32 are compared, then values: a float must be finite, an index one of those that\n"
            "there are); or, to be saved or exported, what was learned has such a value. MOTE_DAMAGED: flash no\n"
            "longer says rightly what is learned. Nothing has changed. MOTE_BUSY in the middle of an inference.\n"
            "Another model may keep records in the same area: where it holds the longest four times, in sectors of\n"
            "their own, no save erases the other's newest. After init the model is as it was compiled: load, then."
        ),
        saving(options),
        loading(options),
        Text(""),
        Comment(
            f"The number of {name}'s newest record there, one more with each save; 0: there is none. The first record\n"
            "of a model counts on from those of other models in the area."
        ),
        counting(options),
        Text(""),
        Comment("The same record in memory of yours, for a file system or a line."),
        exporting(options),
        importing(options),
        Text(""),
    ]


def checked(plan: Plan, options: ProjectOptions) -> Checked:
    """The table of the learned states, as constants that `NAME_check` covers."""
    rows = _rows(plan)
    return Checked([ConstantSpan(_table_name(options), f"{_table_name(options)} + {len(rows)}", rows.reshape(-1))], {})


def _table_name(options: ProjectOptions) -> str:
    return f"{options.name}_learned"


def _table(plan: Plan, options: ProjectOptions) -> list[Definition]:
    rows, table = _rows(plan), _table_name(options)
    parts = ",\n".join(f"    {{{part}}}" for part in _parts(plan))
    fields = {
        "model": f"0x{_identity(plan, options):08x}u",
        "bytes": f"{options.name.upper()}_WEIGHTS_BYTES",
        "parts": table,
        "count": f"{len(rows)}u",
        "seal": "NULL",
    }
    crc = zlib.crc32(rows.astype("<u4").tobytes())
    return [
        Comment("What the model learns: where it lies, and what its values can be."),
        Text(f"static const mote_weights_part_t {table}[{len(rows)}]{options.flash_mark} = {{\n{parts},\n}};\n"),
        Comment("What its records are; 0 where the table has changed, which could lead out of the states."),
        CFunction(
            f"static int {options.name}_describe_weights(mote_weights_t *own)",
            [
                *(assign(f"own->{field}", value) for field, value in fields.items()),
                f"return mote_weights_intact(own, 0x{crc:08x}u)",
            ],
        ),
    ]


def _parts(plan: Plan) -> Iterator[str]:
    """The C initializers of the table's rows."""
    for row, state in zip(_rows(plan).tolist(), learned(plan), strict=True):
        values = value_range(plan.graph, state)
        yield f"{row[0]}u, {row[1]}u, {values.low}, {values.high}, MOTE_WEIGHTS_{values.kind.name}"


def _rows(plan: Plan) -> Array:
    """The table of the learned states: offset, bytes, limits and kind of value of each."""
    ranges = [(state, value_range(plan.graph, state)) for state in learned(plan)]
    rows = [[plan.place[s.before].offset, s.initial.nbytes, r.low, r.high, r.kind.value] for s, r in ranges]
    return np.array(rows, np.int64).astype(np.uint32)


def _identity(plan: Plan, options: ProjectOptions) -> int:
    """A hash of the model file and of the initial values of what it learns, which identifies its records."""
    crc = options.model
    for state in learned(plan):
        tensor = plan.graph.tensors[state.before]
        scales = None if tensor.quant is None else (tensor.quant.scale.tolist(), tensor.quant.zero_point.tolist())
        crc = zlib.crc32(repr((state.initial.shape, str(tensor.dtype), scales)).encode(), crc)
        crc = zlib.crc32(np.ascontiguousarray(state.initial).tobytes(), crc)
    return crc
