"""GRU, LSTM and simple recurrent layers over whole sequences: `mote_gru_f32.h`, `mote_lstm_sequence_f32.h`,
`mote_rnn_sequence_f32.h`."""

from __future__ import annotations

from collections.abc import Callable

from mote.compiler.kernels.contract import FLOAT32, Entry, Kernel, Needs, Packed, Params, Refusal, View
from mote.compiler.kernels.pack.weights.interleave4 import by_channels
from mote.ir.ops.common import FLOAT_MAX
from mote.ir.ops.recurrent.gates import Gate
from mote.ir.ops.recurrent.gru import Gru
from mote.ir.ops.recurrent.sequences import (
    BIAS,
    LENGTHS,
    PEEPHOLES,
    RECURRENT,
    WEIGHTS,
    LstmSequence,
    Recurrent,
    RecurrentOutput,
    RnnSequence,
)

REASONS = {
    "any": "gates have unusual functions",
    "given": "lengths and states are given",
    "": "it begins with zeros and has the usual gates",
}
"""Refusals by the variant that a layer needs: why other variants do not fit."""
Pack = Callable[[View], Packed | Refusal]


def _steps(view: View) -> Params:
    op = view.the(Recurrent)
    batch, time = op.batch_and_time(view.graph)
    inputs, units, begins = view.input.shape[-1], op.units(view.graph), op.begins(view.graph)
    first = op.time_major
    return {
        "batch": batch,
        "time": time,
        "inputs": inputs,
        "units": units,
        "in_batch": inputs if first else time * inputs,
        "in_time": batch * inputs if first else inputs,
        "out_batch": units if first else time * units,
        "out_time": batch * units if first else units,
        "backward": int(op.backward),
        "sequence": begins.get(RecurrentOutput.SEQUENCE, -1),
        "hidden": begins.get(RecurrentOutput.HIDDEN, -1),
        "cell": begins.get(RecurrentOutput.CELL, -1),
    }


def _gate(gate: Gate) -> Params:
    clip = gate.clip or FLOAT_MAX
    return {"function": int(gate.function), "alpha": gate.alpha, "beta": gate.beta, "clip": clip}


def _gru(view: View) -> Params:
    op, units = view.the(Gru), view.the(Gru).units(view.graph)
    recurrent, bias = view.constant(RECURRENT), view.constant(BIAS)
    params: Params = {
        "gate": _gate(op.gate),
        "fresh": _gate(op.fresh),
        "weights": by_channels(view.constant(WEIGHTS)),
        "recurrent": by_channels(recurrent[: 2 * units]),
        "candidate": by_channels(recurrent[2 * units :]),
        "bias": bias[: 3 * units],
    }
    return params | ({"after": bias[3 * units :]} if op.after else {})


def _lstm(view: View) -> Params:
    op = view.the(LstmSequence)
    params: Params = {
        **{name: _gate(gate) for name, gate in zip(("gate", "fresh", "shown"), op.gates, strict=True)},
        "coupled": int(op.coupled),
        **_matrices(view),
    }
    seen = op.tensor(view.graph, PEEPHOLES)
    return params if seen is None else params | {"peepholes": view.constant(PEEPHOLES)}


def _rnn(view: View) -> Params:
    return {"gate": _gate(view.the(RnnSequence).gate), **_matrices(view)}


def _matrices(view: View) -> Params:
    weights, recurrent = (by_channels(view.constant(p)) for p in (WEIGHTS, RECURRENT))
    return {"weights": weights, "recurrent": recurrent, "bias": view.constant(BIAS)}


def _packer(name: str, params: Callable[[View], Params], vectors: int, form: str) -> Pack:
    """Returns the packer of one variant: "" (initial states are zero), "given" (lengths and initial states are inputs),
    or "any" (gates with any activation functions)."""

    def pack(view: View) -> Packed | Refusal:
        op = view.the(Recurrent)
        given, whole = op.given(view.graph), [LENGTHS, *op.states]
        wanted = "any" if not all(gate.usual for gate in op.gates) else "given" if given else ""
        if form != wanted:
            return Refusal(REASONS[wanted])
        operands = (0,) if form == "" else (0, *whole)
        full = f"{name}_{form}_f32" if form else f"{name}_f32"
        scratch = 4 * vectors * op.units(view.graph)
        return Packed(full, {"steps": _steps(view), **params(view)}, Entry(operands=operands), Needs(scratch=scratch))

    return pack


def _kernels(name: str, kind: type[Recurrent], params: Callable[[View], Params], vectors: int) -> list[Kernel]:
    return [
        Kernel(
            f"{name}_{form}_f32" if form else f"{name}_f32",
            (kind,),
            FLOAT32,
            _packer(name, params, vectors, form),
            header=f"{name}_f32",
            costs="fully_connected_f32",
        )
        for form in ("", "given", "any")
    ]


KERNELS = (
    *_kernels("gru", Gru, _gru, 5),
    *_kernels("lstm_sequence", LstmSequence, _lstm, 6),
    *_kernels("rnn_sequence", RnnSequence, _rnn, 2),
)
