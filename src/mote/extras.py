"""Packages that only some formats need: they are loaded when a file of that format comes, and named where they are
missing."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from io import StringIO
from typing import Any

from mote.errors import MoteError

PROJECT = "moteml"


def installed(package: str) -> bool:
    """Whether a package could be loaded, without loading it. A folder of that name without code is none."""
    found = find_spec(package)
    return found is not None and found.origin is not None


def version_of(distribution: str) -> str:
    """The version of a package; nothing where it is not installed, or does not tell."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""


def require(package: str, *, extra: str = "", what: str = "this") -> Any:
    """Load a package that `what` needs, or say how to get it: with an extra of Mote's, or by its own name."""
    try:
        with quiet():
            return import_module(package)
    except ImportError as error:
        top = package.partition(".")[0]
        wanted = f"'{PROJECT}[{extra}]'" if extra else top
        there = installed(top)
        reason = f"needs the package {top}, which is {'there but cannot be loaded' if there else 'not installed'}"
        detail = f": {' '.join(str(error).split())}" if there else ""
        raise MoteError(f"{what}: {reason}{detail}", remedy=f"pip install {wanted}") from None


@contextmanager
def quiet() -> Iterator[None]:
    """What packages print and warn of while they are at work is not Mote's output."""
    with warnings.catch_warnings(), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        warnings.simplefilter("ignore")
        yield


@contextmanager
def refusals(who: str) -> Iterator[None]:
    """What another library refuses to run is said as it says it, in one line: errors of libraries have no class in
    common."""
    try:
        yield
    except MoteError:
        raise
    except Exception as error:
        raise MoteError(
            f"{who} does not run the model, so that there is nothing to compare with: {' '.join(str(error).split())}",
            remedy=f"export the model again, so that {who} runs it; `mote run` runs it without a comparison",
        ) from None
