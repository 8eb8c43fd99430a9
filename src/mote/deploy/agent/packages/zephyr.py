"""Zephyr: an application with the agent over a UART, USB or a debug probe."""

from __future__ import annotations

from collections.abc import Sequence

from mote.compiler.emit.licence import SPDX
from mote.compiler.package.cmake import listed, quoted
from mote.compiler.package.description import Files
from mote.compiler.package.zephyr import BOARDS, libraries_outside_zephyr
from mote.deploy.agent.packages.description import (
    PORT,
    AgentPackage,
    check_sentence,
    port_text,
    rtt_files,
    settings_file,
)

STACK = 8192
"""Stack bytes of the main thread, on which the model runs."""
PROTECTION = {"arm": "CONFIG_ARM_MPU", "riscv": "CONFIG_RISCV_PMP"}
"""Kconfig options of memory protection, which prevents executing RAM."""


SETTINGS = ("Kconfig", "usb.conf", "usb.overlay", "rtt.conf", "mark.overlay")
"""Kconfig and devicetree files that select the transport to the host and the pin for an energy meter."""


def files(package: AgentPackage) -> Files:
    """Files of the application."""
    return {
        **{f"src/{path}": text for path, text in package.files.items()},
        f"src/{PORT}": port_text("zephyr", PORT),
        **{f"src/{path}": text for path, text in rtt_files().items()},
        "CMakeLists.txt": _cmake(package),
        **{name: settings_file("zephyr", name) for name in SETTINGS},
        "prj.conf": _configuration(package),
        "README.md": _readme(package),
    }


def _cmake(package: AgentPackage) -> str:
    library = package.library
    model = listed(package.in_src(package.model_sources), library.external)
    agent = listed(package.in_src((*package.sources, PORT)))
    include = " ".join(("src", *map(quoted, library.includes)))
    told = ";".join((library.optimization.level, *library.needed))
    only_gcc = " ".join(library.only_gcc)
    more = f'\nif(CMAKE_C_COMPILER_ID STREQUAL "GNU")\n  list(APPEND OPTIONS {only_gcc})\nendif()' if only_gcc else ""
    return f"""\
# {SPDX}
# {library.measured}
cmake_minimum_required(VERSION 3.20.0)
find_package(Zephyr REQUIRED HINTS $ENV{{ZEPHYR_BASE}})
project({library.name}_agent C)

set(MODEL
  {model})
set(OPTIONS "{told}"){more}
set_source_files_properties(${{MODEL}} PROPERTIES COMPILE_OPTIONS "${{OPTIONS}}")
target_include_directories(app PRIVATE {include})
target_sources(app PRIVATE
  ${{MODEL}}
  {agent})
target_sources_ifdef(CONFIG_MOTE_AGENT_RTT app PRIVATE src/mote_rtt.c)
{libraries_outside_zephyr(library, "app")}"""


def _configuration(package: AgentPackage) -> str:
    fpu = {"fpu", "float32"} & package.target.features
    lines = [
        "CONFIG_REBOOT=y",
        "CONFIG_GPIO=y",
        "CONFIG_THREAD_STACK_INFO=y",
        f"CONFIG_MAIN_STACK_SIZE={STACK}",
        *(["CONFIG_FPU=y"] if fpu else []),
        *(["CONFIG_REQUIRES_FULL_LIBC=y"] if package.library.math else []),
        *(f"CONFIG_{option}=y" for dependency in package.library.dependencies for option in dependency.options),
        *(_executable_ram(package) if package.options.scratch else ()),
    ]
    return f"# {SPDX}\n" + "\n".join(lines) + "\n"


def _executable_ram(package: AgentPackage) -> Sequence[str]:
    """Kconfig lines that allow executing code in RAM."""
    unit = PROTECTION.get(package.target.arch)
    return (f"# Code is written to RAM and called there.\n{unit}=n",) if unit else ()


def _readme(package: AgentPackage) -> str:
    board = BOARDS.get(package.target.cpu, ("YOUR_BOARD",))[0]
    return f"""\
# {package.title}

```sh
west build -b {board}
west flash
```

The line is the UART of the console. Others:

```sh
west build -b {board} -- -DEXTRA_CONF_FILE=usb.conf -DEXTRA_DTC_OVERLAY_FILE=usb.overlay
west build -b {board} -- -DEXTRA_CONF_FILE=rtt.conf
```

An overlay of yours names another UART: `/ {{ chosen {{ mote,agent = &uart1; }}; }};`. `mark.overlay` is an example of
the pin for an energy meter. The counter is that of the core (DWT, mcycle) where it counts, and else `k_cycle_get_32`.

{check_sentence(["serial:/dev/ttyACM0", "tcp:127.0.0.1:9090"], "Over the serial port, or a debugger's RTT server:")}"""
