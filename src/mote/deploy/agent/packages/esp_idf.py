"""ESP-IDF: a project with the agent over a UART, USB Serial/JTAG or a debug probe."""

from __future__ import annotations

from collections.abc import Mapping

from mote.compiler.emit.licence import SPDX
from mote.compiler.package.cmake import listed
from mote.compiler.package.description import Files
from mote.compiler.package.libraries.esp_idf import (
    ESPRESSIF,
    chip,
    foreign_components,
    project,
    psram_settings,
    refuse_parts,
    uses_psram,
)
from mote.compiler.package.libraries.layout import self_contained
from mote.deploy.agent.firmware import AgentOptions
from mote.deploy.agent.packages.description import (
    NAME,
    PORT,
    AgentPackage,
    check_sentence,
    port_text,
    rtt_files,
    settings_file,
    without_scratch,
)
from mote.hardware.targets import Target

COMPONENT = f"components/{NAME}"
LEAST_VERSION = "5.3"
"""First version of ESP-IDF with separate driver components."""
NO_USB = ("esp32", "esp32s2")
"""Parts without USB Serial/JTAG."""


def check(target: Target, options: AgentOptions) -> None:
    """Raises an error for parts of other vendors, and for code in RAM."""
    without_scratch(options, "ESP-IDF", "its memory for code is protected")
    refuse_parts(target, target.name.startswith(ESPRESSIF), "make it")


def files(package: AgentPackage) -> Files:
    """Files of the project."""
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
        "main/Kconfig.projbuild": settings_file("esp-idf", "Kconfig.projbuild"),
        "main/idf_component.yml": _manifest({"idf": f">={LEAST_VERSION}"}),
        "CMakeLists.txt": project(f"{library.name}_agent"),
        "sdkconfig.defaults": _defaults(package),
        "README.md": _readme(package),
    }


def _manifest(dependencies: Mapping[str, str]) -> str:
    listed = "".join(f'  {name}: "{version}"\n' for name, version in dependencies.items())
    return f"# {SPDX}\ndependencies:\n{listed}"


def _component(package: AgentPackage) -> str:
    library = package.library
    model = listed((), package.in_src(package.model_sources))
    agent = listed((), package.in_src(package.sources))
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


def _defaults(package: AgentPackage) -> str:
    target = package.target.name
    lines = [
        *chip(package.target),
        *(["CONFIG_MOTE_AGENT_USB=y"] if target.startswith(ESPRESSIF) and target not in NO_USB else []),
        "CONFIG_COMPILER_OPTIMIZATION_SIZE=y",
        "# An inference may take longer than the watchdog waits.",
        "CONFIG_ESP_TASK_WDT_INIT=n",
        *psram_settings(package.library),
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
