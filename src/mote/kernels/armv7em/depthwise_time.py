"""Depthwise convolutions over time: the records and the code of `mote_depthwise_time_s8.h`.

A line holds a channel's values two to a word, so a block of outputs has the same products as one of a planar line:
those of `assembly.Block`, with stride 1. Registers: r0 the record, r1 the line, r2 the outputs, r4-r7 the sums;
inputs and weights pass by in the others, each loaded when it is needed and forgotten after its last product.
"""

from __future__ import annotations

from dataclasses import replace

from mote.kernels.armv7em.assembly import Block, Product, scale
from mote.kernels.armv7em.common import DSP, NO_CONSTANTS
from mote.kernels.armv7em.records import channels_of, stream
from mote.kernels.contract import INT8, Call, Instance, Kernel, Packed, Params, Refusal, View
from mote.ops.depthwise import DepthwiseConv2D

MOST_TAPS = 31
FREE = ("r3", "r8", "r9", "r10", "r11", "r12", "lr")


def pack(view: View, shift: int | None = None) -> Packed | Refusal:
    """The kernel for a window over rows of one pixel; `shift`: only with this one."""
    op, x, y = view.the(DepthwiseConv2D), view.input, view.output
    v, h = op.vertical, op.horizontal
    dense = (v.stride, v.dilation, v.before, v.after, h.kernel) == (1, 1, 0, 0, 1) and v.kernel <= MOST_TAPS
    if op.multiplier != 1 or not dense or x.shape[2] != 1 or y.shape[2] != 1 or x.shape[3] < 4:
        return Refusal("it is for rows of one pixel with four channels and more, without padding or strides")
    if y.shape[1] == 1:
        return Refusal("one output does not make up for lines of inputs")
    channels = channels_of(view, shift=shift)
    if channels is None:
        return NO_CONSTANTS
    channels = replace(channels.with_zero(x.zero_point), weights=channels.weights.transpose(0, 2, 1))
    records = stream(channels.biases, channels.words(1, "w16"), channels.constants)
    form, shift, record = channels.form, channels.found.shift, records.size // y.shape[3]
    name = f"depthwise_time_{y.shape[1]}_{v.kernel}_{form}_{shift}"
    made = tuple(code(v.kernel, y.shape[1], form, shift, record))
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
        Call.WHOLE,
        scratch=16 * ((x.shape[1] + 1) // 2),
        instances=(Instance("MOTE_TIME", (name, y.shape[1], v.kernel, form, shift), made),),
        beats=() if view.small else ("depthwise_column", "depthwise_column_wide"),
    )


def code(taps: int, outputs: int, form: str, shift: int, record: int) -> list[str]:
    """A function that computes all outputs of four channels, whose records have so many words. On the stack: the
    number of channels, three times as many, where the line's last block of four outputs ends, the record, the first
    output, and the record behind the last one."""
    fours, rest = divmod(outputs, 4)
    line = 4 * ((outputs + taps) // 2)
    return [
        "push {r4-r11, lr}",
        "add r4, r3, r3, lsl #1",
        f"add r5, r0, #{8 * fours}",
        "mov r6, r1",
        "mov r7, r2",
        f"add r8, r1, #{16 * record}",
        "push {r3-r8}",
        "mov r1, r0",
        "1:",
        *(_fours(taps, form, shift) if fours else []),
        *(_block(taps, rest, form, shift) if rest else []),
        f"add r1, r1, #{line - 8 * fours}",
        "add r3, sp, #8",
        "ldm r3, {r4-r7}",
        f"add r4, r4, #{line}",
        f"add r5, r5, #{4 * record}",
        "add r6, r6, #1",
        "cmp r5, r7",
        "stm r3, {r4-r6}",
        "mov r2, r6",
        "bne 1b",
        "add sp, sp, #24",
        "pop {r4-r11, pc}",
    ]


def _fours(taps: int, form: str, shift: int) -> list[str]:
    again = ["add r2, r2, r10, lsl #2", "add r1, r1, #8", "cmp r1, r12", "bne 2b"]
    return ["2:", *_block(taps, 4, form, shift), *again]


def _block(taps: int, outputs: int, form: str, shift: int) -> list[str]:
    """Outputs side by side; leaves the number of channels in r10 and where the last four outputs end in r12."""
    sums = [f"r{4 + j}" for j in range(outputs)]
    places = ["[r2]", "[r2, r10]", "[r2, r10, lsl #1]", "[r2, r11]"]
    return [
        "ldr r0, [sp, #12]",
        *_products(Block(taps, 1, outputs, 0, range(taps + outputs - 1))),
        f"ldm r0, {{r10, r11{', r12' if form == 'linear' else ''}}}",
        *(text for register in sums for text in scale(register, form)),
        *(f"ssat {register}, #8, {register}, asr #{shift}" for register in sums),
        "ldm sp, {r10-r12}",
        *(f"strb {register}, {place}" for register, place in zip(sums, places, strict=False)),
    ]


def _products(block: Block) -> list[str]:
    """All products of a block, in the order of its inputs; the bias comes with the first weights, to the register of
    the sum that is begun last."""
    products = sorted(block.products, key=lambda p: (p.pair, p.word))
    begun = list(dict.fromkeys(p.output for p in products))
    bias, waiting = f"r{4 + begun[-1]}", set(begun)
    free, pairs, words = list(FREE), dict[int, str](), dict[int, str]()
    next_word, lines = 0, list[str]()
    for at, p in enumerate(products):
        _forget(products[at:], pairs, words, free)
        if p.pair not in pairs:
            count = 2 if len(free) > 2 and any(q.pair == p.pair + 1 for q in products) else 1
            taken = [free.pop(0) for _ in range(count)]
            pairs |= dict(zip((p.pair, p.pair + 1), taken, strict=False))
            op, registers = ("ldrd", ", ".join(taken)) if count == 2 else ("ldr", taken[0])
            lines.append(f"{op} {registers}, [r1, #{4 * p.pair}]")
        if p.word not in words:
            room = min(len(free), block.weight_words - next_word)
            taken = [free.pop(0) for _ in range(room)]
            loaded = [bias, *taken] if next_word == 0 else taken
            lines.append(f"ldm r0!, {{{', '.join(loaded)}}}" if len(loaded) > 1 else f"ldr {loaded[0]}, [r0], #4")
            words |= dict(zip(range(next_word, next_word + room), taken, strict=True))
            next_word += room
        to = f"r{4 + p.output}"
        lines.append(f"{p.op} {to}, {pairs[p.pair]}, {words[p.word]}, {bias if p.output in waiting else to}")
        waiting.discard(p.output)
    return lines


def _forget(left: list[Product], pairs: dict[int, str], words: dict[int, str], free: list[str]) -> None:
    """Registers of what has no product left are free."""
    for held, needed in ((pairs, {p.pair for p in left}), (words, {p.word for p in left})):
        for key in [key for key in held if key not in needed]:
            free.append(held.pop(key))
    free.sort(key=FREE.index)


KERNELS = (Kernel("depthwise_time", (DepthwiseConv2D,), INT8, pack, header="depthwise_time_s8", isa=DSP),)
