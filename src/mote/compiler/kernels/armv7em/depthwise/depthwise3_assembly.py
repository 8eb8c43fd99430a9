"""Assembly of `mote_depthwise3_s8.h` specialized to a layer: 3x3 windows over planar rows whose outputs are one block.

It computes what the header's macros compute for any number of channels. Here that number is a constant: outputs are
stored at constant offsets, and the instructions can be rescheduled.

Registers: r0-r2 the input rows, r3 the channel's record (with two rows: r0 and r1 the rows, r2 the weights of the first
one), sums from r4 on, r10 and r11 weights, r12 and lr inputs. On the stack: the address of the current channel's first
output, and the end address, that of one channel past the last.
"""

from __future__ import annotations

from mote.compiler.kernels.armv7em.depthwise.depthwise_wide_assembly import scale
from mote.compiler.kernels.assembly import MOST_OFFSET, enter, leave

WEIGHTS, CONSTANTS = 4, 28
"""Byte offsets of the weights and of the requantization constants in a channel's record."""
RECORD = {"relu": 36, "linear": 40}
"""Size of a channel's record in bytes, by the form of requantization (`relu`, `linear`)."""


def code(
    rows: int, stride: int, outputs: int, closed: bool, line: int, channels: int, form: str, shift: int
) -> list[str]:
    """A function that computes `outputs` of each channel from two or three input rows. `closed`: the third window
    column of the last output is padding; `line`: bytes of a channel's line."""
    sums = [f"r{4 + j}" for j in range(outputs)]
    assert (outputs - 1) * channels <= MOST_OFFSET
    arguments = ["mov r3, r0", "ldm r1, {r0-r2}"] if rows == 3 else ["add r2, r0, r3", "mov r3, r0", "ldm r1, {r0, r1}"]
    body = [f"ldr {sums[-1]}, [r3]"]
    for k in range(rows):
        at = f"r3, #{WEIGHTS + 8 * k}" if rows == 3 else f"r2, #{8 * k}"
        body += [f"ldrd r10, r11, [{at}]", *_row(f"r{k}", stride, outputs, closed, line, first=k == 0)]
    return [
        *enter(),
        "ldm r0, {r0, r5, r6, r7, r8}",
        "add r4, r2, r6",
        "add r5, r4, r5",
        "push {r4, r5}",
        *arguments,
        *(f"add r{i}, r{i}, r8" for i in range(rows)),
        "1:",
        *body,
        f"ldrd r10, r11, [r3, #{CONSTANTS}]",
        *([f"ldr r12, [r3, #{CONSTANTS + 8}]"] if form == "linear" else []),
        *(text for register in sums for text in scale(register, form)),
        *(f"ssat {register}, #8, {register}, asr #{shift}" for register in sums),
        f"add r3, r3, #{RECORD[form]}",
        *([f"add r2, r2, #{RECORD[form]}"] if rows == 2 else []),
        "ldrd r12, lr, [sp]",
        *(f"strb {register}, [r12, #{channels * j}]" for j, register in enumerate(sums) if j),
        f"strb {sums[0]}, [r12], #1",
        "str r12, [sp]",
        "cmp r12, lr",
        "bne.w 1b",
        *leave(8),
    ]


def _row(row: str, stride: int, outputs: int, closed: bool, line: int, *, first: bool) -> list[str]:
    """Multiply-accumulate one input row into all sums: pair i of inputs is columns 2 i and 2 i + 1. `first`: sums start
    from the bias, which is in the register of the last sum."""
    columns = stride * (outputs - 1) + (2 if closed else 3)
    pairs, started = -(-columns // 2), set[int]()
    lines: list[str] = []
    for i in range(pairs):
        word, odd = divmod(i, 2)
        if not odd:
            lines.append(f"ldr r12, [{row}, #{4 * word}]")
            lines += ["uxtb16 lr, r12, ror #8"] if i + 1 < pairs else []
            lines.append("uxtb16 r12, r12")
        for op, j, weights in _products(i, stride, outputs, closed):
            bias = f"r{3 + outputs}" if first and j not in started else f"r{4 + j}"
            lines.append(f"{op} r{4 + j}, {'lr' if odd else 'r12'}, {weights}, {bias}")
            started.add(j)
    return [*lines, f"add {row}, {row}, #{line}"]


def _products(i: int, stride: int, outputs: int, closed: bool) -> list[tuple[str, int, str]]:
    """Products of input pair `i`: instruction, output index, and register of two weights (r10: w0, w1; r11: w1, w2).
    Sums that this pair starts come last, in ascending order."""
    last = outputs - 1
    if stride == 2:
        third = [("smlabt", i - 1, "r11")] if 0 < i <= outputs and not (closed and i - 1 == last) else []
        return [*third, *([("smlad", i, "r10")] if i < outputs else [])]
    products = []
    if 0 <= 2 * i - 2 < outputs and not (closed and 2 * i - 2 == last):
        products.append(("smlabt", 2 * i - 2, "r11"))
    if 0 <= 2 * i - 1 < outputs:
        products.append(("smlabb" if closed and 2 * i - 1 == last else "smlad", 2 * i - 1, "r11"))
    products += [("smlad", 2 * i, "r10")] if 2 * i < outputs else []
    return [*products, *([("smlatb", 2 * i + 1, "r10")] if 2 * i + 1 < outputs else [])]
