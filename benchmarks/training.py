"""What on-device training costs and gains: ResNet-8 adapts to another camera.

    PYTHONPATH=src:. python benchmarks/training.py costs --models ../shared/models --data ../shared/data/cifar10.zip
    PYTHONPATH=src:. python benchmarks/training.py accuracy --models ../shared/models --data ../shared/data/cifar10.zip
    PYTHONPATH=src:. python benchmarks/training.py gains --models ../shared/models --data ../shared/data/cifar10.zip
    PYTHONPATH=src:. python benchmarks/training.py gradients --models ../shared/models --data ../shared/data/cifar10.zip

`costs` compiles the published int8 models for a Cortex-M4, or for another `--target`: RAM above that of an inference,
and instructions of a step with its inference on the emulated core. `gradients` compares the int8 gradients of these
models, where all biases learn, with float32 ones over the same activations, by the cosine of the angle between them, on
16 pictures beside those that scales are measured on. `accuracy` has ResNet-8 see pictures as a darker camera with a
warm cast takes them: 2,000 of them are learned one by one, each once, and 2,000 others are scored before and after, on
average over four draws of what is learned. The int8 model is the generated C on the host; beside it PyTorch trains the
same weights and biases of the same model in float32, with the same samples in the same order: scored in float32, scored
after it was made int8 again, and learning with activations rounded to int8. Each has the learning rate with the best
score on 2,000 more pictures of each draw. `gains` compares what `--train auto` takes for the gain of weights and of
biases, alone and together, with the accuracy that the int8 model has on those pictures after it has learned by them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from tests.compiler.passes.training.in_torch import computed
from tests.compiler.passes.training.likeness import cosines

import mote
from mote import frontends
from mote.bench.evaluation.learning.program import TrainingProgram
from mote.compiler.passes.training.choice import LAYERS, chosen, on_the_way
from mote.compiler.passes.training.gradient_ranges import MEASURED, in_floats
from mote.compiler.passes.training.integer_losses import integer_loss
from mote.compiler.passes.training.loss import Loss
from mote.compiler.passes.training.samples import Samples
from mote.compiler.passes.training.sensitivity import gain, sample_gradients
from mote.compiler.passes.training.spec import parsed
from mote.compiler.training.with_training import samples
from mote.frontends.data.dataset_type import Dataset
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.common import WEIGHTS
from mote.ir.ops.elementwise.quantize import dequantized

RESNET, MCUNET, VWW = "pretrainedResnet_quant.tflite", "mcunet_vww1.tflite", "vww_96_int8.tflite"
BIASES, BLOCK = "biases", "biases,8,9,10"
COSTS = (
    (RESNET, BIASES),
    (RESNET, BLOCK),
    (RESNET, "auto:RAM=24K,CYCLES=24000000"),
    (VWW, BIASES),
    (MCUNET, "auto:RAM=48K"),
)
"""Models, and what learns in them."""
RATES = {BIASES: (1e-4, 3e-4, 1e-3, 3e-3), BLOCK: (1e-5, 2e-5, 5e-5, 1e-4, 2e-4)}
GAIN_RATES = (1e-4, 1e-3, 1e-2)
COMPARED = 16
"""Pictures that gradients are compared on."""
LEARNED, CHOSEN, DRAWS = 2000, 2000, range(4)
"""Pictures that are learned, and that learning rates are chosen by; draws of these."""
GAIN, CAST, OFFSET = 0.45, (1.0, 0.8, 0.55), 0.05
"""The other camera: how much darker it is, its color cast, and the light that its black has."""
LARGE = {MCUNET: (80, -1.0), VWW: (96, 0.0)}
"""The sides of the pictures of other models, and what black is; white is 1."""


@dataclass(frozen=True, eq=False)
class Pictures:
    """CIFAR-10 as another camera would have taken it."""

    learned: Dataset
    chosen: Dataset
    tested: Dataset

    @staticmethod
    def of(path: Path, draw: int = 0) -> Pictures:
        train, test = (mote.dataset(f"{path}:{part}", labelled=True) for part in ("train", "test"))
        order = np.random.default_rng(draw).permutation(len(train))
        return Pictures(
            _through_camera(train.take(order[:LEARNED])),
            _through_camera(train.take(order[LEARNED : LEARNED + CHOSEN])),
            _through_camera(test),
        )


def _through_camera(data: Dataset) -> Dataset:
    """int8 codes of the model's input, one for each step of a byte."""
    ((name, x),) = data.inputs.items()
    light = np.clip(x.astype(np.float32) / 255 * GAIN * np.array(CAST, np.float32) + OFFSET, 0, 1)
    return replace(data, inputs={name: (np.rint(light * 255) - 128).astype(np.int8)})


def costs(models: Path, pictures: Pictures, target: str) -> Iterator[str]:
    yield "| model | learns | RAM above an inference | of that learned | instructions of a step | of an inference |"
    yield "|---|---|--:|--:|--:|--:|"
    for model, train in COSTS:
        data = _sized(model, pictures.learned)
        frozen = mote.compile(models / model, target=target, io="int8")
        plain = mote.run(frozen)
        learning = mote.compile(models / model, target=target, io="int8", train=train, train_data=data)
        run = mote.run(learning)
        assert run.training_step is not None and run.instructions is not None and plain.instructions is not None
        learned = sum(s.initial.nbytes for s in learning.plan.graph.states if s.role == "learned")
        alone = frozen.plan.ram
        yield (
            f"| {model} | {train} | {learning.plan.ram - alone:,} on {alone:,} | {learned:,} |"
            f" {run.training_step:,} | {run.training_step / plain.instructions:.2f}x |"
        )


def gradients(models: Path, pictures: Pictures) -> Iterator[str]:
    yield "| model | tensors with a gradient | mean cosine | of the tensor with the least |"
    yield "|---|--:|--:|--:|"
    for model in (RESNET, MCUNET, VWW):
        graph = frontends.load(models / model)
        choice = chosen(graph, [BIASES])
        given = samples(
            choice.graph, parsed(BIASES), _sized(model, pictures.learned).take(np.arange(MEASURED + COMPARED))
        )
        measured = Samples(given.inputs[:MEASURED], given.labels[:MEASURED])
        tried = Samples(given.inputs[MEASURED:], given.labels[MEASURED:])
        means = [
            float(np.mean(own))
            for own in cosines(choice.graph, choice.constants, Loss.SOFTMAX_CROSS_ENTROPY, measured, tried).values()
        ]
        yield f"| {model} | {len(means)} | {np.mean(means):.3f} | {min(means):.3f} |"


def _sized(model: str, data: Dataset) -> Dataset:
    """Data of the size that a model takes."""
    return _enlarged(data, *LARGE[model]) if model in LARGE else data


def _enlarged(data: Dataset, side: int, black: float) -> Dataset:
    """A few pictures with animals or without, enlarged, in floats from black to 1."""
    ((name, x),) = data.take(np.arange(128)).inputs.items()
    large = [np.asarray(Image.fromarray((y.astype(np.int16) + 128).astype(np.uint8)).resize((side, side))) for y in x]
    labels = np.asarray(data.labels)[:128]
    animals = np.isin(labels, [2, 3, 4, 5, 6, 7]).astype(np.int64)
    return replace(
        data, inputs={name: black + np.array(large, np.float32) / 255 * (1 - black)}, labels=animals, classes=()
    )


def accuracy(model: Path, data: Path, jobs: int) -> Iterator[str]:
    runs = [(train, way, rate, d) for train, rates in RATES.items() for way in WAYS for rate in rates for d in DRAWS]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        scores = dict(zip(runs, pool.map(partial(_scores, model, data), *zip(*runs, strict=True)), strict=True))
    yield "| learns | in | learning rate | before % | after % | of each draw |"
    yield "|---|---|--:|--:|--:|---|"
    for train, way in product(RATES, WAYS):
        tried = {rate: [scores[train, way, rate, draw] for draw in DRAWS] for rate in RATES[train]}
        rate, best = max(tried.items(), key=lambda item: float(np.mean([s.chosen for s in item[1]])))
        each = " ".join(f"{100 * s.after:.1f}" for s in best)
        before, after = (100 * np.mean([getattr(s, when) for s in best]) for when in ("before", "after"))
        yield f"| {train} | {way} | {rate:g} | {before:.1f} | {after:.1f} | {each} |"


def gains(model: Path, data: Path, jobs: int) -> Iterator[str]:
    graph = frontends.load(model)
    layers = {graph.layer_of(op): op.inputs[WEIGHTS:] for op in on_the_way(graph) if isinstance(op, LAYERS)}
    names = {i: f"{n}[{what}]" for n, ids in layers.items() for i, what in zip(ids, ("weights", "bias"), strict=True)}
    given = samples(graph, parsed(BIASES), Pictures.of(data).learned)
    known = sample_gradients(graph, list(names), Loss.SOFTMAX_CROSS_ENTROPY, given)
    biases = [ids[-1] for ids in layers.values()]
    tried = [*([i] for i in names), *(biases[n:] for n in range(len(biases) - 1))]
    runs = [(",".join(names[i] for i in ids), rate) for ids in tried for rate in GAIN_RATES]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        scores = list(pool.map(partial(_chosen_by, model, data), *zip(*runs, strict=True)))
    best = np.reshape(scores, (len(tried), -1)).max(axis=1)
    own = [gain(sum((known[i].products() for i in ids), np.zeros(()))) for ids in tried]
    yield "| learns | gain | accuracy % |"
    yield "|---|--:|--:|"
    for ids, estimated, measured in zip(tried, own, best, strict=True):
        yield f"| {','.join(names[i] for i in ids)} | {estimated:.3f} | {100 * measured:.1f} |"
    ranks = [np.argsort(np.argsort(x)) for x in (own, best)]
    yield f"Their ranks correlate by {np.corrcoef(*ranks)[0, 1]:.2f}."


@dataclass(frozen=True)
class Scores:
    """Top-1 on the pictures that rates are chosen by, and on those that are tested before and after training."""

    chosen: float
    before: float
    after: float


def _scores(model: Path, data: Path, train: str, way: str, rate: float, draw: int) -> Scores:
    torch.set_num_threads(1)
    return WAYS[way](model, train, rate, Pictures.of(data, draw))


def _chosen_by(model: Path, data: Path, train: str, rate: float) -> float:
    return _on_device(model, train, rate, Pictures.of(data)).chosen


def _on_device(model: Path, train: str, rate: float, pictures: Pictures) -> Scores:
    """In the generated C on this computer, whose bits are those of a device."""
    program = TrainingProgram.of(mote.compile(model, train=f"{train}:rate={rate:g}", train_data=pictures.learned))
    run = program.on_host()

    def top1(data: Dataset) -> float:
        answers = run.infer([{**case, **program.idle} for case in program.cases(data)])[0]
        return float(np.mean(answers.reshape(len(data), -1).argmax(axis=1) == np.asarray(data.labels)))

    before = top1(pictures.tested)
    run.infer(program.cases(pictures.learned))
    return Scores(top1(pictures.chosen), before, top1(pictures.tested))


def _in_torch(
    model: Path, train: str, rate: float, pictures: Pictures, learns: bool = False, infers: bool = False
) -> Scores:
    """In float32; `learns` and `infers` say when activations, and then weights, have the values that int8 has."""
    graph = frontends.load(model)
    choice, judged = chosen(graph, train.split(",")), integer_loss(graph, Loss.SOFTMAX_CROSS_ENTROPY)
    real = in_floats(choice.graph, judged)
    weights = {i: torch.tensor(real.tensors[i].data, requires_grad=True) for i in choice.constants}
    optimizer = torch.optim.SGD(list(weights.values()), lr=rate)

    def rounded(tensor: int, x: torch.Tensor) -> torch.Tensor:
        t = choice.graph.tensors[tensor]
        return x if t.quant is None else torch.fake_quantize_per_tensor_affine(x, t.scale, t.zero_point, -128, 127)

    def in_steps(weight: int, x: torch.Tensor) -> torch.Tensor:
        quant = choice.graph.tensors[weight].quant
        if choice.graph.tensors[weight].dtype != DType.INT8 or quant is None:
            return x
        scales = torch.tensor(quant.scale.astype(np.float32))
        return torch.fake_quantize_per_channel_affine(x, scales, torch.zeros_like(scales), quant.axis, -127, 127)

    def scores_of(codes: Array, known: Mapping[int, torch.Tensor], rounds: bool) -> torch.Tensor:
        x = torch.tensor(dequantized(codes[None], graph.tensors[graph.inputs[0]]).astype(np.float32))
        given = {graph.inputs[0]: x, **known}
        made: torch.Tensor = (computed(real, given, rounded) if rounds else computed(real, given))[judged.tensor.id]
        return made

    def top1(data: Dataset) -> float:
        (images,) = data.inputs.values()
        with torch.no_grad():
            known = {i: in_steps(i, w) for i, w in weights.items()} if infers else weights
            answers = [int(scores_of(x, known, infers).argmax()) for x in images]
        return float(np.mean(answers == np.asarray(data.labels)))

    before = top1(pictures.tested)
    (images,) = pictures.learned.inputs.values()
    for x, label in zip(images, np.asarray(pictures.learned.labels), strict=True):
        loss = torch.nn.functional.cross_entropy(scores_of(x, weights, learns), torch.tensor([int(label)]))
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return Scores(top1(pictures.chosen), before, top1(pictures.tested))


WAYS: Mapping[str, Callable[[Path, str, float, Pictures], Scores]] = {
    "int8, on the device": _on_device,
    "float32 over int8 activations, PyTorch": partial(_in_torch, learns=True, infers=True),
    "float32, PyTorch, then made int8": partial(_in_torch, infers=True),
    "float32, PyTorch": _in_torch,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=("costs", "accuracy", "gains", "gradients"))
    parser.add_argument("--models", type=Path, required=True, help="the folder of the published models")
    parser.add_argument("--data", type=Path, required=True, help="cifar10.zip")
    parser.add_argument("--target", default="cortex-m4", help="whose instructions `costs` counts (default: cortex-m4)")
    parser.add_argument(
        "--jobs", type=int, default=2, help="processes that `accuracy` and `gains` train in (default: 2)"
    )
    given = parser.parse_args()
    if given.table == "accuracy":
        lines = accuracy(given.models / RESNET, given.data, given.jobs)
    elif given.table == "gains":
        lines = gains(given.models / RESNET, given.data, given.jobs)
    elif given.table == "gradients":
        lines = gradients(given.models, Pictures.of(given.data))
    else:
        lines = costs(given.models, Pictures.of(given.data), given.target)
    for line in lines:
        print(line, flush=True)


if __name__ == "__main__":
    main()
