"""Command set of Ethos-U by hardware generation: codes, fields and value names.

A command is one or two 32-bit words. Bits 0-9 of the first word are the code, bits 14-15 the number of words, bits
16-31 a parameter; the second word is data. Operation commands start work with the current registers; all others set a
register."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from mote.base.errors import MoteError

CORES = ("ethos-u55", "ethos-u65", "ethos-u85")
"""Hardware generations, by product number in a payload's configuration."""

ENUMS: Mapping[str, Mapping[int, str]] = {
    name: {int(value): word for word, _, value in (item.partition("=") for item in items.split())}
    for name, items in {
        "order": "DEPTH_FIRST=0 PART_KERNEL_FIRST=1",
        "sign": "UNSIGNED=0 SIGNED=1",
        "bits": "8=0 16=1 32=2 64=3",
        "layout": "NHWC=0 NHCWB16=1",
        "scaling": "PER_CHANNEL=0 GLOBAL=1",
        "rounding": "DOUBLE=0 TRUNCATE=1 NATURAL=2",
        "operand": "BOTH_16=0 A_32=1 B_32=2",
        "upscale": "NONE=0 NEAREST=1 ZEROS=2",
        "decomposition": "8X8=0 4X4=1",
        "accumulator": "INT32=0 INT40=1 FLOAT16=2",
        "function": "RELU=0 TANH=3 SIGMOID=4 " + " ".join(f"TABLE_{table}={16 + table}" for table in range(8)),
        "clip": "OFM=0 UINT8=2 INT8=3 INT16=5",
        "pooling": "MAX=0 AVERAGE=1 REDUCE_SUM=2",
        "elementwise": "MUL=0 ADD=1 SUB=2 MIN=3 MAX=4 LRELU=5 ABS=6 CLZ=7 SHR=8 SHL=9",
        "place": "MEMORY=0 INTERNAL=1",
        "stride": "1D=0 2D=1 3D=2",
        "u55_stride": "1D=0",
        "u85_accumulator": "INT32=0 INT48=1",
        "accumulator_input": "RESET=0 KEEP=1 IFM2=2",
        "accumulator_output": "WRITE=0 KEEP=1",
        "microblock": "1X1=0 1X2=1 1X4=2 2X2=3 2X4=4 4X4=5",
        "u85_clip": "16=0 NONE=1",
        "u85_function": "NONE=0 TABLE_U8_U8=1 TABLE_S8_S8=4 TABLE_S8_S16=5 TABLE_S8_S32=7 TABLE_S16_S16=8 "
        "TABLE_S16_S32=9 TANH=10 SIGMOID=11",
        "u85_pooling": "MAX=0 AVERAGE=1 REDUCE_SUM=2 SUM=3 NONE=4 MIN=5 ARGMAX_X=6 ARGMAX_Y=7",
        "u85_elementwise": "MUL=0 ADD=1 SUB=2 MIN=3 MAX=4 LRELU=5 ABS=6 CLZ=7 SHR=8 SHL=9 LSR=10 DIV=11 CMP_EQ=16 "
        "CMP_NE=17 CMP_GE=18 CMP_GT=19 AND=33 OR=34 XOR=35 NOT=36 AND_NOT=42",
        "resize": "BILINEAR=0 REPLICATE=1 NEAREST=2",
        "reverse": "NONE=0 H=1 W=2 C=3",
        "storage": "TILES_2X2=0 TILES_3X1=1 CHAINED=2 NONE=3",
        "transpose": "HWC=0 WHC=1 HCW=2 WCH=3 CHW=6 CWH=7",
        "broadcast": "NONE=0 H=1 W=2 HW=3 C=4 HC=5 WC=6 HWC=7 SCALAR=8",
        "ifm_rounding": "DOUBLE_SYMMETRIC=0 NATURAL=1",
        "ofm_rounding": "DOUBLE_SYMMETRIC=0 NATURAL=1 DOUBLE_ASYMMETRIC=2 SYMMETRIC=3 TRUNCATE_TO_ZERO=4 "
        "TRUNCATE_DOWN=5",
        "weight_format": "STANDARD=0 FAST=1",
        "sparsity": "NONE=0 2_OF_4=1",
        "condition": "ALWAYS=0 RESULT=1",
    }.items()
}
"""Value names of enumerated fields."""

COMMON = """
0 000 op STOP mask:16
0 001 op IRQ mask:16
0 003 op DEPTHWISE
0 010 op DMA_START
0 013 op PMU_MASK enable:1
0 100 IFM_PAD_TOP pad:7
0 101 IFM_PAD_LEFT pad:7
0 102 IFM_PAD_RIGHT pad:8
0 103 IFM_PAD_BOTTOM pad:8
0 104 IFM_DEPTH_M1 depth:16
0 107 IFM_UPSCALE mode:2=upscale
0 109 IFM_ZERO_POINT zero_point:-16
0 10a IFM_WIDTH0_M1 width:16
0 10b IFM_HEIGHT0_M1 height:16
0 10c IFM_HEIGHT1_M1 height:16
0 10f IFM_REGION region:3
0 111 OFM_WIDTH_M1 width:16
0 112 OFM_HEIGHT_M1 height:16
0 113 OFM_DEPTH_M1 depth:16
0 118 OFM_ZERO_POINT zero_point:-16
0 11a OFM_WIDTH0_M1 width:16
0 11b OFM_HEIGHT0_M1 height:16
0 11c OFM_HEIGHT1_M1 height:16
0 11f OFM_REGION region:3
0 120 KERNEL_WIDTH_M1 width:16
0 121 KERNEL_HEIGHT_M1 height:16
0 122 KERNEL_STRIDE x_low:1 y_low:1 order:1=order dilate_x:1 dilate_y:1 parts:1=decomposition x_high:1 _:2 y_high:1
0 126 ACTIVATION_MIN bound:16
0 127 ACTIVATION_MAX bound:16
0 128 WEIGHT_REGION region:3
0 129 SCALE_REGION region:3
0 132 DMA0_SIZE0 size:16
0 133 DMA0_SIZE1 size:16
0 189 IFM2_ZERO_POINT zero_point:-16
0 18a IFM2_WIDTH0_M1 width:16
0 18b IFM2_HEIGHT0_M1 height:16
0 18c IFM2_HEIGHT1_M1 height:16
0 18f IFM2_REGION region:3
1 000 IFM_BASE0 address
1 001 IFM_BASE1 address
1 002 IFM_BASE2 address
1 003 IFM_BASE3 address
1 004 IFM_STRIDE_X distance
1 005 IFM_STRIDE_Y distance
1 006 IFM_STRIDE_C distance
1 010 OFM_BASE0 address
1 011 OFM_BASE1 address
1 012 OFM_BASE2 address
1 013 OFM_BASE3 address
1 014 OFM_STRIDE_X distance
1 015 OFM_STRIDE_Y distance
1 016 OFM_STRIDE_C distance
1 020 WEIGHT_BASE address
1 021 WEIGHT_LENGTH _:16 length:32
1 022 SCALE_BASE address
1 023 SCALE_LENGTH _:16 length:20
1 030 DMA0_SRC address
1 031 DMA0_DST address
1 032 DMA0_LEN address
1 080 IFM2_BASE0 address
1 081 IFM2_BASE1 address
1 082 IFM2_BASE2 address
1 083 IFM2_BASE3 address
1 084 IFM2_STRIDE_X distance
1 085 IFM2_STRIDE_Y distance
1 086 IFM2_STRIDE_C distance
"""
"""Commands common to all generations, one per line: words minus one, code, `op` for operations, name, then fields from
the lowest bit with widths; `_` marks bits that must be 0, `-` before a width a signed field, `=` the enumeration of its
values. Fields of two-word commands start in the parameter, which also holds the upper byte of addresses and (signed)
distances."""

FIRST = """
0 002 op CONV
0 005 op POOL mode:3=pooling
0 006 op ELEMENTWISE mode:6=elementwise
0 011 op DMA_WAIT outstanding:4
0 012 op KERNEL_WAIT outstanding:2
0 105 IFM_PRECISION sign:1=sign _:1 bits:2=bits _:2 layout:2=layout scale_mode:2=operand _:4 round_mode:2=rounding
0 10d IFM_IB_END end:6
0 114 OFM_PRECISION sign:1=sign bits:2=bits _:3 layout:2=layout scale_mode:1=scaling _:5 round_mode:2=rounding
0 115 OFM_BLK_WIDTH_M1 width:6
0 116 OFM_BLK_HEIGHT_M1 height:5
0 117 OFM_BLK_DEPTH_M1 depth:7
0 124 ACC_FORMAT format:2=accumulator
0 125 ACTIVATION function:5=function _:7 clip:3=clip
0 12d AB_START start:6
0 12f BLOCKDEP blocks:2
0 180 IFM2_BROADCAST h:1 w:1 c:1 _:3 swapped:1 scalar:1
0 181 IFM2_SCALAR scalar:16
0 185 IFM2_PRECISION sign:1=sign _:1 bits:2=bits _:2 layout:2=layout
0 18d IFM2_IB_START start:6
1 024 OFM_SCALE shift:6 _:10 scale:32
1 025 OPA_SCALE shift:6 _:10 scale:32
1 026 OPB_SCALE _:16 scale:16
"""
"""Commands of Ethos-U55 and U65 that differ from U85."""

ONLY = {
    "ethos-u55": FIRST
    + """
0 130 DMA0_SRC_REGION region:3 _:5 place:1=place stride_mode:2=u55_stride
0 131 DMA0_DST_REGION region:3 _:5 place:1=place stride_mode:2=u55_stride
""",
    "ethos-u65": FIRST
    + """
0 123 PARALLEL_MODE depth:1
0 130 DMA0_SRC_REGION region:3 _:5 place:1=place stride_mode:2=stride
0 131 DMA0_DST_REGION region:3 _:5 place:1=place stride_mode:2=stride
1 033 DMA0_SKIP0 address
1 034 DMA0_SKIP1 address
1 090 WEIGHT1_BASE address
1 091 WEIGHT1_LENGTH _:16 length:32
1 092 SCALE1_BASE address
1 093 SCALE1_LENGTH _:16 length:20
""",
    "ethos-u85": """
0 002 op CONV weights_ifm2:1
0 005 op POOL mode:3=u85_pooling
0 006 op ELEMENTWISE mode:6=u85_elementwise
0 007 op RESIZE mode:2=resize
0 011 op DMA_WAIT outstanding:2
0 012 op KERNEL_WAIT outstanding:1
0 105 IFM_PRECISION sign:1=sign _:1 bits:2=bits _:2 layout:2=layout _:6 storage:2=storage
0 108 IFM_BROADCAST mode:4=broadcast
0 114 OFM_PRECISION sign:1=sign bits:2=bits _:3 layout:2=layout scale_mode:1=scaling reverse:2=reverse \
transpose:3=transpose storage:2=storage
0 115 OFM_BLK_WIDTH_M1 width:7
0 116 OFM_BLK_HEIGHT_M1 height:7
0 117 OFM_BLK_DEPTH_M1 depth:10
0 124 ACC_FORMAT format:2=u85_accumulator _:2 input:2=accumulator_input output:1=accumulator_output _:1 \
microblock:3=microblock
0 125 ACTIVATION function:5=u85_function table:3 _:4 clip:1=u85_clip
0 12a RESIZE_X_SCALE_N_M1 n:11
0 12b RESIZE_Y_SCALE_N_M1 n:11
0 12c RESIZE_X_OFFSET offset:-12
0 12d RESIZE_Y_OFFSET offset:-12
0 12e WEIGHT_FORMAT format:1=weight_format _:3 sparsity:1=sparsity
0 12f BLOCKDEP blocks:3
0 130 DMA0_SRC_REGION region:3 _:5 place:1=place stride_mode:2=stride indexed:1
0 131 DMA0_DST_REGION region:3 _:5 place:1=place _:2 indexed:1
0 134 DMA0_IDX_REGION region:3
0 180 IFM2_BROADCAST mode:4=broadcast
0 185 IFM2_PRECISION sign:1=sign _:1 bits:2=bits _:2 layout:2=layout _:6 storage:2=storage
1 024 OFM_SCALE shift:6 double:5 _:2 round_mode:3=ofm_rounding scale:31
1 025 IFM_SCALE shift:6 double:5 _:2 round_mode:1=ifm_rounding _:2 scale:31
1 026 IFM2_SCALE shift:6 double:5 _:2 round_mode:1=ifm_rounding _:2 scale:31
1 027 OP_SCALAR _:16 scalar:32
1 033 DMA0_SRC_STRIDE0 distance
1 034 DMA0_SRC_STRIDE1 distance
1 035 DMA0_DST_STRIDE0 distance
1 036 DMA0_DST_STRIDE1 distance
1 037 DMA0_IDX address
1 038 DMA0_IDX_MAX _:16 index:31
1 039 DMA0_IDX_SKIP1 distance
1 090 WEIGHT1_BASE address
1 091 WEIGHT1_LENGTH _:16 length:32
1 092 WEIGHT2_BASE address
1 093 WEIGHT2_LENGTH _:16 length:32
1 094 WEIGHT3_BASE address
1 095 WEIGHT3_LENGTH _:16 length:32
1 096 RESIZE_X_STEP one:4 block:11 _:1 one_rest:11 _:5 block_rest:11
1 097 RESIZE_Y_STEP one:4 block:11 _:1 one_rest:11 _:5 block_rest:11
1 100 op BRANCH condition:1=condition _:15 target:32
""",
}
"""Commands specific to one generation."""


@dataclass(frozen=True)
class CommandField:
    """Bit field of a command's operand: the parameter, with the data above it in two-word commands."""

    name: str
    low: int
    bits: int
    signed: bool = False
    values: Mapping[int, str] | None = None
    address: bool = False
    """Whether it is an address, whose lower 32 bits are in the data and upper bits in the parameter."""

    def of(self, operand: int) -> int:
        if self.address:
            operand = operand >> 16 | (operand & 0xFFFF) << 32
        value = operand >> self.low & (1 << self.bits) - 1
        return value - (1 << self.bits) if self.signed and value >> self.bits - 1 else value

    def put(self, operand: int, value: int) -> int:
        """The operand with another value of this field."""
        low = -(1 << self.bits - 1) if self.signed else 0
        if not low <= value < low + (1 << self.bits):
            raise MoteError(f"{value} does not fit the {self.bits} bits of {self.name}", remedy="use smaller values")
        value &= (1 << self.bits) - 1
        if self.address:
            return (value & 0xFFFFFFFF) << 16 | value >> 32
        return operand & ~((1 << self.bits) - 1 << self.low) | value << self.low


@dataclass(frozen=True)
class CommandKind:
    """Definition of a command in one generation."""

    name: str
    code: int
    words: int
    operation: bool
    fields: tuple[CommandField, ...]
    reserved: int
    """Operand bits that must be 0."""
    repeats: bool = False
    """Whether the upper byte may repeat the sign."""

    @property
    def head(self) -> int:
        """First word without parameter."""
        return (self.words - 1) << 14 | self.code

    def malformed(self, operand: int) -> bool:
        """Whether reserved bits are set. Ethos-U55 ignores the upper byte of a distance, which may repeat the sign."""
        return bool(operand & self.reserved) and not (self.repeats and operand & 0x80000000FFFF == 0x8000000000FF)

    def field(self, name: str) -> CommandField:
        return next(field for field in self.fields if field.name == name)


@dataclass(frozen=True)
class Command:
    """A command of a stream, at a byte offset from the start of the payload."""

    kind: CommandKind
    operand: int = 0
    offset: int = 0

    @property
    def name(self) -> str:
        return self.kind.name

    @property
    def value(self) -> int:
        """Value of the only field, or the operand if there are several fields."""
        fields = self.kind.fields
        return fields[0].of(self.operand) if len(fields) == 1 else self.operand

    def __getitem__(self, name: str) -> int:
        return self.kind.field(name).of(self.operand)

    def said(self, name: str) -> str:
        """A field's value, by name if the value has one."""
        field = self.kind.field(name)
        value = field.of(self.operand)
        return str(value) if field.values is None else field.values.get(value, str(value))

    def with_value(self, value: int, name: str = "") -> Command:
        """This command with another value of a field (default: the only one)."""
        field = self.kind.field(name) if name else self.kind.fields[0]
        return Command(self.kind, field.put(self.operand, value), self.offset)

    def encode(self) -> bytes:
        first = self.kind.head | (self.operand & 0xFFFF) << 16
        second = self.operand >> 16
        return first.to_bytes(4, "little") + (second.to_bytes(4, "little") if self.kind.words == 2 else b"")


@cache
def kinds(core: str) -> Mapping[int, CommandKind]:
    """Commands of a generation by first word without parameter."""
    table = (_kind(line.split(), core) for line in (COMMON + ONLY[core]).splitlines() if line)
    return {kind.head: kind for kind in table}


@cache
def named(core: str) -> Mapping[str, CommandKind]:
    """Commands of a generation by name."""
    return {kind.name: kind for kind in kinds(core).values()}


def _kind(line: list[str], core: str) -> CommandKind:
    operation = line[2] == "op"
    name, *items = line[2 + operation :]
    words = int(line[0]) + 1
    size = 16 if words == 1 else 48
    fields, low = [], 0
    for item in items:
        if item in ("address", "distance"):
            bits = 32 if core == "ethos-u55" else 40
            fields.append(CommandField(item, 0, bits, item == "distance", address=True))
            short = core == "ethos-u55"
            reserved = 0xFFFF if short else 0xFF00
            repeats = short and item == "distance"
            return CommandKind(name, int(line[1], 16), words, operation, tuple(fields), reserved, repeats)
        title, _, rest = item.partition(":")
        width, _, values = rest.partition("=")
        bits = abs(int(width))
        if title != "_":
            fields.append(CommandField(title, low, bits, width.startswith("-"), ENUMS[values] if values else None))
        low += bits
    reserved = (1 << size) - 1
    for field in fields:
        reserved &= ~((1 << field.bits) - 1 << field.low)
    return CommandKind(name, int(line[1], 16), words, operation, tuple(fields), reserved)
