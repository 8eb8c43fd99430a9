"""Bare-metal firmware with the agent, for a part or for the emulated board of a core."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mote.base.errors import MoteError
from mote.compiler.package.firmware.layout import emulated_layout
from mote.compiler.package.firmware.sources import FOLDER, FirmwareSources, firmware_sources
from mote.deploy.agent.sources import agent_files
from mote.hardware.cores.board import Board
from mote.hardware.targets import Target
from mote.hardware.targets.firmware import Boot, SerialPort, Touch

PORT = "agent_port.c"
PART = "agent_part.h"
_HERE = Path(__file__).parent
_UNKNOWN = 0xFFFFFFFF
_SYSTICK = frozenset({"cortex-m0", "cortex-m0plus", "cortex-m1", "cortex-m23"})
"""Cores whose only cycle counter is SysTick."""
_CACHES = frozenset({"cortex-m7", "cortex-m55", "cortex-m85"})
"""Cores that may have an instruction cache."""


@dataclass(frozen=True)
class AgentOptions:
    """Settings of an agent: permitted requests, and memory sizes in bytes. A larger `frame` needs fewer messages;
    `scratch` is for code under tuning, `image` for loaded images."""

    runs: bool = True
    loads: bool = True
    frame: int = 512
    steps: int = 256
    scratch: int = 0
    image: int = 0

    @property
    def macros(self) -> tuple[str, ...]:
        """C macros with which all files of the agent are compiled."""
        return (
            f"-DMOTE_AGENT_RUNS={int(self.runs)}",
            f"-DMOTE_AGENT_LOADS={int(self.loads)}",
            f"-DMOTE_AGENT_FRAME={self.frame}u",
            f"-DMOTE_AGENT_STEPS={self.steps}u",
            f"-DMOTE_AGENT_SCRATCH_BYTES={self.scratch}",
            f"-DMOTE_AGENT_IMAGE_BYTES={self.image}",
        )


def agent_sources(
    target: Target,
    glue: Mapping[str, str],
    *,
    emulated: bool,
    runtime: bool = False,
    arenas: Mapping[str, int] | None = None,
    uf2: bool = False,
) -> FirmwareSources:
    """Files of a firmware whose program is the agent; `glue` are the C files that define `mote_model`. `emulated`: for
    the target's emulated board, even if the target is a part. `arenas` are bytes that the model needs in each RAM; with
    `uf2`, flash starts after the part's UF2 boot loader."""
    board = target.core.boards.get(target.qemu_machine or "") if emulated else None
    if emulated and (board is None or board.uart is None):
        raise MoteError(
            "has no emulated board with a serial port",
            where=f"target {target.name}",
            remedy="name a core such as cortex-m4, or a part that extends one",
        )
    if board is not None and board.uart is not None:
        target = replace(target, serial=_serial(*board.uart), boot=Boot())
    if target.serial is None:
        raise MoteError(
            "has no serial port in its file, and the agent needs one",
            where=f"target {target.name}",
            remedy="state [serial] in a .toml file of your own, or use `mote agent --package`",
        )
    program = {**agent_files(runtime=runtime), **glue, f"{FOLDER}/{PORT}": (_HERE / PORT).read_text(encoding="utf-8")}
    compiled = [name for name in program if name.endswith(".c")]
    places = emulated_layout(target) if board else None
    firmware = firmware_sources(target, arenas or {}, uf2=uf2, program=compiled, places=places)
    boot = f"{FOLDER}/boot.c"
    files = {
        **firmware.files,
        **program,
        f"{FOLDER}/{PART}": _part(target, board),
        boot: f"#define MOTE_AGENT\n{firmware.files[boot]}",
    }
    return replace(firmware, files=files)


def runtime_settings(arenas: Sequence[int], states: int, *, keys: Sequence[bytes] = ()) -> str:
    """C file of an agent that runs images: memory sizes, and public keys that may sign images; without keys no
    signature is needed."""
    sizes = [*arenas, 0, 0, 0, 0][:4]
    storage = "".join(f"static uint64_t arena_{i}[{-(-size // 8)}];\n" for i, size in enumerate(sizes) if size)
    pointers = ", ".join(f"arena_{i}" if size else "NULL" for i, size in enumerate(sizes))
    nbytes = ", ".join(f"sizeof arena_{i}" if size else "0" for i, size in enumerate(sizes))
    listed = "".join(f"    {{{', '.join(map(str, key))}}},\n" for key in keys)
    known = f"static const uint8_t keys[][MOTE_PUBLIC_KEY_BYTES] = {{\n{listed}}};\n" if keys else ""
    signed = f"    .keys = keys,\n    .key_count = {len(keys)},\n    .verify = mote_ed25519_verify,\n" if keys else ""
    include = '#include "mote_ed25519.h"\n' if keys else ""
    return f"""\
/* The memory of images, and who may sign them. */
#include "mote_agent_runtime.h"
{include}
{storage}static uint64_t states[{-(-states // 8)}];
static const mote_memory_t memory = {{{{{pointers}}}, {{{nbytes}}}, states, sizeof states}};
{known}static const mote_update_settings_t trust = {{
    .product = 0u,
    .least_version = 0u,
{signed}}};

const mote_memory_t *mote_agent_memory(void) {{ return &memory; }}

const mote_update_settings_t *mote_agent_trust(void) {{ return &trust; }}
"""


def _serial(kind: str, base: int) -> SerialPort:
    """C settings of an emulated board's serial port; a CMSDK UART is enabled at its highest speed."""
    setup = (Touch(base + 0x10, "=", 16), Touch(base + 0x08, "=", 3)) if kind == "cmsdk" else ()
    return SerialPort(kind, base, setup=setup)


def _part(target: Target, board: Board | None) -> str:
    """C macros with facts about the part. The clock is not stated: after reset it differs from the one in the target
    file."""
    defined = {"MOTE_PART_NAME": f'"{target.name}"', "MOTE_PART_CLOCK": "0u"}
    if board is not None:
        defined["MOTE_PART_COUNTER"] = "MOTE_COUNTER_HOOK"
        defined["MOTE_PART_COUNTER_HZ"] = f"{board.counter_hz}u"
        defined["MOTE_PART_WAITS"] = "0u"
        if board.timer == "cmsdk":
            defined["MOTE_PART_CMSDK"] = f"{board.counter:#x}u"
        else:
            defined["MOTE_PART_TIME"] = f"{board.counter:#x}u"
            if board.timer == "sse":
                defined["MOTE_PART_SSE"] = "1"
        kind, base = board.uart or ("", 0)
        defined[f"MOTE_PART_SLEEPS_{'CMSDK' if kind == 'cmsdk' else 'PLIC'}"] = f"{base:#x}u"
        memories = [board.rom, board.ram, *([board.slow_ram] if board.slow_ram else [])]
    else:
        counter = "MOTE_COUNTER_MCYCLE" if target.arch == "riscv" else "MOTE_COUNTER_DWT"
        defined["MOTE_PART_COUNTER"] = "MOTE_COUNTER_SYSTICK" if target.cpu in _SYSTICK else counter
        defined["MOTE_PART_COUNTER_HZ"] = "0u"
        defined["MOTE_PART_WAITS"] = f"{_UNKNOWN:#x}u"
        if target.cpu in _CACHES:
            defined["MOTE_PART_CACHES"] = "1"
        memories = [(m.origin, m.size) for m in target.memories if m.origin is not None]
    defined["MOTE_PART_MEMORIES"] = ", ".join(f"{{{origin:#x}u, {size:#x}u}}" for origin, size in memories)
    lines = "".join(f"#define {name} {value}\n" for name, value in defined.items())
    return f"/* The numbers of {target.name}. */\n{lines}"
