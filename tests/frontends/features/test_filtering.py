"""Steps that filter signals: against SciPy's filters, in clips and in pieces of a stream, and before a model."""

from __future__ import annotations

import numpy as np
import pytest

from mote.base.errors import MoteError
from mote.bench.evaluation.verify import verify
from mote.compiler.line import compile
from mote.frontends.features.building import applied
from mote.frontends.features.pipeline import preprocessing
from mote.frontends.features.sample import Sample
from mote.frontends.features.sensor import Sensor
from mote.frontends.features.signal import SignalBuilder
from mote.ir.graph.tensor import Array
from tests.helpers.chains import evaluated
from tests.helpers.network import Net

RATE = 8000


def noise(samples: int, channels: int = 1, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(0, 3000, (samples, channels)).round().astype(np.int16)


def done(steps: str, values: Array) -> Array:
    """The samples after steps, in integers."""
    sensor = f"motion(rate={RATE},channels={values.shape[1]})"
    made: Array = preprocessing(f"{sensor},{steps}")(Sample(values)).values
    return made.reshape(len(made), -1)


def test_filters_are_scipys() -> None:
    scipy = pytest.importorskip("scipy.signal")
    x = noise(700, 2)
    for steps, wanted in {
        "low-pass=500": scipy.sosfilt(scipy.butter(2, 500, fs=RATE, output="sos"), x, 0),
        "high-pass(40,order=5)": scipy.sosfilt(scipy.butter(5, 40, "high", fs=RATE, output="sos"), x, 0),
        "band-pass(500,900,order=3)": scipy.sosfilt(scipy.butter(3, (500, 900), "band", fs=RATE, output="sos"), x, 0),
        "notch(50,q=10)": scipy.lfilter(*scipy.iirnotch(50, 10, RATE), x, 0),
        "biquad(0.2,0.1,0.05,-1.1,0.4)": scipy.lfilter([0.2, 0.1, 0.05], [1, -1.1, 0.4], x, 0),
    }.items():
        np.testing.assert_allclose(done(steps, x), wanted, atol=0.52, err_msg=steps)
    for order in (1, 2, 4):
        wanted = scipy.sosfilt(scipy.butter(order, 8, fs=RATE, output="sos"), x, 0)
        np.testing.assert_allclose(done(f"low-pass(8,order={order})", x), wanted, atol=0.6)
    for steps, wanted in {
        "low-pass(500,taps=31)": scipy.lfilter(scipy.firwin(31, 500, fs=RATE), 1, x, 0),
        "high-pass(500,taps=31)": scipy.lfilter(scipy.firwin(31, 500, fs=RATE, pass_zero=False), 1, x, 0),
        "fir(0.5,-0.25,0.125)": scipy.lfilter([0.5, -0.25, 0.125], 1, x, 0),
        "decimate(4,taps=1)": x[::4],
        "decimate=5": scipy.lfilter(scipy.firwin(101, 0.167), 1, x, 0)[::5],
        "pre-emphasis=0.97": scipy.lfilter([1, -0.97], 1, x, 0),
    }.items():
        np.testing.assert_allclose(done(steps, x), wanted, atol=1.5, err_msg=steps)


def test_values_are_normalized() -> None:
    x = noise(700, 2) + np.array([500, -9000], np.int16)
    np.testing.assert_allclose(done("normalize", x), (x - x.mean(0)) / x.std(0), atol=1e-3)
    np.testing.assert_allclose(done("normalize(deviation=0)", x), x - x.mean(0), atol=0.51)
    settled = done("running-normalize(shift=5,mean=-4000,std=4000)", x)[300:]
    assert np.all(np.abs(settled.mean(0)) < 0.15) and np.all(np.abs(settled.std(0) - 1) < 0.15)
    assert np.all(np.abs(done("remove-dc=5", x)[300:].mean(0)) < 300)
    gain = done("running-normalize(shift=5,center=0,least=100)", x)[300:]
    np.testing.assert_allclose(np.sqrt(np.square(gain).mean(0)), 1, atol=0.1)


STREAM = (
    "pre-emphasis=0.9,remove-dc=6,low-pass(1500,taps=23),high-pass=50,decimate(2,taps=9),decimate=8,"
    "running-normalize(shift=4)"
)


@pytest.mark.parametrize("rows", [1, 3])
def test_a_stream_in_pieces_is_a_clip(rows: int) -> None:
    """Pieces of a few rows, with what filters keep between them, give the samples of the signal as a whole."""
    x, unit = noise(16 * 60, 2), 32
    steps, sensor = preprocessing(STREAM).steps, Sensor(rate=RATE, channels=2, fraction=0)
    outputs = []
    for count, streaming in ((len(x) // unit, False), (rows, True)):
        signal = applied(steps, sensor.signal(SignalBuilder(streaming=streaming), count, unit))
        given = signal.builder.tensors[signal.builder.first]
        graph = signal.builder.graph(given, signal.tensor, "stream")
        pieces = x.reshape(-1, *given.shape)
        outputs.append(np.concatenate([y.reshape(-1, 2) for y in evaluated(graph, list(pieces))]))
        assert signal.rate == RATE / 16 and signal.period == 16
    np.testing.assert_array_equal(outputs[0], outputs[1])


def test_a_model_behind_filters_computes_what_numpy_does() -> None:
    net = Net()
    model = net.finish(net.conv(net.input(1, 192, 1, 2), 3))
    steps = (
        "motion(rate=100,channels=2,range=8),remove-dc=6,low-pass(20,order=3),decimate=4,"
        "running-normalize(shift=5,std=1),scale=1/4"
    )
    compiled = compile(model, preprocess=steps)
    assert {"REMOVE_DC", "BIQUADS", "FIR", "RUNNING_NORMALIZE"} <= {op.kind for op in compiled.plan.graph.ops}
    result = verify(compiled, 2, sanitize=True)
    assert result.passed, result.mismatches


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ("low-pass=4000", "low-pass at 4000 Hz cannot be"),
        ("band-pass(900,500)", "lower frequency first|band-pass\\(900,500\\) cannot be"),
        ("low-pass(500,order=20)", "order=20 cannot be"),
        ("low-pass(500,taps=9000)", "9000 taps cannot be"),
        ("high-pass(500,taps=8)", "8 taps cannot be"),
        ("low-pass=0.01", "too low for the sample rate"),
        ("biquad(1,0,0,-2,1)", "not stable"),
        ("fir(9,9,9,40000)", "cannot be"),
        ("notch(50,q=0)", "notch\\(q=0\\) cannot be"),
        ("decimate=16,decimate=17", "decimate=17 cannot be"),
        ("remove-dc=16", "shift=16"),
        ("running-normalize(deviation=0,center=0)", "does nothing"),
        ("running-normalize(mean=40000)", "outside of what the signal can be"),
        ("normalize(fraction=16)", "fraction=16 cannot be"),
        ("pre-emphasis=1.5", "pre-emphasis=1.5 cannot be"),
        ("scale=2,remove-dc", "comes after scale"),
    ],
)
def test_what_is_refused(steps: str, reason: str) -> None:
    with pytest.raises(MoteError, match=reason) as error:
        done(steps, noise(64))
    assert error.value.remedy


def test_frequencies_need_a_rate() -> None:
    with pytest.raises(MoteError, match="how many samples a second"):
        preprocessing("low-pass=100")(Sample(noise(64)[:, 0]))
