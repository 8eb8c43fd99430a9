"""The user's own ESP-NN: where it lies, which version it is, and which of its files each part of Espressif compiles."""

from __future__ import annotations

import os
import re
from enum import StrEnum
from pathlib import Path

from mote.offload.contract import Missing
from mote.targets import Target

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


def folder() -> Path:
    """The user's ESP-NN."""
    return Path(os.environ[PATH]).resolve()


def missing() -> Missing | None:
    """Why there is no ESP-NN to use, with the remedy."""
    given = os.environ.get(PATH, "")
    if not given:
        return Missing(f"{PATH} is not set", REMEDY)
    if not (Path(given) / HEADER).is_file():
        return Missing(f"{PATH} is {given}, which has no {HEADER}", REMEDY)
    version = version_of(Path(given))
    if version != VERSION:
        return Missing(f"{PATH} has ESP-NN {version or 'of an unknown version'}, and {VERSION} is needed", REMEDY)
    return None


def version_of(where: Path) -> str:
    """The version that its manifest states; nothing where there is none."""
    try:
        text = (where / "idf_component.yml").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
    stated = re.search(r"""^version:\s*["']?([\d.]+)""", text, re.MULTILINE)
    return stated[1] if stated else ""


def portable_sources(where: Path, function: str = "*") -> list[Path]:
    """The C files for any core, of a function or of all."""
    endings = ("ansi", Edition.GENERIC.value)
    return sorted(path for ending in endings for path in where.glob(f"src/*/esp_nn_{function}_{ending}.c"))


def sources(where: Path, edition: Edition, function: str = "*") -> list[Path]:
    """The files that its own build compiles for an edition; for any core those of a function alone."""
    if not edition.vectors:
        return portable_sources(where, function)
    own = (path for ending in "cS" for path in where.glob(f"src/*/*_{edition}.{ending}"))
    return sorted((*portable_sources(where), *own))


PORTABLE = "esp_nn_portable.h"
"""A header that is there where Mote itself runs a model for a core whose vectors nothing here has."""
_EDITION = """\
/* The ESP-NN that ESP-IDF is configured for; elsewhere its {about}. */
#if defined(ESP_PLATFORM)
#include "sdkconfig.h"
#else
{defines}#endif
#include "esp_nn.h"
"""
_SILENT = "#include <stdio.h>\n#define printf(...) ((void)0)\n"
_OPTIMIZED = "#define CONFIG_NN_OPTIMIZED 1\n"


def edition_header(edition: Edition) -> str:
    """The C that includes ESP-NN's header for an edition."""
    if not edition.vectors:
        return _EDITION.format(about="generic edition", defines=_OPTIMIZED)
    names = f"{_OPTIMIZED}#define CONFIG_IDF_TARGET_{edition.upper()} 1\n"
    simulated = f'#if defined(__has_include)\n#if __has_include("{PORTABLE}")\n#include "{PORTABLE}"\n#endif\n#endif\n'
    unless = f"{simulated}#if !defined(ESP_NN_PORTABLE)\n{names}#endif\n"
    return _EDITION.format(about=f"edition for {edition}, but where Mote runs the model", defines=unless)


def simulated(where: Path, edition: Edition, function: str) -> dict[str, str]:
    """The files of a function where Mote itself runs a model: those for any core, which print nothing there."""
    copies = {f"portable_{path.name}": f'{_SILENT}#include "{path}"\n' for path in portable_sources(where, function)}
    return {PORTABLE: "#define ESP_NN_PORTABLE 1\n", **copies} if edition.vectors else copies


def includes(where: Path) -> tuple[str, ...]:
    """The folders of its headers."""
    return str(where / "include"), str(where / "src" / "common")
