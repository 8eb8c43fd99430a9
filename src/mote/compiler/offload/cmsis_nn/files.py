"""The user's files of CMSIS-NN, and the files that Mote writes to call them."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from mote.compiler.offload.foreign import ForeignLibrary, PackComponent
from mote.compiler.offload.library.generator import folders_key, given_folder
from mote.compiler.offload.library.sources import LibrarySources

NAME = "CMSIS-NN"
PATH = "CMSIS_NN_PATH"
"""Environment variable with the folder of CMSIS-NN."""
PACKS = "CMSIS_PACK_ROOT"
"""Environment variable with the folder of CMSIS packs."""
INCLUDE, SOURCE = "Include", "Source"
FUNCTIONS = f"{INCLUDE}/arm_nnfunctions.h"
HEADER = "cmsis_nn_calls.h"
OWN = {HEADER: (files(__package__) / "c" / HEADER).read_text(encoding="utf-8")}
"""The files of Mote's in every project that calls CMSIS-NN."""
ONCE = "cmsis_nn_once_"
"""Prefix of functions that round once, and of their files."""
AGAIN = "_once"
"""Suffix of the wrappers that call the functions with single rounding."""
ZEPHYR = {
    "": "CMSIS_NN",
    f"{SOURCE}/BasicMathFunctions": "CMSIS_NN_BASICMATH",
    f"{SOURCE}/ConvolutionFunctions": "CMSIS_NN_CONVOLUTION",
    f"{SOURCE}/FullyConnectedFunctions": "CMSIS_NN_FULLYCONNECTED",
    f"{SOURCE}/NNSupportFunctions": "CMSIS_NN_NNSUPPORT",
    f"{SOURCE}/PoolingFunctions": "CMSIS_NN_POOLING",
    f"{SOURCE}/SVDFunctions": "CMSIS_NN_SVD",
    f"{SOURCE}/SoftmaxFunctions": "CMSIS_NN_SOFTMAX",
}
"""By source folder of the library: Zephyr's Kconfig option that compiles it; empty: the library itself."""


def checkout() -> Path:
    """The folder of CMSIS-NN; raises FileNotFoundError, whose message says what is missing."""
    if root := given_folder(os.environ.get(PATH), PATH, FUNCTIONS):
        return root
    if not (packs := os.environ.get(PACKS)):
        raise FileNotFoundError(f"neither {PATH} nor {PACKS} is set")
    folder = Path(packs).resolve() / "ARM" / "CMSIS-NN"
    versions = [path.parents[1] for path in folder.glob(f"*/{FUNCTIONS}")]
    if not versions:
        raise FileNotFoundError(f"{PACKS} is {packs}, which has no pack ARM/CMSIS-NN")
    return max(versions, key=lambda path: [int(n) for n in re.findall(r"\d+", path.name)])


def contents(root: Path) -> str:
    """A key for the contents of the library's files, for caches."""
    return folders_key(root / INCLUDE, root / SOURCE)


def foreign(root: Path) -> ForeignLibrary:
    """The description of the library, by which build systems and ecosystems refer to it."""
    return ForeignLibrary(
        NAME,
        "https://github.com/ARM-software/CMSIS-NN",
        PATH,
        str(root),
        FUNCTIONS,
        (INCLUDE,),
        cmake_target="cmsis-nn",
        zephyr=tuple(ZEPHYR.items()),
        pack=PackComponent("ARM", NAME, "7.0.0", "CMSIS", "NN Lib"),
    )


def sources(root: Path) -> LibrarySources:
    return _sources(root, contents(root))


@lru_cache(maxsize=4)
def _sources(root: Path, contents: str) -> LibrarySources:
    return LibrarySources((root / SOURCE,))


def once_files(root: Path, functions: Sequence[str]) -> dict[str, str]:
    """Files that compile functions and all their callees again, under other names, with single rounding of sums:
    CMSIS-NN has a macro for that, which applies to a whole file. Its sources are included relative to its header
    folder, the only path that an ecosystem passes to a compiler."""
    library = sources(root)
    made = {}
    for path in library.closure(*functions):
        names = sorted(name for file in library.closure(*library.functions(path)) for name in library.functions(file))
        renamed = "".join(f"#define {name} {ONCE}{name}\n" for name in names)
        inner = f"../{path.relative_to(root).as_posix()}"
        made[f"{ONCE}{path.name}"] = f'#define CMSIS_NN_USE_SINGLE_ROUNDING\n{renamed}#include "{inner}"\n'
    return made
