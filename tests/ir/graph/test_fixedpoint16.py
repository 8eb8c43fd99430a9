"""The 16-bit functions that LSTMs are made of: every value in LiteRT, in C, and against the real functions."""

from __future__ import annotations

import numpy as np
import pytest

from mote.frontends.tflite.writer import NO_TENSOR, Writer
from mote.ir.graph.numeric.fixedpoint import rounding_shift_right
from mote.ir.graph.numeric.fixedpoint16 import inverse_sqrt, logistic16, tanh16
from tests.compiler.kernels.c_harness import Program
from tests.helpers.support import needs_litert

EVERY = np.arange(-32768, 32768)


def gates_of_every_value(zoomed: str) -> bytes:
    """65536 cells, one for each value of a gate before its activation: `forget`, which keeps a share of the cells, or
    `cell`, which adds to them. One output, so that the matrices are small."""
    w = Writer("every")
    n = len(EVERY)
    x = w.input("x", (1, 1, 1), "int8", scale=2.0**-6)
    reads = [x, *[NO_TENSOR] * 23]
    for i, gate in enumerate(("input", "forget", "cell", "output")):
        reads[1 + i], reads[5 + i] = (w.const(f"{m}{i}", np.zeros((n, 1), np.int8), scale=2.0**-6) for m in "wr")
        values = EVERY if gate == zoomed else np.full(n, 32767 if gate == "input" else 0)
        reads[12 + i] = w.const(f"b{i}", values.astype(np.int32), scale=2.0**-12)
    reads[16] = w.const("p", np.zeros((1, n), np.int8), scale=2.0**-6)
    reads[18] = w.variable("h", (1, 1), "int8", scale=2.0**-7)
    reads[19] = w.variable("c", (1, n), "int16", scale=2.0**-15)
    inner = [w.tensor(f"m{i}", (0,), "int8", scale=2.0**-12 if i < 4 else 2.0**-7) for i in range(5)]
    y = w.tensor("y", (1, 1, 1), "int8", scale=2.0**-7)
    w.op("UNIDIRECTIONAL_SEQUENCE_LSTM", reads, [y], intermediates=inner, fused_activation_function="TANH")
    w.output(y)
    return w.finish()


def cells_in_litert(data: bytes, first: int) -> np.ndarray:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    interpreter = Interpreter(model_content=data, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    (cells,) = (d for d in interpreter.get_tensor_details() if d["name"] == "c")
    interpreter.set_tensor(cells["index"], np.full((1, len(EVERY)), first, np.int16))
    interpreter.invoke()
    return np.asarray(interpreter.get_tensor(cells["index"]))[0].astype(np.int64)


@needs_litert
def test_every_value_of_a_gate_in_litert() -> None:
    kept = cells_in_litert(gates_of_every_value("forget"), 32767)
    assert np.array_equal(kept, rounding_shift_right(logistic16(EVERY) * 32767, 15))
    added = cells_in_litert(gates_of_every_value("cell"), 0)
    assert np.array_equal(added, rounding_shift_right(tanh16(EVERY, 3) * logistic16(np.array(32767)), 15))


def test_every_value_of_the_functions_in_c() -> None:
    program = Program(includes={"mote_fixed_s16.h": None})
    values = "mote_logistic_s16(x), " + ", ".join(f"mote_tanh_s16(x, {bits})" for bits in range(7))
    program.say("for (int32_t x = -32768; x < 32768; x++) {", f"const int32_t y[] = {{{values}}};")
    program.write("y", 32)
    program.say("}")
    got = np.frombuffer(program.run(), np.int32).reshape(-1, 8)
    assert np.array_equal(got[:, 0], logistic16(EVERY))
    for bits in range(7):
        assert np.array_equal(got[:, 1 + bits], tanh16(EVERY, bits)), bits


def test_functions_are_what_they_are_called() -> None:
    x = EVERY / 4096
    assert np.abs(logistic16(EVERY) / 32768 - 1 / (1 + np.exp(-x))).max() < 6e-4
    for bits in range(7):
        assert np.abs(tanh16(EVERY, bits) / 32768 - np.tanh(x * 2.0 ** (bits - 3))).max() < 6e-4, bits
    for n in [1, 2, 3, 100, 12345, 1 << 20, (1 << 30) + 7]:
        mult, shift = inverse_sqrt(n)
        assert mult / 2**31 * 2.0**shift == pytest.approx(n**-0.5, rel=2e-6)
