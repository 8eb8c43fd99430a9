"""Post-processing compiled behind models: verified with them, and told by the header."""

from __future__ import annotations

from pathlib import Path

import pytest

from mote.base.errors import MoteError
from mote.bench.evaluation.images import load_image, verify_image
from mote.bench.evaluation.verify import verify
from mote.compiler.compiled import Compiled
from mote.compiler.emit.image.kernels import ANY
from mote.compiler.emit.image.reader import read
from mote.compiler.line import compile
from mote.compiler.packer import pack
from mote.compiler.settings import make_settings
from mote.deploy.runtime import runtime
from tests.helpers.network import Net
from tests.helpers.support import needs_litert
from tests.ui.api.test_results import DIGITS

SAMPLES = "audio(16000),scale=1/999"


def autoencoder() -> bytes:
    net = Net(3)
    x = net.input(1, 16)
    return net.finish(net.fully_connected(net.fully_connected(x, 4), 16))


def detector() -> bytes:
    """Boxes and scores of a model with two outputs."""
    net = Net(4)
    x = net.input(1, 4, 4, 8)
    boxes = net.reshape(net.conv(x, 4, 1), 1, 16, 4)
    return net.finish(net.reshape(net.conv(x, 3, 1), 1, 16, 3), boxes)


def frames() -> bytes:
    """Scores of a window over time."""
    net = Net(5)
    y = net.conv(net.input(1, 6, 1, 4), 4, (3, 1), padding="VALID")
    return net.finish(net.fully_connected(net.flat(y), 3))


def header(compiled: Compiled) -> str:
    return compiled.project.files[f"{compiled.name}.h"]


@pytest.mark.quick_cases(1)
@needs_litert
@pytest.mark.parametrize(
    ("model", "steps", "more"),
    [
        (autoencoder(), "anomaly-score,threshold=0.4", {}),
        (detector(), "nms(0.3,-0.5,5)", {"cpp": True}),
        (
            autoencoder(),
            "exponential-average=0.4,detect(1,0.1,refractory=10ms)",
            {"preprocess": SAMPLES},
        ),
        (frames(), "moving-average=3,argmax(0.05,refractory=1)", {"stream": 1}),
    ],
    ids=["anomalies", "boxes", "samples", "stream"],
)
def test_models_with_steps_are_verified(model: bytes, steps: str, more: dict[str, object]) -> None:
    compiled = compile(model, postprocess=steps, **more)
    result = verify(compiled, 12, sanitize=True)
    assert result.exact, result.mismatches
    assert "then NumPy post-processing" in result.reference


def test_the_header_tells_what_a_decision_says() -> None:
    compiled = compile(
        DIGITS, postprocess="moving-average=4,detect(three,0.5)", labels=["zero", "one", "two", "three", *"456789"]
    )
    told = header(compiled)
    assert "if (digits_run() == MOTE_OK && digits_output()[DIGITS_OUTPUT_EVENT]) { act(); }" in told
    assert "#define DIGITS_OUTPUT_ACTIVE 3 /*" in told and "digits_top1" not in told
    assert "#define DIGITS_OUTPUT_SCORE_SCALE 0.0009765625f" in told
    assert "#define DIGITS_OUTPUT_SCORE_ZERO_POINT (-512)" in told
    assert "digits_label(size_t i)" in told
    found = header(compile(DIGITS, postprocess="argmax=0.5"))
    assert "digits_output()[DIGITS_OUTPUT_CLASS] >= 0" in found


def test_averages_are_scores() -> None:
    compiled = compile(DIGITS, postprocess="moving-average=4")
    assert "digits_top1" in header(compiled) and "#define DIGITS_OUTPUT_ZERO_POINT (-512)" in header(compiled)


def test_errors_name_the_model_and_the_option() -> None:
    with pytest.raises(MoteError, match=r"(?s)postprocess.*does not reconstruct its input"):
        compile(DIGITS, postprocess="anomaly-score")


STEPS = "moving-average=3,detect(1,0.5,refractory=2)"


def test_images_record_their_steps() -> None:
    image = pack(DIGITS, make_settings("host", postprocess=STEPS), runtime=ANY)
    assert [op.kind for op in image.plan.graph.ops[-2:]] == ["MovingAverage", "Detect"]
    assert read(image.data).about["options"]["postprocess"] == STEPS


@needs_litert
@pytest.mark.slow
def test_a_runtime_with_the_kernels_of_steps_runs_them(tmp_path: Path) -> None:
    runtime([DIGITS], postprocess=STEPS).write(tmp_path / "runtime")
    pack(DIGITS, postprocess=STEPS, runtime=tmp_path / "runtime").write(tmp_path / "digits.mote")
    loaded = load_image(tmp_path / "digits.mote", runtime=tmp_path / "runtime")
    assert verify_image(loaded, 6, source=DIGITS).exact
