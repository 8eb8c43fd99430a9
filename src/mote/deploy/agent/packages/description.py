"""Description of an agent project, read by all packagers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mote.base.errors import MoteError
from mote.base.text import printable
from mote.compiler.emit.licence import SPDX, licensed
from mote.compiler.package.description import Package
from mote.compiler.package.templates import filled
from mote.deploy.agent.firmware import AgentOptions
from mote.deploy.agent.sources import TRACE
from mote.hardware.targets import Target

NAME = "mote_agent"
"""Name of the agent in ecosystems."""
HEADER, SETTINGS = "mote_agent.h", "mote_agent_settings.h"
PORT = "mote_port.c"
EXECUTOR = "mote_execute.c"
"""Runtime file that calls the hook between steps."""
LEAST_FRAME, MOST_FRAME = 160, 1 << 16
UNKNOWN_WAITS = 0xFFFFFFFF
_PORTS = Path(__file__).parent / "ports"
_BEHIND = "#include <stdint.h>\n"


def check_options(options: AgentOptions) -> AgentOptions:
    """Raises an error for invalid agent settings."""
    if not LEAST_FRAME <= options.frame <= MOST_FRAME:
        raise MoteError(
            f"a message of {options.frame:,} bytes is none that an agent takes",
            where="option frame",
            remedy=f"use {LEAST_FRAME} to {MOST_FRAME:,}",
        )
    for name, nbytes in (("image_ram", options.image), ("scratch", options.scratch)):
        if not 0 <= nbytes < 1 << 31:
            raise MoteError(f"{nbytes:,} bytes are no size of a RAM", where=f"option {name}", remedy="use less than 2G")
    if not options.loads and (options.image or options.scratch):
        raise MoteError(
            "firmware for production takes neither images nor code",
            where="option production",
            remedy="omit --runtime and --scratch, or --production",
        )
    return options


@dataclass(frozen=True)
class AgentPackage:
    """An agent with a compiled model or the runtime, as C files without a port."""

    library: Package
    """The model or the runtime."""
    files: Mapping[str, str]
    """All C files and headers except the port's, by name, in one folder."""
    sources: tuple[str, ...]
    """The C files of the agent."""
    options: AgentOptions

    @property
    def target(self) -> Target:
        return self.library.target

    @property
    def model_sources(self) -> tuple[str, ...]:
        """C files of the model or runtime, compiled with their own flags."""
        return self.library.sources

    @property
    def as_library(self) -> Package:
        """Agent and model (or runtime) as one library, for library packagers."""
        sources = (*self.model_sources, *self.sources)
        return replace(
            self.library, name=NAME, summary=self.title, files=self.files, sources=sources, headers=(HEADER,)
        )

    def in_src(self, paths: Iterable[str]) -> list[str]:
        """Files of the folder `src`."""
        return [f"src/{path}" for path in paths]

    @property
    def others(self) -> dict[str, str]:
        """Non-C files of the library: a runtime's manifest, which `mote pack` reads."""
        return {path: text for path, text in self.library.files.items() if not path.endswith((".c", ".h"))}

    @property
    def runs_images(self) -> bool:
        """Whether it runs loaded images."""
        return not self.library.interfaces

    @property
    def title(self) -> str:
        """One-line description."""
        what = "images" if self.runs_images else self.library.name
        return printable(f"Mote's agent with {what} for {self.target.name}")


def agent_package(
    library: Package, sources: Mapping[str, str], own: Mapping[str, str], options: AgentOptions
) -> AgentPackage:
    """The package of an agent: `sources` are the C files of agent and framing with kernel headers (a library may have
    its own), `own` those that belong to the model or runtime."""
    files = {path: text for path, text in library.files.items() if "/" not in path and path.endswith((".c", ".h"))}
    hooked = {path: _hooked(path, files[path]) for path in library.sources if library.interfaces or path == EXECUTOR}
    agent = {**sources, **own, "mote_part.c": port_text("common", "mote_part.c")}
    agent = {p: text if SPDX in text else licensed(text) for p, text in agent.items() if p not in files}
    return AgentPackage(
        library,
        {
            **files,
            **hooked,
            **agent,
            HEADER: _with_settings(agent[HEADER]),
            SETTINGS: settings_text(library.target, options),
        },
        tuple(path for path in agent if path.endswith(".c")),
        options,
    )


def _hooked(path: str, text: str) -> str:
    """The C of a model or runtime with the agent's step hook written into the text, since some ecosystems take no
    compiler options."""
    hook = "#define MOTE_RUNTIME_TRACE mote_agent_step" if path == EXECUTOR else f'#include "{TRACE}"'
    return f"{hook}\n{text}"


def _with_settings(header: str) -> str:
    """The agent's header with this build's settings before its defaults."""
    assert header.count(_BEHIND) == 1
    return header.replace(_BEHIND, f'{_BEHIND}\n#include "{SETTINGS}"\n')


def settings_text(target: Target, options: AgentOptions) -> str:
    """Text of the header with the settings of a build and facts about its target."""
    memories = [m for m in target.memories if m.origin is not None and m.origin + m.size <= 1 << 32]
    spans = "".join(f"{{{m.origin:#010x}u, {m.size:#x}u}}, " for m in memories)
    waits = target.code_memory.reads.wait_states if target.code_memory else UNKNOWN_WAITS
    values = {
        "MOTE_AGENT_RUNS": f"{options.runs:d}",
        "MOTE_AGENT_LOADS": f"{options.loads:d}",
        "MOTE_AGENT_FRAME": f"{options.frame}u",
        "MOTE_AGENT_STEPS": f"{options.steps}u",
        "MOTE_AGENT_IMAGE_BYTES": f"{options.image}u",
        "MOTE_AGENT_SCRATCH_BYTES": f"{options.scratch}u",
        "MOTE_PART_CLOCK": f"{min(target.clock_hz or 0, (1 << 32) - 1)}u",
        "MOTE_PART_WAITS": f"{waits:#x}u",
    }
    lines = "".join(f"#ifndef {name}\n#define {name} {value}\n#endif\n" for name, value in values.items())
    name = target.name.replace("\\", "").replace('"', "")
    return f"""\
/* {SPDX} */
/* {SETTINGS}: the settings of this agent, and the facts of its target. An option -D of the compiler replaces one. */
#ifndef MOTE_AGENT_SETTINGS_H
#define MOTE_AGENT_SETTINGS_H

{lines}
#define MOTE_PART_NAME "{printable(name)}"
#define MOTE_PART_MEMORIES {spans}/* origins and sizes, in the order of the target's file */

#endif
"""


def port_text(folder: str, name: str) -> str:
    """Text of a C file in `ports/`."""
    return licensed((_PORTS / folder / name).read_text(encoding="utf-8"))


def settings_file(folder: str, name: str) -> str:
    """Text of a non-C file in `ports/`: options and devices of an ecosystem."""
    return filled(_PORTS / folder / name, {"SPDX": SPDX})


def rtt_files() -> dict[str, str]:
    """Files for the transport over a debug probe (RTT)."""
    return {name: port_text("rtt", name) for name in ("mote_rtt.c", "mote_rtt.h")}


def without_scratch(options: AgentOptions, ecosystem: str, why: str) -> None:
    """Raises an error for scratch memory if the ecosystem has no writable code memory."""
    if options.scratch:
        raise MoteError(
            f"code cannot be written to RAM in {ecosystem}: {why}",
            where="option scratch",
            remedy="omit --scratch: models are then flashed, or loaded as images",
        )


def check_sentence(names: Sequence[str], line: str) -> str:
    """Markdown instructions to check that the agent responds."""
    commands = "\n".join(f"mote board info {name}" for name in names)
    return f"""\
## Check

{line}

```sh
{commands}
```
"""
