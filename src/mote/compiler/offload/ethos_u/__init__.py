"""The backend `ethos-u`: regions of a graph that Vela compiles for an Ethos-U."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mote.base.extras import installing, version_of
from mote.compiler.kernels.contract import Refusal
from mote.compiler.offload.contract import Artifact, Generator, Missing
from mote.compiler.offload.ethos_u.artifact import artifact
from mote.compiler.offload.ethos_u.exact import InexactError, Scales, exact_once, multipliers, rounds_once
from mote.compiler.offload.ethos_u.job import NpuJob, job_of
from mote.compiler.offload.ethos_u.regions import exported, members, regions
from mote.compiler.offload.ethos_u.shared import shared_artifact
from mote.compiler.offload.ethos_u.simulated import simulate
from mote.compiler.offload.ethos_u.striped.artifacts import striped_artifacts
from mote.compiler.offload.ethos_u.vela import OPTIMISE, NotAcceptedError, VelaModel, compiled, configuration
from mote.hardware.targets import Target
from mote.ir.graph import Graph, Op

VARIANTS = {"Performance": "fast", "Size": "small"}


class EthosU(Generator):
    """Computes regions on the Ethos-U by command streams from Vela, with the results of LiteRT."""

    name = "ethos-u"
    about = "Arm Ethos-U55, U65 and U85 through Vela"

    def missing(self) -> Missing | None:
        if version_of("ethos-u-vela"):
            return None
        return Missing("Vela (package ethos-u-vela) is not installed", installing("ethos-u"))

    def serves(self, target: Target) -> bool:
        return target.npu is not None

    def contents(self, target: Target) -> str:
        return configuration(target).system

    def claims(self, graph: Graph, target: Target) -> Iterable[Op]:
        return regions(graph, configuration(target))

    def build(self, region: Op, graph: Graph, target: Target) -> Artifact | Refusal | Sequence[Artifact]:
        config, file = configuration(target), exported(region, graph)
        made: list[Artifact] = []
        try:
            scales = [multipliers(graph, op) for op in members(region) if rounds_once(op)]
            models = {goal: compiled(file.data, config, goal) for goal in OPTIMISE}
            jobs = {goal: _job(model, scales) for goal, model in models.items()}
            whole = compiled(file.data, config, whole=True)
            plain = _job(whole, scales)
        except (NotAcceptedError, InexactError) as reason:
            return Refusal(str(reason))
        for goal, job in jobs.items():
            if all(job != jobs[other] for other in OPTIMISE[: OPTIMISE.index(goal)]):
                cycles = models[goal].cycles
                made.append(artifact(job, file.inputs, file.outputs, target, cycles, VARIANTS[goal]))
        least = min(job.scratch for job in jobs.values())
        made += striped_artifacts(plain, file, graph, target, whole.cycles, least)
        return [*made, *shared_artifact(plain, file, target, whole.cycles, least)]

    def simulate(self, memory: Sequence[NDArray[np.uint8]]) -> int:
        simulate(memory)
        return 0


def _job(model: VelaModel, scales: Sequence[Scales]) -> NpuJob:
    payload, constants = exact_once(model, scales) if scales else (model.payload, model.constants)
    return job_of(replace(model, payload=payload, constants=constants))
