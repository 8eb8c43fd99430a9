"""Arduino: a library in format 1.5 with an example sketch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from mote.compiler.emit.c.programs.example import Console
from mote.compiler.package.description import Files, Package
from mote.compiler.package.libraries.layout import (
    functions,
    in_src,
    macros,
    registered_name,
    self_contained,
    with_sources,
)
from mote.compiler.package.readme import readme
from mote.hardware.targets import Target

SKETCH = "examples/{name}/{name}.ino"
BAUD = 115200


def sketch(begin: str, loop: str = "") -> str:
    """The functions of a sketch: `begin` runs once when the serial port is open, `loop` repeatedly."""
    return f"""\
void setup() {{
    Serial.begin({BAUD});
    while (!Serial && millis() < 5000) {{ /* a USB port that nobody has opened yet */
    }}
    {begin}
}}

void loop() {{{loop}}}"""


CONSOLE = Console(
    "#include <Arduino.h>",
    "Serial.print(text);",
    sketch("example();"),
)
ARCHITECTURES = {
    "atmega": ("avr",),
    "esp32": ("esp32",),
    "imxrt": ("teensy", "avr"),  # Teensyduino calls its architecture avr
    "nrf52": ("nrf52", "mbed", "mbed_nano"),
    "ra": ("renesas_portenta", "renesas_uno"),
    "rp": ("rp2040", "mbed_rp2040"),
    "samd": ("samd",),
    "stm32": ("stm32", "STM32", "mbed_giga", "mbed_portenta"),
}
"""By prefix of a part's name: the architectures of Arduino cores for it."""
LONGEST_NAME = 63


def files(package: Package) -> Files:
    """The library and its example sketch."""
    self_contained(package, "arduino")
    program = SKETCH.format(name=package.name)
    folder = program.rpartition("/")[0]
    return {
        **in_src(_with_flags(with_sources(package))),
        **{f"{folder}/{file}": text for file, text in package.example_files.items()},
        program: package.example.program(CONSOLE),
        "library.properties": properties(
            package,
            f"No heap, no recursion, no other library. The example prints the classes of a few inputs at {BAUD} baud.",
        ),
        "keywords.txt": _keywords(package),
        "README.md": _readme(package),
    }


def architectures(target: Target) -> tuple[str, ...]:
    """The architectures of Arduino cores for a target; any for the host and for targets that are not parts."""
    parts = [cores for begin, cores in ARCHITECTURES.items() if target.name.startswith(begin)]
    return parts[0] if target.memories and parts else ("*",)


def _with_flags(package: Package) -> Package:
    """Adds required compiler flags to the sources as pragmas, as an Arduino library cannot have flags."""
    told = "/* Flags that this code needs, in a library that cannot have flags of its own. */\n"
    sources = {source: f"{told}{text}" for source, text in with_pragmas(package, package.sources).items()}
    return replace(package, files={**package.files, **sources})


def with_pragmas(package: Package, sources: Iterable[str]) -> dict[str, str]:
    """The C files with required compiler flags as pragmas; none if no flags are required."""
    pragmas = "".join(f'#pragma GCC optimize("{flag.removeprefix("-f")}")\n' for flag in package.needed)
    return {source: f"{pragmas}{package.files[source]}" for source in sources if pragmas}


def properties(package: Package, paragraph: str) -> str:
    """The text of library.properties; `paragraph`: a longer description than the summary."""
    about = package.metadata
    maintainer = f"{about.author} <{about.email}>" if about.email else about.author
    fields = {
        "name": registered_name(package)[:LONGEST_NAME],
        "version": about.version,
        "author": maintainer,
        "maintainer": maintainer,
        "sentence": f"{package.summary}.",
        "paragraph": paragraph,
        "category": "Data Processing",
        "url": about.url,
        "architectures": ",".join(architectures(package.target)),
        "includes": ",".join(package.headers),
        "license": about.license,
    }
    return "".join(f"{key}={value}\n" for key, value in fields.items())


def _keywords(package: Package) -> str:
    """The text of keywords.txt: words for syntax highlighting, each with a tab and its kind."""
    words = [(name, "KEYWORD2") for name in functions(package)] + [(name, "LITERAL1") for name in macros(package)]
    return "".join(f"{word}\t{kind}\n" for word, kind in words)


def _readme(package: Package) -> str:
    return readme(
        package,
        f"""\
Copy this folder into `libraries/` of your sketchbook, or add the archive with Sketch > Include Library > Add .ZIP
Library. File > Examples > {package.name} is the example; it prints at {BAUD} baud.
""",
    )
