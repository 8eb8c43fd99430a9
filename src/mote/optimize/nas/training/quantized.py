"""Quantization-aware training of a network, with the exact integer arithmetic of the generated C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from mote.bench.execute.torch.module import GraphModule, LearnerModule
from mote.frontends import Format, Source
from mote.optimize.compress.quantize.composites import COMPOSITES
from mote.optimize.compress.quantize.pipeline import Methods, finished
from mote.optimize.compress.quantize.pipeline import prepared as calibrated
from mote.optimize.compress.quantize.post_training import MOST_SAMPLES, Quantized, checked, scheme_of, spread, written
from mote.optimize.compress.quantize_aware.fine_tuner import convert, prepare_graph, recalibrating
from mote.optimize.nas.graphs import float_graph, quantizer_layers
from mote.optimize.nas.spaces.network import Network, Weights
from mote.optimize.nas.training.fit import Examples
from mote.optimize.train.augment import augmenting
from mote.optimize.train.training import Progress, Recipe, fit


@dataclass(frozen=True)
class QuantizedRecipe(Recipe):
    """Hyperparameters for quantization-aware fine-tuning of a trained network."""

    epochs: int = 5
    batch: int = 128
    rate: float = 3e-3
    relative: bool = True
    threads: int = 1
    augment: str = ""
    """Data augmentation, as `mote.optimize.train.augment.augmenting` parses it."""
    distill: bool = True
    """Whether to distill from the float network (or a given teacher)."""
    calibration: int = MOST_SAMPLES
    """Number of samples for calibrating activation ranges."""


def quantize_aware(
    network: Network,
    weights: Weights,
    data: Examples,
    recipe: QuantizedRecipe | None = None,
    *,
    name: str = "network",
    labels: Sequence[str] = (),
    teacher: LearnerModule | None = None,
    device: str = "auto",
    progress: Progress | None = None,
) -> Quantized:
    """Quantization-aware training of a network from float weights, returned as a `.tflite` file. Starts from
    post-training quantization; `epochs` of 0 stops there. Data must be scaled as for the shipped model. The `teacher`,
    by default the float network, reads the same samples. Recurrent layers and layer normalization are trained in float
    and calibrated afterwards."""
    recipe = recipe or QuantizedRecipe()
    float_model = float_graph(network, weights, name, labels)
    scheme = scheme_of("int8", quantizer_layers(network, float_model))
    graph = checked(float_model, scheme)
    inputs = np.ascontiguousarray(data.inputs, np.float32)
    (entry,) = graph.inputs
    cases = spread([{entry: sample[None]} for sample in inputs], recipe.calibration)
    source = Source(f"{name}.tflite", Format.TFLITE, b"")
    prepared = prepare_graph(graph, cases, source, scheme, Methods(rounding="nearest" if recipe.epochs else "adaptive"))
    if recipe.epochs:
        wanted = torch.from_numpy(np.asarray(data.labels, np.int64 if network.classes else np.float32))
        fit(
            prepared.aware,
            [torch.from_numpy(inputs)],
            wanted,
            recipe,
            teacher=(teacher or GraphModule(graph)) if recipe.distill else None,
            augment=augmenting(recipe.augment, [network.input], recipe.seed),
            device=device,
            progress=recalibrating(prepared, progress),
        )
    if any(type(op) in COMPOSITES for op in graph.ops):
        methods = Methods(equalize=False, correct_biases=False, rounding="nearest")
        calibrated_model = calibrated(prepared.aware.graph(), cases, methods, scheme.default)
        return written(source, finished(calibrated_model, scheme), scheme, ())
    return convert(prepared)
