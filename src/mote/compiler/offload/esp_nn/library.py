"""The user's copy of ESP-NN: its folder, version and files."""

from __future__ import annotations

import os
import re
from enum import StrEnum
from pathlib import Path

from mote.compiler.offload.foreign import ForeignLibrary
from mote.compiler.offload.library.generator import folders_key, given_folder
from mote.hardware.targets import Target

NAME = "ESP-NN"
PATH = "ESP_NN_PATH"
"""Environment variable with a checkout of ESP-NN, or a folder of ESP-IDF's component manager."""
VERSION = "1.2.3"
"""The supported version, whose working memory and results are known."""
COMPONENT = "espressif/esp-nn"
"""Name of ESP-NN in the registry of ESP-IDF components."""
REMEDY = (
    f"set {PATH} to a checkout of https://github.com/espressif/esp-nn (tag v{VERSION}), or to"
    " managed_components/espressif__esp-nn of an ESP-IDF project"
)
HEADER = "include/esp_nn.h"
MANIFEST = "idf_component.yml"
INCLUDES = ("include", "src/common")
"""Include folders of ESP-NN, relative to its folder."""


class Edition(StrEnum):
    """The variant of ESP-NN's functions that its build selects for a part; the value is the suffix of their names."""

    GENERIC = "opt"
    """Portable C with unrolled loops."""
    S3 = "esp32s3"
    """Assembly with the vector instructions of the ESP32-S3."""
    P4 = "esp32p4"
    """C and assembly with the vector instructions of the ESP32-P4."""

    @property
    def vectors(self) -> bool:
        """Whether it loads vectors of 16 bytes, so that tensors and working memory need this alignment."""
        return self is not Edition.GENERIC


EDITIONS = {"esp32": Edition.GENERIC, "esp32c3": Edition.GENERIC, "esp32s3": Edition.S3, "esp32p4": Edition.P4}
"""By Espressif's name of a part: its edition."""


def edition_of(target: Target) -> Edition | None:
    """The edition for a target; None if ESP-NN does not support it."""
    return EDITIONS.get(target.flashing.esptool)


def checkout() -> Path:
    """The folder of the user's ESP-NN; raises FileNotFoundError, whose message says what is missing."""
    root = given_folder(os.environ.get(PATH), PATH, HEADER)
    if root is None:
        raise FileNotFoundError(f"{PATH} is not set")
    version = version_of(root)
    if version != VERSION:
        raise FileNotFoundError(f"{PATH} has ESP-NN {version or 'of an unknown version'}, and {VERSION} is needed")
    return root


def version_of(where: Path) -> str:
    """The version in the library's manifest; empty if there is none."""
    try:
        text = (where / MANIFEST).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
    stated = re.search(r"""^version:\s*["']?([\d.]+)""", text, re.MULTILINE)
    return stated[1] if stated else ""


def contents(where: Path) -> str:
    """A key for the contents of the library's files, for caches."""
    return folders_key(where / "include", where / "src")


def sources(where: Path, function: str = "*") -> list[Path]:
    """The portable C files of a function, or of all functions. ESP-IDF compiles those of the part's edition instead."""
    endings = ("ansi", Edition.GENERIC.value)
    return sorted(path for ending in endings for path in where.glob(f"src/*/esp_nn_{function}_{ending}.c"))


def simulated(where: Path, edition: Edition, function: str) -> dict[str, str]:
    """Files that include the portable sources, which Mote runs in place of a part's vector functions; none if the
    edition is portable."""
    if not edition.vectors:
        return {}
    return {f"portable_{path.name}": f'#include "{path}"\n' for path in sources(where, function)}


def includes(where: Path) -> tuple[str, ...]:
    """Paths of the include folders of ESP-NN."""
    return tuple(str(where / folder) for folder in INCLUDES)


def foreign(where: Path) -> ForeignLibrary:
    """The description of the library, by which build systems and ecosystems refer to it."""
    url = "https://github.com/espressif/esp-nn"
    return ForeignLibrary(NAME, url, PATH, str(where), HEADER, INCLUDES, VERSION, MANIFEST, component=COMPONENT)
