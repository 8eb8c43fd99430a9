"""Depthwise convolutions over planar rows by code that is independent of the shape, for runtimes:
`mote_depthwise3_any_s8.h` and `mote_depthwise_any_s8.h`."""

from __future__ import annotations

from dataclasses import replace

from mote.compiler.kernels.armv7em.depthwise.records import Channels, Weights, stream
from mote.compiler.kernels.contract import Instance, Params, View
from mote.compiler.kernels.pack.params import pad_to
from mote.compiler.kernels.pack.planar import Planar
from mote.ir.ops.windows.depthwise import DepthwiseConv2D

BLOCK = 4
"""Outputs of a row that are computed at once (one block)."""
READ_PAST, COPY_PAST = 4, 8
"""3x3 kernel. READ_PAST: trailing bytes that a line needs after its blocks so that it can be read without a copy;
COPY_PAST: bytes appended to the copy of a line."""
COLUMNS = {4: 5, 5: 5, 6: 7, 7: 7}
"""Map from window width to the width that the code computes; the extra column has zero weights."""
READ = {(5, 1): 8, (5, 2): 12, (7, 1): 12, (7, 2): 16}
"""Bytes of a line that a block of outputs reads, by (computed window width, stride)."""


def any3_layout(view: View) -> Planar:
    """Planar layout for the 3x3 kernel, with the right padding stored in each line."""
    op, outputs = view.the(DepthwiseConv2D), view.output.shape[2]
    h = op.horizontal
    least = max((outputs - 1) * h.stride + 3, h.before + view.input.shape[2])
    return Planar(-(-least // 4) * 4, h.before)


def reaches_any3(view: View, line: int) -> bool:
    """Whether `line` bytes hold the right padding, and the bytes that the last block reads past a line's end are within
    the next line."""
    outputs, stride = view.output.shape[2], view.the(DepthwiseConv2D).horizontal.stride
    over = BLOCK * stride * -(-outputs // BLOCK) + (4 if stride == 1 else 1) - line
    return line >= (outputs - 1) * stride + 3 and over <= min(line, COPY_PAST)


def any3_parts(view: View, line: int, channels: Channels) -> tuple[str, tuple[Instance, ...], Params, int]:
    """The 3x3 kernel for rows of any length: name, instance, parameters, and scratch bytes: copies of a channel's
    lines, and an output row rounded up to whole blocks."""
    y, stride = view.output, view.the(DepthwiseConv2D).horizontal.stride
    fours = -(-y.shape[2] // BLOCK)
    columns = BLOCK * fours * stride
    params: Params = {
        "records": stream(channels.biases, channels.words(1, Weights.W16), channels.constants),
        "channels": y.shape[3],
        "wide": BLOCK * fours * y.shape[3],
        "skip": line - columns,
        "columns": columns,
        "outputs": y.shape[2],
    }
    form, shift = channels.form, channels.requantization.shift
    lines = 0 if line - columns >= READ_PAST else 3 * (line + COPY_PAST)
    instance = Instance("MOTE_DEPTHWISE3_ANY", (f"s{stride}", form, shift))
    return f"depthwise3_any_s{stride}_{form}_{shift}", (instance,), params, lines + _surplus(view)


def any_layout(view: View) -> Planar | None:
    """Planar layout for wider windows, with lines so long that blocks read nothing past their end; None: the window
    width is not supported."""
    h = view.the(DepthwiseConv2D).horizontal
    if h.kernel not in COLUMNS:
        return None
    columns, blocks = COLUMNS[h.kernel], -(-view.output.shape[2] // BLOCK)
    least = max(BLOCK * h.stride * (blocks - 1) + READ[columns, h.stride], h.before + view.input.shape[2])
    return Planar(-(-least // 4) * 4, h.before)


def any_parts(view: View, line: int, channels: Channels) -> tuple[str, tuple[Instance, ...], Params, int]:
    """The kernel for wider windows: name, instance, parameters, and scratch bytes: an output row rounded up to whole
    blocks."""
    y, h = view.output, view.the(DepthwiseConv2D).horizontal
    columns, stride = COLUMNS[h.kernel], f"s{h.stride}"
    padded = replace(channels, weights=pad_to(channels.weights, 2, columns))
    words = padded.words(h.stride, Weights.W16)
    records = stream(padded.biases, padded.constants, words)
    params: Params = {
        "records": records,
        "channels": y.shape[3],
        "outputs": y.shape[2],
        "line": line,
        "record": records.size // y.shape[3],
    }
    form, shift = channels.form, channels.requantization.shift
    instance = Instance("MOTE_DEPTHWISE_ANY", (columns, stride, form, shift))
    return f"depthwise_any{columns}_{stride}_{form}_{shift}", (instance,), params, _surplus(view)


def _surplus(view: View) -> int:
    """Scratch bytes for an output row rounded up to whole blocks; 0: the row is whole blocks already."""
    outputs, channels = view.output.shape[2:]
    return BLOCK * -(-outputs // BLOCK) * channels if outputs % BLOCK else 0
