"""Coded weights: codes decode to what was encoded, layers compute what the reference computes, and flash is saved where
weights compress."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mote.bench.evaluation.verify import verify
from mote.bench.measure import run
from mote.compiler.compiled import Compiled
from mote.compiler.kernels.contract import Packed
from mote.compiler.kernels.pack.weights.coding import BEHIND, Code, encode
from mote.compiler.line import compile
from mote.compiler.plan.selection import code_size_model as flash
from mote.compiler.plan.selection import select
from mote.compiler.plan.selection.select import Selection
from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from mote.ir.graph.region import Numbers
from tests.compiler.kernels.c_harness import Program
from tests.compiler.kernels.test_variants import layers, planar
from tests.helpers.forgetting import forgetting
from tests.helpers.support import HOST_DSP, check, emulated, exact_on, examples, needs_litert, soaked
from tests.ir.ops.windows import test_conv

ROOM = 1 << 20
SPREADS = ["any", "few", "small", "sparse", "none"]
QUICK = settings(max_examples=examples(2), deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def matrices(draw: st.DrawFn) -> np.ndarray:
    """Weights of every kind: even, bell-shaped, of few values, sparse, all the same."""
    shape = draw(st.integers(1, 20)), draw(st.integers(1, 40) | st.sampled_from([256, 257, 300, 1000]))
    rng = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    palette = rng.integers(-128, 128, draw(st.integers(1, 256)))
    found = {
        "even": rng.integers(-128, 128, shape),
        "bell": np.clip(rng.normal(0, draw(st.sampled_from([0.2, 1, 5, 20, 60])), shape), -128, 127),
        "few": rng.choice(palette, shape),
        "sparse": rng.integers(-128, 128, shape) * (rng.random(shape) < draw(st.sampled_from([0.001, 0.02, 0.3]))),
        "same": np.full(shape, palette[0]),
    }
    return found[draw(st.sampled_from(sorted(found)))].astype(np.int8)


def decode(code: Code, count: int) -> np.ndarray:
    """What mote_code.h says, bit by bit."""
    bits = "".join(f"{byte:08b}" for byte in code.bits) + "1"
    found: list[int] = []
    at = 0
    while len(found) < count:
        k = min(bits.index("1", at) - at, len(code.classes) - 1)
        base, shift = divmod(int(code.classes[k]), 32)
        place = int(bits[at : at + 32 - shift], 2) + base
        found += [0] * place if k == code.run else [int(code.values[place])]
        at += 32 - shift
    assert at <= 8 * (len(code.bits) - BEHIND)
    return np.array(found)


@given(matrices())
@settings(max_examples=examples(150), deadline=None)
def test_codes_decode_to_what_was_encoded(weights: np.ndarray) -> None:
    code = encode(weights)
    assert np.array_equal(decode(code, weights.size), weights.reshape(-1))
    assert code.classes.size <= 12 and all(32 - (c & 31) <= 25 for c in code.classes)


@given(st.lists(matrices(), min_size=12, max_size=12))
@settings(max_examples=examples(3), deadline=None)
def test_the_decoder_in_c(several: list[np.ndarray]) -> None:
    """Under the sanitizers, with every code in a block of its own: nothing is read behind it."""
    program = Program(includes={"mote_coded_s8.h": None})
    for weights in several:
        code = encode(weights)
        parts = [program.block(a.nbytes, a) for a in (code.bits, code.values, code.classes)]
        out = program.block(weights.size)
        program.say(f"memset({out}, 0, {weights.size});")
        program.say(f"{{ const mote_code_t c = {{{', '.join(parts)}, {code.params['stop']}u, {code.run}}};")
        program.say("uint32_t at = 0;")
        for row in range(len(weights)):
            program.say(
                f"at = mote_expand(&c, at, (int8_t *){out} + {row * weights.shape[1]}, {weights.shape[1]});",
            )
        program.say("}")
        program.write(out, weights.size)
    assert program.run() == b"".join(weights.tobytes() for weights in several)


@pytest.mark.parametrize(
    ("spread", "most"),
    [("any", 8.1), ("few", 2.01), ("small", 4.05), ("sparse", 0.84), ("none", 0.05)],
)
def test_bits_of_a_weight(spread: str, most: float) -> None:
    """Sparse: one in twenty is not zero, which no code says in less than 0.69 bits."""
    weights = test_conv.spread(np.random.default_rng(0), (256, 256), spread)
    assert 8 * encode(weights).nbytes / weights.size <= most


@pytest.fixture(params=soaked(range(5), [0, 3]))
def nth(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Operators get the n-th of their kernels with coded weights, where they have some."""

    def pick(kernels: Sequence[Packed]) -> Packed:
        coded = [k for k in kernels if k.price.coding is not None]
        return coded[request.param % len(coded)] if coded else kernels[0]

    def smallest(self: Selection, found: Mapping[Numbers, Sequence[Packed]]) -> dict[Numbers, list[Packed]]:
        return {ops: [pick(kernels)] for ops, kernels in found.items()}

    monkeypatch.setattr(Selection, "_smallest", smallest)
    monkeypatch.setattr(flash, "DECODER", -(1 << 30))
    return int(request.param)


def spreads(layer: test_conv.Config) -> st.SearchStrategy[test_conv.Config]:
    return st.sampled_from(SPREADS).map(lambda weights: replace(layer, weights=weights))


def convolutions() -> st.SearchStrategy[test_conv.Config]:
    """With more channels than are expanded at once."""
    more = st.sampled_from([1, 2, 5, 8, 11, 14, 35])
    found = st.tuples(layers(), more).map(lambda both: replace(both[0], outputs=both[1]))
    return found.flatmap(spreads)


def dense() -> st.SearchStrategy[test_conv.Config]:
    configs = test_conv.configs("FULLY_CONNECTED").map(lambda c: replace(c, dtype="int8"))
    return configs.flatmap(spreads)


def mixed() -> st.SearchStrategy[bytes]:
    both = st.tuples(*[convolutions()] * 8, *[dense()] * 8)
    return both.map(lambda configs: test_conv.model(list(configs)))


def is_coded(compiled: Compiled) -> bool:
    return any(step.kernel.price.coding is not None for step in compiled.plan.steps)


@pytest.mark.quick_cases(1)
@needs_litert
@pytest.mark.parametrize("target", ["host", HOST_DSP])
@given(model=mixed())
@QUICK
def test_on_the_host(nth: int, target: str, model: bytes) -> None:
    assert is_coded(check(model, target=target, optimize="size", ram=ROOM))


@pytest.mark.slow
@needs_litert
@pytest.mark.parametrize("target", ["cortex-m4", "cortex-m0plus"])
@given(model=mixed())
@QUICK
def test_on_cores(nth: int, target: str, model: bytes) -> None:
    compiled = compile(model, target=emulated(target), optimize="size", ram=ROOM)
    result = verify(compiled, 2)
    assert is_coded(compiled) and result.passed, result.mismatches


@pytest.mark.slow
@needs_litert
@given(model=planar(convolutions(), 3))
@QUICK
def test_into_planar_rows(nth: int, model: bytes) -> None:
    whole = {"optimize": "size", "ram": ROOM, "shrink": False}
    assert is_coded(check(model, target=HOST_DSP, **whole))
    exact_on("cortex-m4", model, 2, **whole)


@pytest.mark.quick_cases(1)
@needs_litert
@given(model=st.lists(dense(), min_size=12, max_size=12).map(test_conv.model))
@QUICK
def test_rounding_twice(nth: int, model: bytes) -> None:
    result = verify(compile(model, target="host", optimize="size", ram=ROOM, numerics="tflm"), 3)
    assert result.passed, result.mismatches


def network(weights: str) -> bytes:
    """A small network as usual, with small tensors behind large ones; all its weights are spread so."""
    w = Writer("network")
    usual = test_conv.Config(
        kind="CONV_2D", dtype="int8", batch=1, size=(16, 16), channels=8, outputs=32, kernel=(1, 1), stride=(1, 1),
        dilation=(1, 1), padding="SAME", activation="RELU", per_channel=True, bias=True, gain=1.0, zeros=(-128, -128),
        seed=1, weights=weights,
    )  # fmt: skip
    halved = {"kernel": (3, 3), "stride": (2, 2)}
    second = replace(usual, **halved, channels=32, seed=2)
    third = replace(usual, size=(8, 8), channels=32, outputs=64, seed=3)
    y = test_conv.add_layer(w, 0, usual, output=False)
    for i, layer in enumerate([second, third, replace(third, **halved, channels=64, seed=4)], 1):
        y = test_conv.add_layer(w, i, layer, source=y, output=False)
    flat = w.tensor("flat", (1, 1024), "int8", scale=0.05, zero_point=-128)
    w.op("RESHAPE", [y, w.const("shape", np.array([1, 1024], np.int32))], [flat])
    dense = replace(usual, kind="FULLY_CONNECTED", size=(1, 1024), channels=1, per_channel=False, seed=5)
    test_conv.add_layer(w, 4, dense, source=flat)
    return w.finish()


def compiled_plain(model: bytes, target: str) -> Compiled:
    """As if decoders took more code than there is."""
    with pytest.MonkeyPatch.context() as patch, forgetting():
        patch.setattr(flash, "DECODER", 1 << 30)
        patch.setattr(flash, "_known", WeakKeyDictionary())
        return compile(model, target=target, optimize="size")


@pytest.mark.slow
@needs_litert
@pytest.mark.parametrize("spread", ["few", "small", "sparse"])
def test_weights_that_compress_take_less_flash(spread: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(select, "MOST_DECODING", 1 << 30)
    target = emulated("cortex-m4")
    plain, coded = compiled_plain(network(spread), target), compile(network(spread), target=target, optimize="size")
    assert is_coded(coded) and not is_coded(plain)
    before, after = (run.run(c).flash for c in (plain, coded))
    weights = sum(t.nbytes for t in tflite.parse(network(spread), spread).tensors.values() if t.data is not None)
    assert after.total < 0.65 * weights
    assert after.total < 0.75 * before.total  # which has some weights of four bits two in a byte
    kernels = {step.kernel.name for step in coded.plan.steps if step.kernel.price.coding is not None}
    assert after.code is not None and before.code is not None
    assert after.code - before.code <= flash.DECODER + flash.DECODING * len(kernels)
    assert verify(coded, 3).passed


def test_weights_that_do_not_compress_stay_as_they_are() -> None:
    model = network("any")
    plain = compiled_plain(model, "cortex-m4")
    assert compile(model, target="cortex-m4", optimize="size").project.files == plain.project.files


@pytest.mark.parametrize("optimize", ["speed", "balanced"])
def test_weights_are_coded_for_size_only(optimize: str) -> None:
    assert not is_coded(compile(network("sparse"), target="cortex-m4", optimize=optimize))


def layer(kind: str, size: tuple[int, int], channels: int, outputs: int) -> bytes:
    """One with weights of four bits."""
    w = Writer("layer")
    config = test_conv.Config(
        kind=kind, dtype="int8", batch=1, size=size, channels=channels, outputs=outputs, kernel=(1, 1), stride=(1, 1),
        dilation=(1, 1), padding="SAME", activation="NONE", per_channel=False, bias=True, gain=1.0, zeros=(0, 0),
        seed=1, weights="small",
    )  # fmt: skip
    test_conv.add_layer(w, 0, config)
    return w.finish()


@pytest.mark.parametrize(("outputs", "coded"), [(8, False), (128, True)])
def test_what_is_saved_must_be_more_than_the_code(outputs: int, coded: bool) -> None:
    model = layer("CONV_2D", (12, 12), 64, outputs)
    assert is_coded(compile(model, target="cortex-m4", optimize="size", ram=ROOM)) == coded


@pytest.mark.parametrize(("flash", "coded"), [(None, False), (64_000, False), (9_000, True)])
def test_fully_connected_layers_are_coded_where_flash_is_short(flash: int | None, coded: bool) -> None:
    """They use a weight once: to decode it takes many times as long."""
    model = layer("FULLY_CONNECTED", (1, 256), 1, 64)
    assert is_coded(compile(model, target="cortex-m4", optimize="size", flash=flash)) == coded


def test_convolutions_by_rows_are_not_coded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row would decode all weights again."""
    monkeypatch.setattr(select, "MOST_DECODING", 1 << 30)
    compiled = compile(network("sparse"), target="cortex-m4", optimize="size", step="row")
    coded = [compiled.plan.op(step).kind for step in compiled.plan.steps if step.kernel.price.coding is not None]
    assert coded == ["FULLY_CONNECTED"]
