"""Models of UNIDIRECTIONAL_SEQUENCE_LSTM of any kind."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

from mote.frontends.tflite.writer import NO_TENSOR, Writer


@dataclass(frozen=True)
class Config:
    """`outputs`: of a projection, if there is one. `gain`: how large gates are. `zeros`: of the input, the output and
    the hidden output."""

    dtype: str = "int8"
    batch: int = 1
    time: int = 1
    inputs: int = 6
    cells: int = 8
    outputs: int = 0
    coupled: bool = False
    peepholes: bool = False
    normalized: bool = False
    time_major: bool = False
    projection_bias: bool = True
    clips: tuple[float, float] = (0.0, 0.0)
    gain: float = 1.0
    zeros: tuple[int, int, int] = (3, -2, -2)
    cell_bits: int = 4
    stateless: bool = False
    """It begins every inference with constants (int8 only)."""
    seed: int = 0


KINDS = ("int8", "int8", "float32")


@st.composite
def plain(draw: st.DrawFn, dtypes: tuple[str, ...] = KINDS) -> Config:
    """Floats with large gates would be chaotic: any error grows."""
    zero = st.integers(-128, 127)
    dtype = draw(st.sampled_from(dtypes))
    return Config(
        dtype=dtype,
        batch=draw(st.sampled_from([1, 1, 2, 3])),
        time=draw(st.sampled_from([1, 1, 2, 4])),
        inputs=draw(st.integers(1, 20)),
        cells=draw(st.integers(1, 20)),
        time_major=draw(st.booleans()),
        clips=draw(st.tuples(*[st.sampled_from([0.0, 0.0, 0.3, 5.0])] * 2)),
        gain=draw(st.sampled_from([0.1, 1.0, 1.0, 10.0, 1e-6, 1e5] if dtype == "int8" else [0.1, 1.0])),
        zeros=draw(st.tuples(zero, zero, zero)),
        cell_bits=draw(st.integers(0, 6)),
        stateless=dtype == "int8" and draw(st.booleans()),
        seed=draw(st.integers(0, 1 << 30)),
    )


@st.composite
def any_kind(draw: st.DrawFn, dtypes: tuple[str, ...] = KINDS) -> Config:
    """Few enough cells and outputs for LiteRT to compute them one by one: on Arm it has other code for 8 or 16 at a
    time, which rounds projections and peepholes differently and overflows in normalization."""
    c = draw(plain(dtypes))
    cells = draw(st.integers(1, 7))
    c = replace(
        c,
        batch=min(c.batch, 2),
        cells=cells,
        outputs=draw(st.sampled_from([0, 1, 3, cells])),
        coupled=draw(st.booleans()),
        peepholes=draw(st.booleans()),
        normalized=draw(st.booleans()),
        projection_bias=draw(st.booleans()),
    )
    mixed = c.dtype == "int8" and c.peepholes and c.outputs
    return replace(c, outputs=min(c.outputs, c.cells), batch=1) if mixed else c


def add_layer(w: Writer, i: int, c: Config) -> None:
    rng = np.random.default_rng(c.seed)
    quantized, outputs = c.dtype == "int8", c.outputs or c.cells

    def weights(name: str, shape: tuple[int, ...], kind: str = "int8", size: float = 1.0) -> int:
        if not quantized:
            return w.const(f"{name}{i}", (rng.uniform(-1, 1, shape) * size).astype(np.float32))
        top = np.iinfo(kind).max
        return w.const(f"{name}{i}", rng.integers(-top, top + 1, shape).astype(kind), scale=size / top)

    def bias(name: str, n: int, scale: float, size: float) -> int:
        values = rng.uniform(-size, size, n)
        if not quantized:
            return w.const(f"{name}{i}", values.astype(np.float32))
        whole = np.clip(np.round(values / scale), -(2.0**31), 2.0**31 - 1)
        return w.const(f"{name}{i}", whole.astype(np.int32), scale=scale)

    def quant(scale: float, zero: int = 0) -> dict[str, object]:
        return {"scale": scale, "zero_point": zero} if quantized else {}

    in_scale, w_size, r_size = 1 / 64, 1.5 * c.gain / c.inputs**0.5, 1.5 * c.gain / outputs**0.5
    norm_size = 1.0
    b_scale = norm_size / 32767 / 1024 if c.normalized else in_scale * w_size / 127
    order = (c.time, c.batch) if c.time_major else (c.batch, c.time)
    x = w.input(f"x{i}", (*order, c.inputs), c.dtype, **quant(in_scale, c.zeros[0]))
    gates = [g for g in range(4) if not (c.coupled and g == 0)]
    reads = [x, *[NO_TENSOR] * 23]
    for g in gates:
        reads[1 + g] = weights(f"w{g}_", (c.cells, c.inputs), size=w_size)
        reads[5 + g] = weights(f"r{g}_", (c.cells, outputs), size=r_size)
        reads[12 + g] = bias(f"b{g}_", c.cells, b_scale, 0.5)
        if c.peepholes and g != 2:
            reads[9 + (0, 1, 0, 2)[g]] = weights(f"p{g}_", (c.cells,), "int16", size=0.5 * c.gain)
        if c.normalized:
            reads[20 + g] = weights(f"n{g}_", (c.cells,), "int16", size=norm_size)
    hidden = 1 / 128
    if c.outputs:
        size = 1.5 / c.cells**0.5
        reads[16] = weights("proj", (outputs, c.cells), size=size)
        if c.projection_bias:
            reads[17] = bias("projb", outputs, size / 127 * hidden, 0.2)
    reads[18] = w.variable(f"h{i}", (c.batch, outputs), c.dtype, **quant(1 / 128, c.zeros[1]))
    cell = w.variable(
        f"c{i}", (c.batch, c.cells), "int16" if quantized else "float32", **quant(2.0 ** (c.cell_bits - 15))
    )
    reads[19] = cell
    if c.stateless and not c.normalized:
        for state, kind, size, how in (
            (reads[18], "int8", outputs, quant(1 / 128, c.zeros[1])),
            (reads[19], "int16", c.cells, quant(2.0 ** (c.cell_bits - 15))),
        ):
            begin = rng.integers(-100, 100, (c.batch, size)).astype(kind)
            places = [w.const("place", np.array(place, np.int32)) for place in ((0, 0), begin.shape)]
            w.op("SLICE", [w.const(f"begin_{kind}_{i}", begin, **how), *places], [state])
    y = w.tensor(f"y{i}", (*order, outputs), c.dtype, **quant(1 / 128, c.zeros[1]))
    inner = []
    if quantized:
        scales = [2.0**-12 * (1 + g / 3) if c.normalized else None for g in range(4)]
        inner = [w.tensor(f"m{g}_{i}", (0,), "int16", scale=s) for g, s in enumerate(scales)]
        inner.append(w.tensor(f"m4_{i}", (0,), "int8", scale=hidden, zero_point=c.zeros[2]))
    w.op(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        reads,
        [y],
        intermediates=inner,
        fused_activation_function="TANH",
        time_major=c.time_major,
        cell_clip=c.clips[0],
        proj_clip=c.clips[1],
    )
    w.output(y)


def model(*layers: Config) -> bytes:
    w = Writer("lstm")
    for i, c in enumerate(layers):
        add_layer(w, i, c)
    return w.finish()
