"""Runs Vela in a separate process: a `.tflite` file becomes a payload for the Ethos-U driver, constants and
estimates."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from mote.base.errors import MoteError
from mote.base.extras import require
from mote.compiler.offload.ethos_u.vela_process import VelaCrashError, VelaProcess
from mote.hardware.targets import Npu, Target

OPTIMISE = ("Performance", "Size")
"""The optimization goals of Vela's scheduler."""
NO_LIMIT = 1 << 32
"""An SRAM limit without effect."""
WHOLE = "WeightBuffering|Cascading"
"""Features of Vela's scheduler that split operators or copy weights."""
CONFIG = "config_files/Arm/vela.ini"
"""Path of the configuration that comes with Vela, relative to its compiler."""
_PROCESS = VelaProcess()


@dataclass(frozen=True)
class VelaTensor:
    """A tensor of a compiled file: its base pointer, its offset there, and its bytes."""

    base: int
    offset: int
    size: int


@dataclass(frozen=True)
class VelaOperation:
    """The operator of the file that an operation of the stream belongs to: its index, and Vela's name of it."""

    source: int
    kind: str


@dataclass(frozen=True)
class VelaModel:
    """A file that Vela compiled completely for the Ethos-U."""

    payload: bytes
    constants: bytes
    scratch: int
    """Bytes of working memory."""
    fast: int
    """Bytes of the driver's fast memory."""
    inputs: tuple[VelaTensor, ...]
    outputs: tuple[VelaTensor, ...]
    cycles: int
    """Vela's estimate of cycles, including DMA and memory wait states."""
    sram: int
    """Bytes of SRAM that the file takes, as reported by Vela."""
    operations: Mapping[int, VelaOperation]
    """The operators by the offset of the operation's command in the stream."""
    estimates: Mapping[int, int]
    """Estimated cycles by index of the operator in the file."""


class NotAcceptedError(Exception):
    """Raised if Vela does not place all operators of a file on the Ethos-U; the message is its reason."""


@dataclass(frozen=True)
class Configuration:
    """Vela's configuration for a target."""

    npu: Npu
    system: str
    """The text of Vela's configuration file."""

    @property
    def architecture(self) -> str:
        """Name of the accelerator's family in Vela's compiler, such as `EthosU55`."""
        return self.npu.family.title().replace("-", "")


def configuration(target: Target) -> Configuration:
    """The configuration of a target that has an Ethos-U."""
    npu = target.npu
    assert npu is not None
    path = Path(npu.config) if npu.config else _compiler_folder() / CONFIG
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise MoteError(f"cannot be read: {reason}", where=str(path), remedy="correct 'config' in [npu]") from None
    for kind, name in (("System_Config", npu.system_config), ("Memory_Mode", npu.memory_mode)):
        there = re.findall(rf"^\[{kind}\.(\w+)\]", text, re.MULTILINE)
        if name not in there:
            raise MoteError(
                f"Vela's configuration has no section [{kind}.{name}]",
                where=f"target {target.name}",
                remedy=f"there are: {', '.join(there) or 'none'}; or name a file of yours as 'config' in [npu]",
            )
    cores = 2 if npu.core == "ethos-u65-512" else 1
    system = (
        f"[architecture]\nmacs={npu.macs // cores}\ncores={cores}\n"
        f"[vela]\nsystem_config_name={npu.system_config}\nmemory_mode_name={npu.memory_mode}\n{text}"
    )
    return Configuration(npu, system)


@lru_cache(maxsize=1024)
def compiled(
    data: bytes, config: Configuration, optimise: str = OPTIMISE[0], *, apart: bool = True, whole: bool = False
) -> VelaModel:
    """Compiles a file with Vela; results are cached. `apart`: inputs and outputs have base pointers of their own, not
    places in working memory; `whole`: operators are not split, and weights are not copied."""
    _regor()
    options = _options(config, optimise, apart, WHOLE if whole else "")
    try:
        made = _PROCESS.ask(config.architecture, data, config.system, options)
    except VelaCrashError as how:
        raise NotAcceptedError(f"Vela's compiler ended with {how}") from None
    if "error" in made:
        raise NotAcceptedError(_reason(made["printed"], made["error"]))
    return VelaModel(
        payload=made["payload"],
        constants=made["constants"],
        scratch=made["scratch"],
        fast=made["fast"],
        inputs=tuple(VelaTensor(*tensor) for tensor in made["inputs"]),
        outputs=tuple(VelaTensor(*tensor) for tensor in made["outputs"]),
        cycles=made["cycles"],
        sram=sum(size for name, size in made["memories"].items() if name.lower() == "sram"),
        operations=_operations(made["tables"]),
        estimates=_estimates(made["tables"]),
    )


def _options(config: Configuration, optimise: str, apart: bool, disabled: str) -> str:
    limit = config.npu.fast or NO_LIMIT
    return (
        "\n[compiler]\nenable_db=true\noutput_format=Raw\ncop_format=COP1\n"
        f"\n[scheduler]\noptimize={optimise}\narena_size_limit={limit}\ndisable_feature={disabled}\n"
        f"separate_io_regions={str(apart).lower()}\ncpu_tensor_alignment=16\ntensor_allocator=HillClimb\n"
        "\n[graph]\nsoftmax_int16_neg_exp_range=10.0\n"
    )


def _operations(tables: Mapping[str, list[dict[str, str]]]) -> dict[int, VelaOperation]:
    """The operator of the file for each operation of the stream, traced through Vela's database of optimized
    operators."""
    sources = {row["id"]: VelaOperation(int(row["ext_key"]), row["operator"]) for row in tables.get("source", [])}
    optimised = {row["id"]: row["source_id"] for row in tables.get("optimised", [])}
    made = ((int(row["offset"]), optimised.get(row["optimised_id"], "")) for row in tables.get("queue", []))
    return {offset: sources[source] for offset, source in made if source in sources}


def _estimates(tables: Mapping[str, list[dict[str, str]]]) -> dict[int, int]:
    keys = {row["id"]: int(row["ext_key"]) for row in tables.get("source", [])}
    cycles: dict[int, int] = {}
    for row in tables.get("perf", []):
        if row["source_id"] in keys:
            key = keys[row["source_id"]]
            cycles[key] = cycles.get(key, 0) + int(row.get("op_cycles") or 0)
    return cycles


def _reason(printed: str, error: str) -> str:
    """The first reason in Vela's output, or its error."""
    said = re.findall(r"^Reason: (.*(?:\n(?!\n|Warning).*)*)", printed, re.MULTILINE)
    text = said[0] if said else error.removeprefix("Compilation failed: ")
    return " ".join(text.split())


def _compiler_folder() -> Path:
    return Path(str(_regor().__file__)).parent


def _regor() -> Any:
    return require("ethosu.regor", extra="ethos-u", what="the backend ethos-u")
