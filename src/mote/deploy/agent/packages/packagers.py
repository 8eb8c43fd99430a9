"""Packagers of agents by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mote.base.errors import MoteError
from mote.base.text import did_you_mean
from mote.compiler.package.description import LICENCE_FILE, Files, licence
from mote.deploy.agent.firmware import AgentOptions, agent_sources
from mote.deploy.agent.packages import arduino, cmake, cmsis_pack, esp_idf, zephyr
from mote.deploy.agent.packages.description import AgentPackage
from mote.hardware.targets import Target

FIRMWARE = "firmware"
"""Name of the package that is complete firmware, built here."""


@dataclass(frozen=True)
class AgentPackager:
    """How to package an agent for an ecosystem."""

    files: Callable[[AgentPackage], Files]
    edited: tuple[str, ...] = ()
    """Files that users edit."""
    check: Callable[[Target, AgentOptions], None] = lambda target, options: None
    """Raises an error for what the ecosystem cannot build, before a model is compiled."""


AGENT_PACKAGERS: Mapping[str, AgentPackager] = {
    "zephyr": AgentPackager(zephyr.files, ("prj.conf", "mark.overlay")),
    "esp-idf": AgentPackager(esp_idf.files, ("sdkconfig.defaults",), esp_idf.check),
    "arduino": AgentPackager(arduino.files, (arduino.SKETCH,), arduino.check),
    "platformio": AgentPackager(arduino.platformio_files, (arduino.PROGRAM, arduino.PROJECT), arduino.check),
    "cmake": AgentPackager(cmake.files, (cmake.TEMPLATE,)),
    "cmsis-pack": AgentPackager(cmsis_pack.files, (cmsis_pack.TEMPLATE,), cmsis_pack.check),
}

AGENT_PACKAGES = (*AGENT_PACKAGERS, FIRMWARE)


def check_agent_package(name: str, target: Target, options: AgentOptions) -> None:
    """Raises an error for an unknown package, or one that cannot be built for the target."""
    if name not in AGENT_PACKAGES:
        raise MoteError(
            f"there is no packager '{name}' of agents",
            where="option package",
            remedy=f"{did_you_mean(name, AGENT_PACKAGES)}use one of: {', '.join(AGENT_PACKAGES)}",
        )

    if name == FIRMWARE:
        agent_sources(target, {}, emulated=not target.memories)
    else:
        AGENT_PACKAGERS[name].check(target, options)


def agent_project(name: str, package: AgentPackage) -> tuple[Files, frozenset[str]]:
    """Files of an agent project, and which of them users edit."""
    packager = AGENT_PACKAGERS[name]
    return {LICENCE_FILE: licence(), **package.others, **packager.files(package)}, frozenset(packager.edited)
