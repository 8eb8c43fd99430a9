"""PlatformIO: a library with `library.json`, and an example project for a board and for the host."""

from __future__ import annotations

import json

from mote.compiler.emit.c.programs.example import Console
from mote.compiler.package.description import Files, Package
from mote.compiler.package.libraries.arduino import BAUD, CONSOLE
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
PROGRAM = f"{EXAMPLE}/src/main.cpp"
PROJECT = f"{EXAMPLE}/platformio.ini"
EDITED = (PROGRAM, PROJECT)
NATIVE = "native"
ARDUINO_OR_NATIVE = Console(
    f"""\
#if defined(ARDUINO)
{CONSOLE.head}
#define PRINT(text) Serial.print(text)
#else
#include <stdio.h>
#define PRINT(text) fputs(text, stdout)
#endif""",
    "PRINT(text);",
    f"""\
#if defined(ARDUINO)
{CONSOLE.entry}
#else
int main(void) {{ return example(); }}
#endif""",
)
BOARDS = {
    "atmega2560": ("atmelavr", "megaatmega2560"),
    "atmega328p": ("atmelavr", "uno"),
    "esp32": ("espressif32", "esp32dev"),
    "esp32c3": ("espressif32", "esp32-c3-devkitm-1"),
    "esp32s3": ("espressif32", "esp32-s3-devkitc-1"),
    "host": ("atmelavr", "megaatmega2560"),
    "imxrt1062": ("teensy", "teensy41"),
    "nrf52840": ("nordicnrf52", "nano33ble"),
    "rp2040": ("raspberrypi", "pico"),
    "samd51": ("atmelsam", "adafruit_pyportal_m4"),
    "stm32f407": ("ststm32", "disco_f407vg"),
    "stm32f446": ("ststm32", "nucleo_f446re"),
    "stm32f746": ("ststm32", "nucleo_f746zg"),
    "stm32g0b1": ("ststm32", "nucleo_g0b1re"),
    "stm32h743": ("ststm32", "nucleo_h743zi"),
    "stm32h750": ("ststm32", "weact_mini_h750vbtx"),
    "stm32l4r5": ("ststm32", "nucleo_l4r5zi"),
    "stm32u575": ("ststm32", "nucleo_u575zi_q"),
}
"""By target: a development platform, and a board that supports Arduino's framework."""


def files(package: Package) -> Files:
    """The library and its example project."""
    self_contained(package, "platformio")
    folder, program = EXAMPLE.format(name=package.name), PROGRAM.format(name=package.name)
    example: Files = {
        PROJECT.format(name=package.name): _project(package),
        program: package.example.program(ARDUINO_OR_NATIVE),
        **{f"{folder}/src/{file}": text for file, text in package.example_files.items()},
    }
    return {
        **in_src(with_sources(package)),
        **example,
        "library.json": _manifest(package, sorted(path.removeprefix(f"{folder}/") for path in example)),
        "README.md": _readme(package),
    }


def platforms(target: Target) -> list[str]:
    """The development platforms of a target; any if the target is not a known part."""
    if target.is_host or target.name not in BOARDS:
        return ["*"]
    return [BOARDS[target.name][0], NATIVE]


def _manifest(package: Package, example: list[str]) -> str:
    about = package.metadata
    fields = {
        "name": registered_name(package),
        "version": about.version,
        "description": package.summary,
        "keywords": list(KEYWORDS),
        **({"homepage": about.url} if about.url else {}),
        "authors": [{"name": about.author, **({"email": about.email} if about.email else {}), "maintainer": True}],
        "license": about.license,
        "frameworks": ["*"],
        "platforms": platforms(package.target),
        "headers": list(package.headers),
        "examples": [{"name": package.name, "base": EXAMPLE.format(name=package.name), "files": example}],
        "build": built(package),
    }
    return json.dumps(fields, indent=2) + "\n"


def built(package: Package, **more: bool) -> dict[str, object]:
    """The build section of `library.json`; `more`: other fields."""
    flags = [*package.flags, *(["-lm"] if package.math else [])]
    return {"srcDir": SOURCES, "includeDir": SOURCES, **more, "flags": flags}


def board_environment(target: Target, *more: str) -> list[str]:
    """The lines of `platformio.ini` for a board with the target's part; none if no board is known."""
    if target.name not in BOARDS:
        return []
    platform, board = BOARDS[target.name]
    return ["", f"[env:{board}]", f"platform = {platform}", f"board = {board}", "framework = arduino", *more]


def _project(package: Package) -> str:
    lines = [
        f"; The example of {package.name}: `pio run -e {NATIVE} -t exec` runs it on this computer.",
        "[env]",
        "lib_deps = symlink://../..",
        "",
        f"[env:{NATIVE}]",
        f"platform = {NATIVE}",
    ]
    lines += board_environment(package.target, f"monitor_speed = {BAUD}")
    return "\n".join(lines) + "\n"


def _readme(package: Package) -> str:
    name = EXAMPLE.format(name=package.name)
    return readme(
        package,
        f"""\
Add it to the `lib_deps` of your `platformio.ini`, by its path (`symlink://PATH`) or by that of the archive which
`pio pkg pack` writes (`file://PATH`). `{name}` is the example, on this computer:

```
pio run -d {name} -e {NATIVE} -t exec
```
""",
    )
