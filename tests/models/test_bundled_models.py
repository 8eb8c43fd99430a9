"""The bundled and the generated models: right shapes, right answers, the same bytes each time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="the checks need ai-edge-litert")

from ai_edge_litert.interpreter import Interpreter, OpResolverType

import mlperf_tiny
import reference_quantizer as quantize

MODELS = Path(mlperf_tiny.__file__).parent
RNG = np.random.default_rng(0)

# Input and output shapes, operators, most bytes.
EXPECTED: dict[str, tuple[tuple[int, ...], tuple[int, ...], int, int]] = {
    "ad": ((1, 640), (1, 640), 10, 280_000),
    "kws": ((1, 49, 10, 1), (1, 12), 13, 54_000),
    "ic": ((1, 32, 32, 3), (1, 10), 16, 99_000),
    "vww": ((1, 96, 96, 3), (1, 2), 31, 334_000),
    "sww": ((1, 30, 1, 40), (1, 3), 11, 75_000),
    "mcunet": ((1, 80, 80, 3), (1, 2), 63, 620_000),
}


def load(data: bytes) -> Any:
    interpreter = Interpreter(
        model_content=data,
        experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
        experimental_preserve_all_tensors=True,
    )
    interpreter.allocate_tensors()
    return interpreter


def run(interpreter: Any, image: np.ndarray) -> np.ndarray:
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], image)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


@pytest.mark.parametrize(("name", "most_bytes"), [("digits", 12_000), ("keywords", 40_000)])
def test_bundled_model_answers_its_samples(name: str, most_bytes: int) -> None:
    data = (MODELS / f"{name}.tflite").read_bytes()
    assert len(data) <= most_bytes
    samples = np.load(MODELS / f"{name}_samples.npz")
    interpreter = load(data)
    outputs = np.concatenate([run(interpreter, image[None]) for image in samples["inputs"]])
    assert np.array_equal(outputs, samples["outputs"])
    assert np.mean(outputs.argmax(1) == samples["labels"]) >= 15 / 16
    assert len(samples["names"]) == outputs.shape[1]


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("name", mlperf_tiny.NAMES)
def test_generated_model_has_the_shapes_and_is_the_same_again(name: str) -> None:
    source, result, operators, most_bytes = EXPECTED[name]
    data = mlperf_tiny.build(name)
    assert data == mlperf_tiny.build(name)
    assert len(data) <= most_bytes
    interpreter = load(data)
    assert tuple(interpreter.get_input_details()[0]["shape"]) == source
    assert tuple(interpreter.get_output_details()[0]["shape"]) == result
    assert len(interpreter._get_ops_details()) == operators


def test_another_seed_gives_other_weights() -> None:
    assert mlperf_tiny.build("kws", seed=1) != mlperf_tiny.build("kws", seed=0)


@pytest.mark.parametrize("name", mlperf_tiny.NAMES)
def test_generated_activations_are_alive(name: str) -> None:
    """No layer answers mostly with its extremes, else a wrong kernel could pass unseen."""
    interpreter = load(mlperf_tiny.build(name))
    detail = interpreter.get_input_details()[0]
    image = RNG.uniform(-1, 1, detail["shape"])
    run(interpreter, (image * (127 if detail["dtype"] == np.int8 else 1)).astype(detail["dtype"]))
    for op in interpreter._get_ops_details():
        values = interpreter.get_tensor(op["outputs"][0])
        if op["op_name"] in ("PAD", "SOFTMAX", "DEQUANTIZE") or values.size < 32:
            continue
        assert np.mean(values == -128) < 0.7, op["op_name"]
        assert np.mean(values == 127) < 0.05, op["op_name"]
        assert len(np.unique(values)) >= min(30, values.size // 4), op["op_name"]


def test_numpy_forward_pass_is_that_of_litert() -> None:
    net = mlperf_tiny._ic(0)
    interpreter = load(quantize.to_float32(net))
    for image, expected in zip(net.values[0], net.values[-1], strict=True):
        assert np.allclose(run(interpreter, image[None].astype(np.float32))[0], expected, atol=1e-4)


def test_int8_model_is_close_to_the_float_one() -> None:
    net = mlperf_tiny._kws(0)
    interpreter = load(quantize.to_int8(net))
    images = quantize.quantize_array(net.values[0], *quantize.activation_quantization(*net.input_range))
    probabilities = np.concatenate([run(interpreter, image[None]) + 128.0 for image in images]) / 256
    assert np.abs(probabilities - net.values[-1]).mean() < 0.02


def test_float32_variant() -> None:
    interpreter = load(mlperf_tiny.build("ic", dtype="float32"))
    assert interpreter.get_input_details()[0]["dtype"] == np.float32
    image = RNG.uniform(0, 255, (1, 32, 32, 3)).astype(np.float32)
    assert run(interpreter, image).sum() == pytest.approx(1, abs=1e-5)


def test_mcunet_has_float_edges() -> None:
    interpreter = load(mlperf_tiny.build("mcunet"))
    kinds = [op["op_name"] for op in interpreter._get_ops_details()]
    assert (kinds[0], kinds[-1]) == ("QUANTIZE", "DEQUANTIZE")
    assert kinds.count("ADD") == 8


@pytest.mark.parametrize(("name", "dtype"), [("nothing", "int8"), ("ic", "int4")])
def test_unknown_names_are_named(name: str, dtype: str) -> None:
    with pytest.raises(ValueError, match="there are"):
        mlperf_tiny.build(name, dtype=dtype)


def test_command_line_writes_the_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mlperf_tiny.main([str(tmp_path)])
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {f"{name}_int8.tflite" for name in mlperf_tiny.NAMES} | {"ic_float32.tflite"}
    assert "kws_int8.tflite" in capsys.readouterr().out


def test_fold_batch_norm() -> None:
    weights = RNG.uniform(-1, 1, (4, 3, 3, 2))
    mean, variance = RNG.uniform(-1, 1, 4), RNG.uniform(0.5, 2, 4)
    gamma, beta = RNG.uniform(0.5, 2, 4), RNG.uniform(-1, 1, 4)
    x = RNG.uniform(-1, 1, (1, 5, 5, 2))
    plain = quantize.convolve(x, weights, (1, 1), "SAME")
    expected = (plain - mean) / np.sqrt(variance + 1e-5) * gamma + beta
    folded, bias = quantize.fold_batch_norm(weights, 0, mean, variance, gamma, beta)
    assert np.allclose(quantize.convolve(x, folded, (1, 1), "SAME") + bias, expected)


@pytest.mark.parametrize(
    ("low", "high", "scale", "zero_point"),
    [(0.0, 255.0, 1.0, -128), (-128.0, 127.0, 1.0, 0), (1.0, 2.55, 0.01, -128), (-2.55, -1.0, 0.01, 127)],
)
def test_activation_quantization_holds_zero(low: float, high: float, scale: float, zero_point: int) -> None:
    assert quantize.activation_quantization(low, high) == (pytest.approx(scale), zero_point)
