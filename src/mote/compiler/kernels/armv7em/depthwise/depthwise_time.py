"""Depthwise convolutions over time (rows of one pixel): packed weights and assembly of `mote_depthwise_time_s8.h`.

A line holds the values of one channel over time, two to a word, so a block of outputs has the products of a block over
a planar line: those of `depthwise_wide_assembly.Block` with stride 1. Registers: r0 the record, r1 the line, r2 the
outputs, sums from r4 on; the others hold inputs and weights, loaded on first use and freed after the last product. The
block size is the one with the fewest cycles whose stores are all within the offset range of one pointer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from mote.compiler.kernels.armv7em.common import DSP, NO_CONSTANTS
from mote.compiler.kernels.armv7em.depthwise.depthwise_wide_assembly import Block, Product, scale
from mote.compiler.kernels.armv7em.depthwise.records import Weights, channels_of, stream
from mote.compiler.kernels.armv7em.ordering.knob import with_order
from mote.compiler.kernels.assembly import MOST_OFFSET, enter, leave, load_next, plus_parts
from mote.compiler.kernels.contract import INT8, Call, Entry, Instance, Kernel, Needs, Packed, Params, Refusal, View
from mote.ir.ops.windows.depthwise import DepthwiseConv2D

MOST_TAPS = 31
CHANNELS = 4
"""Channels that are widened before any of their outputs is written: outputs may overwrite the inputs, unless channels
are repeated in the last group."""
SIZES = (6, 4, 2)
"""Possible block sizes in outputs. All blocks but the last are even because a word holds two inputs."""
COLUMNS = ("depthwise_column", *(f"depthwise_column_{form}" for form in ("wide", "unrolled", "unrolled_fpu")))
"""Names of the kernels that compute one row at a time, which this one replaces."""
LIMIT, FRAME = 0, 12
"""LIMIT: stack offset of the input address at which a line's whole blocks end; FRAME: bytes of stack for it, the
channel's first output address and the end address of the four channels."""


def pack(view: View, shift: int | None = None) -> Packed | Refusal:
    """The kernel for a window over rows of one pixel; `shift`: only with this requantization shift."""
    op, x, y = view.the(DepthwiseConv2D), view.input, view.output
    v, h = op.vertical, op.horizontal
    dense = (v.stride, v.dilation, v.before, v.after, h.kernel) == (1, 1, 0, 0, 1) and v.kernel <= MOST_TAPS
    if op.multiplier != 1 or not dense or x.shape[2] != 1 or y.shape[2] != 1 or x.shape[3] < CHANNELS:
        return Refusal("it is for rows of one pixel with four channels and more, without padding or strides")
    if y.shape[1] == 1:
        return Refusal("one output does not make up for lines of inputs")
    channels = channels_of(view, shift=shift)
    if channels is None:
        return NO_CONSTANTS
    channels = replace(channels.with_zero(x.zero_point), weights=channels.weights.transpose(0, 2, 1))
    records = stream(channels.biases, channels.words(1, Weights.W16), channels.constants)
    form, shift, record = channels.form, channels.requantization.shift, records.size // y.shape[3]
    name = f"depthwise_time_{y.shape[1]}x{y.shape[3]}_{v.kernel}_{form}_{shift}"
    ways = [n for n in SIZES if (n - 1) * y.shape[3] <= MOST_OFFSET]
    if not ways:
        return Refusal("stores do not reach from one output to the next")
    fastest = min(
        (code(v.kernel, y.shape[1], y.shape[3], n, form, shift, record) for n in ways), key=lambda m: m.cycles
    )
    in_place = (0,) if y.shape[0] == 1 and y.shape[3] % CHANNELS == 0 else ()
    params: Params = {
        "records": records,
        "channels": y.shape[3],
        "in_rows": x.shape[1],
        "out_rows": y.shape[1],
        "images": y.shape[0],
        "record": record,
    }
    return Packed(
        name,
        params,
        Entry(Call.WHOLE),
        Needs(scratch=16 * ((x.shape[1] + 1) // 2), in_place=in_place, overlays=bool(in_place)),
        instances=(
            Instance("MOTE_TIME", (name, y.shape[1], v.kernel, form, shift), tuple(fastest.lines), (y.shape[3],)),
        ),
        beats=() if view.small else COLUMNS,
    )


@dataclass(frozen=True)
class Code:
    lines: list[str]
    cycles: int
    """Estimated cycles of a channel's blocks."""


def code(taps: int, outputs: int, channels: int, size: int, form: str, shift: int, record: int) -> Code:
    """A function that computes all outputs of four channels in blocks of `size`; `record`: words of a channel's
    record."""
    blocks, rest = divmod(outputs, size)
    line, used = 4 * ((outputs + taps) // 2), 2 * size * blocks
    block = _block(taps, size, channels, form, shift) if blocks else []
    last = _block(taps, rest, channels, form, shift) if rest else []
    again = [
        f"ldr r12, [sp, #{LIMIT}]",
        f"add r1, r1, #{2 * size}",
        *plus_parts("r2", "r2", size * channels),
        f"sub r0, r0, #{4 * record}",
        "cmp r1, r12",
        "bne 2b",
    ]
    lines = [
        *enter(),
        f"add r4, r0, #{used}",
        "mov r5, r2",
        "add r6, r2, #4",
        "push {r4-r6}",
        "mov r3, r0",
        "mov r0, r1",
        "mov r1, r3",
        "1:",
        *(["2:", *block, *again] if blocks else []),
        *(last or [f"add r0, r0, #{4 * record}"]),
        "ldm sp, {r4-r6}",
        f"add r1, r1, #{line - used}",
        f"add r4, r4, #{line}",
        "add r5, r5, #1",
        "mov r2, r5",
        "stm sp, {r4, r5}",
        "cmp r5, r6",
        "bne 1b",
        *leave(FRAME),
    ]
    return Code(lines, blocks * (_cycles(block) + _cycles(again) + 2) + _cycles(last))


def _cycles(lines: list[str]) -> int:
    """Estimated cycles of instructions: a load takes one for each register and one more, everything else one."""
    loads = {"ldr": 2, "ldrd": 3}
    return sum(1 + text.count(",") if text.startswith("ldm") else loads.get(text.split()[0], 1) for text in lines)


def _block(taps: int, outputs: int, channels: int, form: str, shift: int) -> list[str]:
    """Code for a block of adjacent outputs; r0 ends up at the end of the record."""
    sums = [f"r{4 + j}" for j in range(outputs)]
    return [
        *_products(Block(taps, 1, outputs, 0, range(taps + outputs - 1))),
        f"ldm r0!, {{r10, r11{', r12' if form == 'linear' else ''}}}",
        *(text for register in sums for text in scale(register, form)),
        *(f"ssat {register}, #8, {register}, asr #{shift}" for register in sums),
        *(f"strb {register}, [r2, #{channels * j}]" for j, register in enumerate(sums)),
    ]


def _products(block: Block) -> list[str]:
    """All products of a block in the order of its inputs. The bias is loaded with the first weights, into the register
    of the sum that starts last."""
    products = sorted(block.products, key=lambda p: (p.pair, p.word))
    started = list(dict.fromkeys(p.output for p in products))
    bias, waiting = f"r{4 + started[-1]}", set(started)
    order = ["r3", *(f"r{i}" for i in range(4 + block.outputs, 13)), "lr"]
    free, pairs, words = list(order), dict[int, str](), dict[int, str]()
    next_word, lines = 0, list[str]()
    for at, p in enumerate(products):
        _forget(products[at:], pairs, words, free)
        free.sort(key=order.index)
        if p.pair not in pairs:
            count = 2 if len(free) > 2 and any(q.pair == p.pair + 1 for q in products) else 1
            allocated = [free.pop(0) for _ in range(count)]
            pairs |= dict(zip((p.pair, p.pair + 1), allocated, strict=False))
            op, registers = ("ldrd", ", ".join(allocated)) if count == 2 else ("ldr", allocated[0])
            lines.append(f"{op} {registers}, [r1, #{4 * p.pair}]")
        if p.word not in words:
            room = min(len(free), block.weight_words - next_word)
            allocated = [free.pop(0) for _ in range(room)]
            loaded = [bias, *allocated] if next_word == 0 else allocated
            lines.append(load_next("r0", loaded))
            words |= dict(zip(range(next_word, next_word + room), allocated, strict=True))
            next_word += room
        to = f"r{4 + p.output}"
        lines.append(f"{p.op} {to}, {pairs[p.pair]}, {words[p.word]}, {bias if p.output in waiting else to}")
        waiting.discard(p.output)
    return lines


def _forget(left: list[Product], pairs: dict[int, str], words: dict[int, str], free: list[str]) -> None:
    """Free the registers of inputs and weights that no remaining product uses."""
    for held, needed in ((pairs, {p.pair for p in left}), (words, {p.word for p in left})):
        for key in [key for key in held if key not in needed]:
            free.append(held.pop(key))


KERNELS = (with_order(Kernel("depthwise_time", (DepthwiseConv2D,), INT8, pack, header="depthwise_time_s8", isa=DSP)),)
