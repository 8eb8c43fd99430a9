"""The user's own ESP-NN: where it lies, which version it is, and its files."""

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
"""The variable that names a checkout, or a folder of ESP-IDF's component manager."""
VERSION = "1.2.3"
"""The version whose working memory and results are known."""
COMPONENT = "espressif/esp-nn"
"""Its name in the registry of ESP-IDF's components."""
REMEDY = (
    f"set {PATH} to a checkout of https://github.com/espressif/esp-nn (tag v{VERSION}), or to"
    " managed_components/espressif__esp-nn of an ESP-IDF project"
)
HEADER = "include/esp_nn.h"
MANIFEST = "idf_component.yml"
INCLUDES = ("include", "src/common")
"""The folders of its headers."""


class Edition(StrEnum):
    """Which of its functions the build of ESP-NN chooses for a part; the value is how names of those end."""

    GENERIC = "opt"
    """C for any core, with loops unrolled."""
    S3 = "esp32s3"
    """Assembly with the vector instructions of the ESP32-S3."""
    P4 = "esp32p4"
    """C and assembly with the vector instructions of the ESP32-P4."""

    @property
    def vectors(self) -> bool:
        """Whether vectors of 16 bytes are loaded, so that tensors and working memory are multiples of that."""
        return self is not Edition.GENERIC


EDITIONS = {"esp32": Edition.GENERIC, "esp32c3": Edition.GENERIC, "esp32s3": Edition.S3, "esp32p4": Edition.P4}
"""The edition of each part, by Espressif's name of it."""


def edition_of(target: Target) -> Edition | None:
    """The edition for a target; None where ESP-NN has none."""
    return EDITIONS.get(target.flashing.esptool)


def checkout() -> Path:
    """The user's ESP-NN. Raises FileNotFoundError, which says what is not there."""
    root = given_folder(os.environ.get(PATH), PATH, HEADER)
    if root is None:
        raise FileNotFoundError(f"{PATH} is not set")
    version = version_of(root)
    if version != VERSION:
        raise FileNotFoundError(f"{PATH} has ESP-NN {version or 'of an unknown version'}, and {VERSION} is needed")
    return root


def version_of(where: Path) -> str:
    """The version that its manifest states; nothing where there is none."""
    try:
        text = (where / MANIFEST).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
    stated = re.search(r"""^version:\s*["']?([\d.]+)""", text, re.MULTILINE)
    return stated[1] if stated else ""


def contents(where: Path) -> str:
    """What is in the library as a key of what is made with it."""
    return folders_key(where / "include", where / "src")


def sources(where: Path, function: str = "*") -> list[Path]:
    """The C files of a function, or of all, for any core. ESP-IDF compiles those of the part's edition instead."""
    endings = ("ansi", Edition.GENERIC.value)
    return sorted(path for ending in endings for path in where.glob(f"src/*/esp_nn_{function}_{ending}.c"))


def simulated(where: Path, edition: Edition, function: str) -> dict[str, str]:
    """The files for any core as those that Mote runs in place of a part's: nothing here has vectors of its kind."""
    if not edition.vectors:
        return {}
    return {f"portable_{path.name}": f'#include "{path}"\n' for path in sources(where, function)}


def includes(where: Path) -> tuple[str, ...]:
    """The folders of its headers."""
    return tuple(str(where / folder) for folder in INCLUDES)


def foreign(where: Path) -> ForeignLibrary:
    """The library in a folder, as builds and ecosystems know it."""
    url = "https://github.com/espressif/esp-nn"
    return ForeignLibrary(NAME, url, PATH, str(where), HEADER, INCLUDES, VERSION, MANIFEST, component=COMPONENT)
