"""Optional dependencies: imported when a feature needs them, with install instructions where they are missing. Parts of
the standard library that are slow to import are imported on demand as well."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from mote.base.errors import MoteError

PROJECT = "moteml"
TORCH_REMEDY = "pip install 'torch>=2.13,<3'; PyTorch's CPU build is enough"
"""How to install PyTorch. No extra of Mote's installs it, as on Linux that would be the CUDA build of several GB."""


def installed(package: str) -> bool:
    """Whether a package could be imported, without importing it. A folder of that name without code does not count."""
    spec = find_spec(package)
    return spec is not None and spec.origin is not None


def version_of(distribution: str) -> str:
    """The version of an installed distribution; empty if it is not installed."""
    from importlib import metadata

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""


def installing(extra: str) -> str:
    """The pip command that installs an extra of Mote's; from the clone, if Mote was installed from one."""
    from importlib import metadata

    try:
        text = metadata.distribution(PROJECT).read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        return f"pip install '.[{extra}]' in the clone of Mote"
    origin = urlparse(json.loads(text)["url"]) if text else None
    if origin is None or origin.scheme != "file":
        return f"pip install '{PROJECT}[{extra}]'"
    editable = "--editable " if json.loads(text or "{}").get("dir_info", {}).get("editable") else ""
    from urllib.request import url2pathname

    return f"pip install {editable}'{url2pathname(origin.path)}[{extra}]'"


SIZES = Path(__file__).with_name("install_sizes.json")
"""The file with the sizes on disk, in megabytes, of Debian packages, wheels and extras with their dependencies; written
by `benchmarks/install_sizes.py`."""


@cache
def _sizes() -> dict[str, dict[str, int]]:
    sizes: dict[str, dict[str, int]] = json.loads(SIZES.read_text(encoding="utf-8"))
    return sizes


def megabytes(kind: str, name: str) -> int | None:
    """Megabytes on disk that an extra ("extras"), a PyPI package ("pip") or Debian packages ("apt") take with their
    dependencies; None if not measured."""
    return _sizes()[kind].get(name)


def require(package: str, *, extra: str = "", what: str = "this") -> Any:
    """Imports a package that `what` needs. If it is missing, the error says how to install it: by an extra of Mote's,
    or by its own name."""
    try:
        with quiet():
            return import_module(package)
    except ImportError as error:
        top = package.partition(".")[0]
        remedy = TORCH_REMEDY if top == "torch" else installing(extra) if extra else f"pip install {top}"
        there = installed(top)
        reason = f"needs the package {top}, which is {'there but cannot be loaded' if there else 'not installed'}"
        detail = f": {' '.join(str(error).split())}" if there else ""
        raise MoteError(f"{what}: {reason}{detail}", remedy=remedy) from None


@contextmanager
def quiet() -> Iterator[None]:
    """Discards warnings, stdout and stderr inside of the block."""
    with warnings.catch_warnings(), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        warnings.simplefilter("ignore")
        yield


@contextmanager
def refusals(who: str) -> Iterator[None]:
    """Converts any exception of another runtime, called `who`, inside of the block to a MoteError with its message in
    one line."""
    try:
        yield
    except MoteError:
        raise
    except Exception as error:
        raise MoteError(
            f"{who} does not run the model, so that there is nothing to compare with: {' '.join(str(error).split())}",
            remedy=f"export the model again, so that {who} runs it; `mote run` runs it without a comparison",
        ) from None
