"""Search family of the networks of a search space, trained one by one in PyTorch or as subnets of a supernet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from math import inf
from pathlib import Path
from random import Random
from statistics import median
from time import monotonic
from typing import Any, Self

import numpy as np

from mote.base.errors import MoteError
from mote.base.extras import require
from mote.base.files import read_file, replace_file
from mote.base.progress import Say
from mote.frontends.tflite.export import export
from mote.optimize.nas.costs.network_costs import DoesNotFit, NetworkCosts
from mote.optimize.nas.costs.pricer import Pricer, Verdict
from mote.optimize.nas.family import MODEL, Choice, FinishedMember
from mote.optimize.nas.folding import folded, with_outputs
from mote.optimize.nas.graphs import onnx_file
from mote.optimize.nas.sampled import batch_size, examples, label_scaling, scale_of
from mote.optimize.nas.spaces.network import Network, Weights
from mote.optimize.nas.spaces.space import SearchSpace
from mote.optimize.nas.tasks import LearningTask, spread_samples
from mote.optimize.search import digest

TRAINING, MODULE = "mote.optimize.nas.training.fit", "mote.optimize.nas.training.module"
AWARE, SUPERNET = "mote.optimize.nas.training.quantized", "mote.optimize.nas.training.supernet"
ROUNDING = "mote.optimize.nas.training.rounding"
LOOP = "mote.optimize.train.training"
"""Modules that need PyTorch, imported only for training."""
PART = 4
"""Quantization-aware training takes 1 / PART of the epochs of float training."""
AWARE_STEPS = 1500
"""Approximate limit on optimizer steps of quantization-aware training with much data."""
FLOAT = "model.onnx"
AUTO, SHARING, HALVING = "auto", "supernet", "halving"
STRATEGIES = (AUTO, SHARING, HALVING)
"""Values of the option `strategy`: candidates are scored with shared supernet weights, by training each (successive
halving), or whichever suits the space."""
WIDE = 8
"""Above this ratio of MACs of the largest network to those of the median one that fits, the supernet's ranking is not
trusted."""
POOL = 18
"""Number of random networks that fit, by whose values the search space is narrowed."""
DRAWN = 500
"""Consecutive random choices that do not fit before sampling stops."""
DRAWN_AT_ONCE = 6
"""Half of all random choices are the largest of this many samples."""
TRIES = 20
"""Attempts to sample a valid subnet in a training step."""
CALIBRATED = 1024
"""Samples for recalibrating a subnet's batch normalization."""
SAMPLES = 256
"""Samples for calibrating activation ranges."""


@dataclass(frozen=True, eq=False)
class NetworkFamily:
    """Networks of a search space for a task. Raw sound has one task per audio front end, and the front end is a
    decision."""

    name: str
    space: SearchSpace
    tasks: tuple[LearningTask, ...]
    pricer: Pricer
    epochs: int = 30
    """Training epochs of a supernet."""
    seed: int = 0
    augment: str = ""
    device: str = "auto"
    strategy: str = AUTO
    seconds: float = inf
    """Time limit in seconds for sampling networks that fit, and again for training the supernet."""
    count: int = POOL
    """Number of random networks that fit, by whose values the space is narrowed."""
    teacher: Any = None
    """The `NetworkTeacher` for distillation; without one, subnets learn from the supernet's largest network."""
    pool: tuple[Choice, ...] = ()
    """Random networks that fit; part of the initial population."""
    state: bytes = b""
    """Weights of the trained supernet; empty without one."""

    @classmethod
    def of(
        cls,
        space: SearchSpace,
        tasks: Sequence[LearningTask],
        pricer: Pricer,
        *,
        epochs: int = 30,
        seed: int = 0,
        augment: str = "",
        device: str = "auto",
        strategy: str = AUTO,
        seconds: float = inf,
        count: int = POOL,
        teacher: Any = None,
    ) -> Self:
        """The family of a space and its tasks; requires PyTorch. Resolutions are only searched for byte images."""
        require("torch", extra="torch", what="mote.search")
        space = replace(space, preprocess=tuple(task.front_end for task in tasks) if len(tasks) > 1 else "")
        if not tasks[0].resizable:
            space = replace(space, resolution=None)
        all_tasks = tuple(tasks)
        family = cls(
            space.name, space, all_tasks, pricer, epochs, seed, augment, device, strategy, seconds, count, teacher
        )
        if strategy == SHARING and space.decisions and not family.shared:
            reason = f"networks of the space '{space.name}' cannot share their weights"
            raise MoteError(reason, where="option strategy", remedy=f"use {HALVING}, or omit it")
        return family

    @property
    def shared(self) -> bool:
        return self.strategy != HALVING and bool(self.space.decisions) and self.space.shared and len(self.tasks) == 1

    @cached_property
    def key(self) -> str:
        data = [
            (task.steps, task.scale, part.inputs, part.labels)
            for task in self.tasks
            for part in (task.train, task.validation)
        ]
        taught = None if self.teacher is None else self.teacher.space
        how = self.epochs, self.seed, self.augment, self.device, self.strategy, taught
        return digest(self.space, data, self._target, *how)

    def first(self) -> Sequence[Choice]:
        return [self.space.smallest(), self.space.largest(), *self.pool]

    def random(self, rng: Random) -> Choice:
        """A random choice. Half of them are the largest of several samples within the lower-bound limits, since most
        networks of a space are far below or above the limits."""
        several = [self.space.random(rng) for _ in range(rng.choice((1, DRAWN_AT_ONCE)))]
        return max(several, key=self._size)

    def _size(self, choice: Choice) -> int:
        """MACs of a choice's network; -1 if it is impossible or its lower bounds exceed a limit."""
        with suppress(MoteError):
            network = self.network(choice)
            if self.pricer.may_fit(network):
                return network.macs
        return -1

    def mutated(self, choice: Choice, rng: Random) -> Choice:
        return self.space.mutated(choice, rng)

    def crossed(self, one: Choice, other: Choice, rng: Random) -> Choice:
        return self.space.crossed(one, other, rng)

    def described(self, choice: Choice) -> str:
        return self.space.described(choice)

    def network(self, choice: Choice) -> Network:
        """The network of a choice, with the preprocessing steps that run on the device."""
        task = self.task(choice)
        network = self.space.network(choice, task.input, task.outputs, task.classes)
        return replace(network, preprocess=task.device_steps)

    def task(self, choice: Choice) -> LearningTask:
        """The task with the audio front end of a choice."""
        wanted = choice.get("preprocess")
        return next((task for task in self.tasks if task.front_end == wanted), self.tasks[0])

    def costs(self, choice: Choice) -> NetworkCosts | DoesNotFit:
        return self._costed(choice, self.pricer.costs)

    def estimate(self, choice: Choice) -> NetworkCosts | DoesNotFit:
        return self._costed(choice, self.pricer.estimate)

    def _costed(self, choice: Choice, costs: Callable[[Network], Verdict]) -> NetworkCosts | DoesNotFit:
        try:
            network = self.network(choice)
        except MoteError as error:  # a window that does not fit into so few rows
            return DoesNotFit(str(error))
        return costs(network)

    @property
    def _target(self) -> tuple[object, ...]:
        """Everything but the network that costs depend on."""
        settings = self.pricer.settings
        return (
            settings.target.name,
            settings.optimize,
            settings.input,
            settings.place_code,
            settings.place_constants,
            self.pricer.limits,
        )

    def prepared(self, checkpoint: str, say: Say) -> Self:
        """The family restricted to values that occur in networks that fit, with a trained supernet. If the supernet's
        ranking would not be trusted: this family with those networks as initial population. A teacher is trained
        first."""
        if self.teacher is not None:
            self.teacher.prepare(f"{checkpoint}.teacher" if checkpoint else "", say)
        if not self.shared:
            return self
        narrowed = self._narrowed(say)
        if not narrowed.pool or (self.strategy == AUTO and (narrowed.width > WIDE or not narrowed.space.skips)):
            return replace(self, strategy=HALVING, pool=narrowed.pool)
        file = Path(f"{checkpoint}.supernet")
        if checkpoint and file.is_file():
            return replace(narrowed, state=read_file(file))
        state = narrowed._trained_supernet(say)
        if checkpoint:
            replace_file(file, state)
        return replace(narrowed, state=state)

    def _narrowed(self, say: Say) -> Self:
        """The family restricted to values that occur in random networks that fit, sampled until `count` are found or
        time is up."""
        rng, pool, tries, end = Random(self.seed), list[Choice](), 0, monotonic() + self.seconds
        while len(pool) < min(self.count, self.space.size) and tries < DRAWN and not (pool and monotonic() > end):
            choice = self.random(rng)
            new = choice not in pool and isinstance(self._costed(choice, self.pricer.likely), NetworkCosts)
            tries = 0 if new else tries + 1
            if new:
                pool.append(choice)
                say(f"{self.name}: {len(pool)} of {self.count} networks that fit")
        return replace(self, space=self.space.narrowed(pool), pool=tuple(pool)) if pool else self

    @property
    def width(self) -> float:
        """Ratio of the largest network's MACs to those of the median one that fits."""
        return self.network(self.space.largest()).macs / median(self.network(choice).macs for choice in self.pool)

    def _trained_supernet(self, say: Say) -> bytes:
        supernets: Any = import_module(SUPERNET)
        supernet, (task,) = self._new_supernet(), self.tasks
        data = examples(supernet.largest, task, task.train)
        recipe = supernets.SupernetRecipe(self.epochs, batch_size(task), seed=self.seed, augment=self.augment)
        if self.seconds < inf:
            probe = self._new_supernet()
            seconds = supernets.epoch_seconds(probe, data, self._sampled, recipe, device=self.device)
            recipe = replace(recipe, epochs=min(self.epochs, max(1, int(self.seconds / seconds))))
        supernets.train_supernet(
            supernet,
            data,
            self._sampled,
            recipe,
            device=self.device,
            progress=lambda epoch, epochs, loss: say(f"supernet of {self.name}: {epoch} of {epochs} epochs"),
        )
        return bytes(supernet.state())

    def score(self, choice: Choice, epochs: int) -> float:
        network, task = self.network(choice), self.task(choice)
        training: Any = import_module(TRAINING)
        module = self._subnet(network) if self.state else self._trained(network, task, epochs)
        if import_module(ROUNDING).round_weights(module):
            few = spread_samples(task.train, CALIBRATED)
            import_module(SUPERNET).calibrate(module, examples(network, task, few).inputs)
        return float(training.evaluate(module, examples(network, task, task.validation)))

    def finish(self, choice: Choice, epochs: int) -> FinishedMember:
        network, full_size = self.network(choice), self.task(choice)
        task = full_size.resized(network.input)
        module = self._trained(network, task, epochs)
        weights = self._exported(network, task, module.weights())
        training, aware = import_module(TRAINING), import_module(AWARE)
        data = training.Examples(task.inputs(task.train), np.asarray(task.train.labels))
        batch = batch_size(task)
        most = AWARE_STEPS * batch // len(data) + 1
        recipe = aware.QuantizedRecipe(
            min(max(epochs // PART, 1), most), batch, seed=self.seed, augment=self.augment, calibration=SAMPLES
        )
        quantized = aware.quantize_aware(
            network, weights, data, recipe, name="model", labels=task.names, device=self.device
        )
        steps = task.device_steps
        file = export(quantized.graph, "model", preprocess=steps).data if steps else quantized.data
        files = {MODEL: file, FLOAT: onnx_file(network, weights, "model", task.names)}
        return FinishedMember(files, task.accuracy(file, task.validation), steps=task.steps)

    def _trained(self, network: Network, task: LearningTask, epochs: int) -> Any:
        """Trains a network's module for `epochs` epochs, starting from its supernet weights if there are any."""
        training: Any = import_module(TRAINING)
        module = self._subnet(network) if self.state else import_module(MODULE).NetworkModule(network, self.seed)
        recipe = training.NetworkRecipe(epochs, batch_size(task), seed=self.seed, augment=self.augment)
        teacher = self._teacher(network)
        recipe = recipe if teacher is None else training.distilling(recipe)
        data = examples(network, task, task.train)
        training.train_network(module, data, recipe, teacher=teacher, device=self.device)
        return module

    def _teacher(self, network: Network) -> Any:
        """The distillation teacher of a network: the configured one, else the supernet's largest network; None for that
        network itself, or if their inputs are scaled differently."""
        if self.teacher is not None:
            return self.teacher.module(network)
        if not self.state:
            return None
        largest = self.network(self.space.largest())
        if network == largest or scale_of(network, self.tasks[0]) != scale_of(largest, self.tasks[0]):
            return None
        return import_module(SUPERNET).ResizingTeacher(self._subnet(largest))

    def _sampled(self, rng: Random) -> Network:
        """A random crossover of two networks that fit, for supernet training; resampled if impossible or surely above a
        limit."""
        for _ in range(TRIES):
            with suppress(MoteError):
                network = self.network(self.space.crossed(rng.choice(self.pool), rng.choice(self.pool), rng))
                if self.pricer.may_fit(network):
                    return network
        return self.network(rng.choice(self.pool))

    def _new_supernet(self) -> Any:
        return import_module(SUPERNET).Supernet(self.network(self.space.largest()), self.seed)

    @cached_property
    def _supernet(self) -> Any:
        """The trained supernet, loaded once per process."""
        return self._new_supernet().load_state(self.state).to(import_module(LOOP).chosen(self.device))

    def _subnet(self, network: Network) -> Any:
        """A network with weights sliced from the supernet and recalibrated batch normalization."""
        supernets: Any = import_module(SUPERNET)
        (task,) = self.tasks
        few = spread_samples(task.train, CALIBRATED)
        return supernets.calibrate(self._supernet.subnet(network), examples(network, task, few).inputs)

    def _exported(self, network: Network, task: LearningTask, weights: Weights) -> Weights:
        """Weights for unscaled inputs and outputs."""
        weights = folded(network, weights, scale_of(network, task))
        return weights if task.classes else with_outputs(network, weights, *label_scaling(task))
