"""ESP-IDF: a component with a manifest, Kconfig options and an example project."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from mote.base.errors import MoteError
from mote.compiler.emit.c.programs.example import Console
from mote.compiler.emit.licence import SPDX
from mote.compiler.package.adapters.sources import CODE
from mote.compiler.package.description import Files, Package
from mote.compiler.package.libraries.layout import (
    KEYWORDS,
    SOURCES,
    in_src,
    registered_name,
    self_contained,
    with_sources,
)
from mote.compiler.package.readme import readme
from mote.hardware.targets import Target

EXAMPLE = "examples/{name}"
PROGRAM = f"{EXAMPLE}/main/main.c"
CONSOLE = Console(
    "#include <stdio.h>",
    "fputs(text, stdout);",
    """\
void app_main(void);

void app_main(void) {
    example();
    fflush(stdout);
}""",
)
MAIN = f"""\
# {SPDX}
# A component is called as its folder is.
get_filename_component(folder "${{CMAKE_CURRENT_LIST_DIR}}/../../.." ABSOLUTE)
get_filename_component(model "${{folder}}" NAME)
idf_component_register(SRCS "main.c" PRIV_REQUIRES "${{model}}")
"""
ESPRESSIF = "esp32"
"""Prefix of the names of Espressif's parts."""
FREERTOS = "freertos"
"""Name of the FreeRTOS component of ESP-IDF, and of the folder of its headers."""
COMPONENTS = {"mote_port.c": FREERTOS, "mote_esp_i2s.c": "esp_driver_i2s"}
"""By C file of an adapter: the component of ESP-IDF that it needs."""
LEAST_VERSION, LEAST_WITH_I2S = "5.0", "5.3"
STACK = 8192
"""Bytes of stack of the example's main task."""
EXTERNAL_BSS = ".ext_ram.bss"
"""The section of ESP-IDF's linker scripts for zeroed memory in PSRAM."""
PSRAM_COMPONENT = """\
idf_build_get_property(target IDF_TARGET)
if(NOT target STREQUAL "linux")
  set(psram esp_psram)
endif()
"""
PSRAM_CHECK = """\
if(psram AND NOT CONFIG_SPIRAM_ALLOW_BSS_SEG_EXTERNAL_MEMORY)
  message(FATAL_ERROR "{name} has memory in PSRAM: set CONFIG_SPIRAM=y in your sdkconfig, or compile the model "
    "with --ram for the RAM inside the part")
endif()
"""
ABOVE = """\
# The component is the folder above, whatever it is called. In a project of your own it lies in components/.
set(EXTRA_COMPONENT_DIRS "${CMAKE_CURRENT_LIST_DIR}/../..")
"""
"""CMake code by which the example of a component finds the component."""
PSRAM = {
    "esp32s3": ("CONFIG_SPIRAM=y", "CONFIG_SPIRAM_MODE_OCT=y"),
    "esp32p4": ("CONFIG_SPIRAM=y",),
}
"""By part: the sdkconfig settings for its PSRAM."""


def files(package: Package) -> Files:
    """The component and its example project."""
    self_contained(package, "esp-idf", lambda library: library.component)
    refuse_parts(package.target, package.target.core.name in ("riscv", "xtensa"), "compile")
    package = with_sources(_with_adapter(package))
    example, main = EXAMPLE.format(name=package.name), PROGRAM.format(name=package.name).rpartition("/")[0]
    return {
        **in_src(package),
        "CMakeLists.txt": _component(package),
        "Kconfig": _options(package),
        "idf_component.yml": _manifest(package),
        "README.md": _readme(package),
        f"{example}/CMakeLists.txt": project(f"{package.name}_example", ABOVE),
        f"{example}/sdkconfig.defaults": _defaults(package),
        f"{main}/CMakeLists.txt": MAIN,
        **{f"{main}/{file}": text for file, text in package.example_files.items()},
        PROGRAM.format(name=package.name): package.example.program(CONSOLE),
    }


def refuse_parts(target: Target, fits: bool, do: str) -> None:
    """Refuses a part that ESP-IDF does not support, unless `fits`. `do`: verb of the remedy."""
    if not (target.is_host or fits):
        raise MoteError(
            f"{target.name} is no part that ESP-IDF builds for",
            where="option package",
            remedy=f"{do} for esp32, esp32c3, esp32s3, esp32p4 or host",
        )


def foreign_components(package: Package) -> dict[str, str]:
    """The components of Espressif's registry that a package depends on, with their versions."""
    libraries = [dependency.library for dependency in package.dependencies]
    return {library.component: f"=={library.version}" if library.version else "*" for library in libraries}


def _with_adapter(package: Package) -> Package:
    """The library with the adapter to FreeRTOS compiled in, if the package has one, as ESP-IDF always has FreeRTOS."""
    if "FreeRTOS.h" not in package.files.get("mote_port.h", ""):
        return package
    adapter = sorted(path for path in package.files if path.endswith(".c") and path not in (*package.sources, *CODE))
    return replace(package, sources=(*package.sources, *adapter))


def uses_psram(package: Package) -> bool:
    """Whether the library has arenas in PSRAM."""
    return any(f'"{EXTERNAL_BSS}"' in package.files[source] for source in package.sources)


def psram_settings(package: Package) -> Sequence[str]:
    """The sdkconfig settings for the part's PSRAM, if the library has arenas in it."""
    return PSRAM.get(package.target.name, ()) if uses_psram(package) else ()


def chip(target: Target) -> list[str]:
    """The sdkconfig setting that selects the part, if it is one of Espressif's."""
    return [f'CONFIG_IDF_TARGET="{target.name}"'] if target.name.startswith(ESPRESSIF) else []


def _option(package: Package) -> str:
    """Prefix of the names of the component's Kconfig options."""
    return registered_name(package).upper()


def _component(package: Package) -> str:
    sources = "\n  ".join(f'"{SOURCES}/{source}"' for source in package.sources)
    external = uses_psram(package)
    needed = [component for file, component in COMPONENTS.items() if file in package.sources]
    requires = f"\n  REQUIRES {' '.join(needed)}" if needed else ""
    requires += "\n  PRIV_REQUIRES ${psram}" if external else ""
    told = " ".join((*package.needed, *package.only_gcc))
    options = f"target_compile_options(${{COMPONENT_LIB}} PRIVATE {told})\n" if told else ""
    return f"""\
# {SPDX}
# {package.measured}
{PSRAM_COMPONENT if external else ""}idf_component_register(
  SRCS
  {sources}
  INCLUDE_DIRS "{SOURCES}"{requires})

{PSRAM_CHECK.format(name=package.name) if external else ""}{options}\
if(CONFIG_{_option(package)}_OPTIMIZE)
  target_compile_options(${{COMPONENT_LIB}} PRIVATE {package.optimization.level})
endif()
"""


def _options(package: Package) -> str:
    name, level = _option(package), package.optimization.level
    psram = f"""
    config {name}_PSRAM
        bool
        default y
        depends on SPIRAM
        select SPIRAM_ALLOW_BSS_SEG_EXTERNAL_MEMORY
"""
    return f"""\
# {SPDX}
menu "{package.name}"

    config {name}_OPTIMIZE
        bool "Compile with {level} in every project"
        default y
        help
            Compiles this component with {level} even where the project is compiled for debugging or for size.
{psram if uses_psram(package) else ""}
endmenu
"""


def _manifest(package: Package) -> str:
    about, target = package.metadata, package.target.name
    author = f"{about.author} <{about.email}>" if about.email else ""
    least = LEAST_WITH_I2S if "mote_esp_i2s.c" in package.files else LEAST_VERSION
    needed = {"idf": f">={least}", **foreign_components(package)}
    fields = {
        "version": about.version,
        "description": package.summary,
        **({"url": about.url} if about.url else {}),
        "license": about.license,
        **({"maintainers": [author]} if author else {}),
        "tags": list(KEYWORDS),
        **({"targets": [target, "linux"]} if target.startswith(ESPRESSIF) else {}),
        "dependencies": needed,
        "examples": [{"path": f"./{EXAMPLE.format(name=package.name)}"}],
    }
    # Any JSON value is a YAML value.
    return f"# {SPDX}\n" + "".join(f"{key}: {json.dumps(value)}\n" for key, value in fields.items())


def project(name: str, more: str = "") -> str:
    """The CMakeLists.txt of an ESP-IDF project; `more`: code before ESP-IDF's own file."""
    return f"""\
# {SPDX}
cmake_minimum_required(VERSION 3.16)
{more}include($ENV{{IDF_PATH}}/tools/cmake/project.cmake)
idf_build_set_property(MINIMAL_BUILD ON)
project({name})
"""


def _defaults(package: Package) -> str:
    lines = [*chip(package.target), f"CONFIG_ESP_MAIN_TASK_STACK_SIZE={STACK}", *psram_settings(package)]
    return "\n".join(lines) + "\n"


def _readme(package: Package) -> str:
    name = EXAMPLE.format(name=package.name)
    return readme(
        package,
        f"""\
Put this folder into `components/` of your project, under a name of your choice. `{name}` is the example:

```
idf.py -C {name} build flash monitor
```
""",
    )
