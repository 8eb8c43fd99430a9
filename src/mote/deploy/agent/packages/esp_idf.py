"""ESP-IDF: a project with the agent over a UART, USB Serial/JTAG or a debug probe."""

from __future__ import annotations

from collections.abc import Mapping

from mote.base.errors import MoteError
from mote.compiler.emit.licence import SPDX
from mote.compiler.package.description import Files
from mote.compiler.package.libraries.esp_idf import ESPRESSIF, PSRAM, foreign_components, uses_psram
from mote.compiler.package.libraries.layout import self_contained
from mote.deploy.agent.firmware import AgentOptions
from mote.deploy.agent.packages.description import (
    NAME,
    PORT,
    AgentPackage,
    check_sentence,
    port_text,
    rtt_files,
    without_scratch,
)
from mote.hardware.targets import Target

COMPONENT = f"components/{NAME}"
LEAST_VERSION = "5.3"
"""The version of ESP-IDF since which its drivers are components of their own."""
NO_USB = ("esp32", "esp32s2")
"""Parts without USB Serial/JTAG."""
KCONFIG = f"""\
# {SPDX}
menu "Mote's agent"

    choice MOTE_AGENT_LINE
        prompt "The line to the host"
        default MOTE_AGENT_UART

        config MOTE_AGENT_UART
            bool "A UART"

        config MOTE_AGENT_USB
            bool "USB Serial/JTAG"
            depends on SOC_USB_SERIAL_JTAG_SUPPORTED

        config MOTE_AGENT_RTT
            bool "A debug probe (mote_rtt.h)"
    endchoice

    config MOTE_AGENT_UART_NUMBER
        int "The number of the UART"
        default 0
        depends on MOTE_AGENT_UART

    config MOTE_AGENT_BAUD
        int "Baud rate"
        default 115200
        depends on MOTE_AGENT_UART

    config MOTE_AGENT_TX_GPIO
        int "Its pin TX; -1: as it is"
        default -1
        depends on MOTE_AGENT_UART

    config MOTE_AGENT_RX_GPIO
        int "Its pin RX; -1: as it is"
        default -1
        depends on MOTE_AGENT_UART

    config MOTE_AGENT_MARK_GPIO
        int "The pin that changes with every step, for an energy meter; -1: none"
        default -1

    config MOTE_AGENT_STACK_SIZE
        int "Bytes of stack of the agent's task, which the model runs on"
        default 8192

endmenu
"""


def check(target: Target, options: AgentOptions) -> None:
    """Refuses other makers' parts, and code in RAM."""
    without_scratch(options, "ESP-IDF", "its memory for code is protected")
    if not (target.is_host or target.name.startswith(ESPRESSIF)):
        raise MoteError(
            f"{target.name} is no part that ESP-IDF builds for",
            where="option package",
            remedy="make it for esp32, esp32c3, esp32s3, esp32p4 or host",
        )


def files(package: AgentPackage) -> Files:
    """The project."""
    library = package.library
    self_contained(library, "esp-idf", lambda foreign: foreign.component)
    components = foreign_components(library)
    needed = {f"{COMPONENT}/idf_component.yml": _manifest(components)} if components else {}
    return {
        **{f"{COMPONENT}/src/{path}": text for path, text in package.files.items()},
        f"{COMPONENT}/CMakeLists.txt": _component(package),
        **needed,
        f"main/{PORT}": port_text("esp-idf", PORT),
        **{f"main/{path}": text for path, text in rtt_files().items()},
        "main/CMakeLists.txt": _main(),
        "main/Kconfig.projbuild": KCONFIG,
        "main/idf_component.yml": _manifest({"idf": f">={LEAST_VERSION}"}),
        "CMakeLists.txt": _project(package),
        "sdkconfig.defaults": _defaults(package),
        "README.md": _readme(package),
    }


def _manifest(dependencies: Mapping[str, str]) -> str:
    listed = "".join(f'  {name}: "{version}"\n' for name, version in dependencies.items())
    return f"# {SPDX}\ndependencies:\n{listed}"


def _component(package: AgentPackage) -> str:
    library = package.library
    model = "\n  ".join(f'"src/{path}"' for path in package.model_sources)
    agent = "\n  ".join(f'"src/{path}"' for path in package.sources)
    told = ";".join((library.optimization.level, *library.needed, *library.only_gcc))
    requires = "\n  PRIV_REQUIRES esp_psram" if uses_psram(library) else ""
    return f"""\
# {SPDX}
# {library.measured}
set(MODEL
  {model})
idf_component_register(
  SRCS ${{MODEL}}
  {agent}
  INCLUDE_DIRS "src"{requires})
set_source_files_properties(${{MODEL}} PROPERTIES COMPILE_OPTIONS "{told}")
"""


def _main() -> str:
    return f"""\
# {SPDX}
# The port calls the agent, and the agent the port.
idf_component_register(
  SRCS "{PORT}" "mote_rtt.c"
  INCLUDE_DIRS "."
  PRIV_REQUIRES {NAME} esp_driver_uart esp_driver_usb_serial_jtag esp_driver_gpio esp_hw_support
  WHOLE_ARCHIVE)
"""


def _project(package: AgentPackage) -> str:
    return f"""\
# {SPDX}
cmake_minimum_required(VERSION 3.16)
include($ENV{{IDF_PATH}}/tools/cmake/project.cmake)
idf_build_set_property(MINIMAL_BUILD ON)
project({package.library.name}_agent)
"""


def _defaults(package: AgentPackage) -> str:
    target = package.target.name
    lines = [
        *([f'CONFIG_IDF_TARGET="{target}"'] if target.startswith(ESPRESSIF) else []),
        *(["CONFIG_MOTE_AGENT_USB=y"] if target.startswith(ESPRESSIF) and target not in NO_USB else []),
        "CONFIG_COMPILER_OPTIMIZATION_SIZE=y",
        "# An inference may take longer than the watchdog waits.",
        "CONFIG_ESP_TASK_WDT_INIT=n",
        *(PSRAM.get(target, ()) if uses_psram(package.library) else ()),
        *(["CONFIG_SPIRAM_ALLOW_BSS_SEG_EXTERNAL_MEMORY=y"] if uses_psram(package.library) else []),
    ]
    return "\n".join(lines) + "\n"


def _readme(package: AgentPackage) -> str:
    return f"""\
# {package.title}

```sh
idf.py build flash
```

ESP-IDF {LEAST_VERSION} or later. `idf.py menuconfig` (Mote's agent) chooses the line: USB Serial/JTAG where the part
has it, a UART with its pins, or a debug probe; and the pin for an energy meter. Close `idf.py monitor` before the host
connects. The counter is `esp_cpu_get_cycle_count`.

{check_sentence(["serial:/dev/ttyACM0"], "Over USB Serial/JTAG; a UART bridge is usually /dev/ttyUSB0:")}"""
