"""Errors for users: what happened, where, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from traceback import walk_tb
from typing import Any, Protocol

from mote.version import __version__

REPORT = "the command, the model if you may share it, and what MOTE_DEBUG=1 in front of the command prints"


MOST_LINE = 2000
"""Maximum characters of a line of an error message."""


class MoteError(Exception):
    """Any failure that is the input's or the machine's, not a bug: printed without a traceback.

    `where` is a file, a layer or an option; `remedy` says what the user can do next.
    """

    def __init__(self, reason: str, *, where: str = "", remedy: str = "") -> None:
        self.reason = _readable(reason)
        self.where = _readable(where)
        self.remedy = _readable(remedy)
        super().__init__(self.reason)

    def __str__(self) -> str:
        head = f"{self.where}: {self.reason}" if self.where else self.reason
        return f"{head}\n  help: {self.remedy}" if self.remedy else head

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.args, self.__dict__)


def _readable(text: str) -> str:
    """The text, with the middle of very long lines cut out."""
    if len(text) <= MOST_LINE:
        return text
    lines = text.split("\n")
    return "\n".join(x if len(x) <= MOST_LINE else f"{x[: MOST_LINE // 2]} ... {x[-MOST_LINE // 4 :]}" for x in lines)


def _again(kind: type[Exception], arguments: tuple[object, ...], attributes: dict[str, object]) -> Exception:
    """Unpickles an error, whatever arguments its class takes."""
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(attributes)
    return error


@contextmanager
def naming(file: str) -> Iterator[None]:
    """Adds the file's name to errors raised inside of the block that name nothing, or only a part of the model."""
    try:
        yield
    except MoteError as error:
        if not error.where:
            error.where = file
        elif error.where.startswith(("layer ", "graph ")):
            error.where = f"{file}: {error.where}"
        raise


@dataclass(frozen=True)
class LayerProblem:
    """Why a layer cannot be compiled, with the remedy if the reason implies one."""

    reason: str
    remedy: str = ""


@dataclass(frozen=True)
class Unsupported:
    """A layer that Mote cannot compile, with the reason and the remedy."""

    index: int
    name: str
    op: str
    reason: str
    remedy: str = ""
    doubt: str = ""
    """Anything suspicious about the layer's quantization."""


CALIBRATE = (
    "quantize the trained network again, with a representative dataset: inputs as they will be in use, enough of them "
    "to reach every layer (a scale of 0 comes from a layer whose values were all the same)"
)


class UnsupportedError(MoteError):
    """All unsupported layers of a model in one message, with their remedies. `assumed`: remedies for assumptions about
    the model that may be the cause; named first."""

    def __init__(self, layers: list[Unsupported], *, where: str, assumed: Sequence[str] = ()) -> None:
        self.layers = layers
        lines = [f"{len(layers)} layer(s) cannot be compiled:"]
        lines += [f"  layer {x.index} {x.op} '{x.name}': {_because(x)}" for x in layers]
        remedies = [*assumed, *(f"otherwise, {remedy}" if assumed else remedy for remedy in _remedies(layers))]
        super().__init__("\n".join(lines), where=where, remedy="\n  ".join(remedies))


MOST_NAMED = 5
"""Maximum number of layers that are listed beside a remedy."""


def _remedies(layers: Sequence[Unsupported]) -> list[str]:
    """The remedies; if there are several, each begins with the layers that it is for."""
    helped: dict[str, list[str]] = {}
    for layer in layers:
        helped.setdefault(layer.remedy, []).append(str(layer.index))
    if len(helped) == 1:
        return list(helped)
    return [f"layer {_some(indices)}: {remedy}" for remedy, indices in helped.items()]


def _some(indices: Sequence[str]) -> str:
    more = f" and {len(indices) - MOST_NAMED} more" if len(indices) > MOST_NAMED else ""
    return f"{', '.join(indices[:MOST_NAMED])}{more}"


def _because(layer: Unsupported) -> str:
    return layer.reason if layer.doubt in ("", layer.reason) else f"{layer.reason}; {layer.doubt}"


class UnsupportedNodeError(Exception):
    """Raised by an operator's parser in any front end; collected, so that one message lists all unsupported layers.
    `remedy`: if it is anything but using another operator or type."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        self.problem = LayerProblem(reason, remedy)
        super().__init__(reason)

    def named(self, reason: str) -> UnsupportedNodeError:
        """A copy of this error with another reason."""
        return UnsupportedNodeError(reason, self.problem.remedy)


class BudgetError(MoteError):
    """The model does not fit the target or a budget that the user named."""


class RamError(BudgetError):
    """No plan of the model fits in RAM. `least`: bytes of the smallest plan that was found; `limit`: bytes
    available."""

    def __init__(self, least: int, limit: int, *, where: str, remedy: str) -> None:
        self.least, self.limit = least, limit
        reason = f"needs {least:,} bytes of RAM at least, {self.missing:,} more than the {limit:,} that are there"
        super().__init__(reason, where=where, remedy=remedy)

    @property
    def missing(self) -> int:
        return self.least - self.limit


class BoardError(BudgetError):
    """The model does not fit an emulated board, which may have less memory than the real part."""


class TooLargeError(MoteError):
    """The model, or the memory or recursion that compiling it takes, exceeds a limit of Mote or of the machine."""


class InternalError(Exception):
    """A bug in Mote, not a fault of the model, the user or the machine. `where`: the layer being processed, if known;
    `remedy`: how to report the bug."""

    def __init__(self, error: Exception) -> None:
        notes = getattr(error, "__notes__", ())
        self.where: str = notes[0] if notes else ""
        at = f" at {self.where}" if self.where else ""
        self.reason = f"this is a bug in Mote {__version__}{at} ({type(error).__name__}: {error})"
        self.remedy = f"please report it: {REPORT}"
        super().__init__(self.reason)

    def __str__(self) -> str:
        return f"{self.reason}\n  help: {self.remedy}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.args, self.__dict__)


class NamedLayer(Protocol):
    """A part of a model that error messages can name: `where` is its description."""

    @property
    def where(self) -> str: ...


@contextmanager
def working_on(layer: NamedLayer) -> Iterator[None]:
    """Attaches the layer being processed to exceptions raised inside of the block."""
    try:
        yield
    except Exception as error:
        if not hasattr(error, "__notes__"):
            error.add_note(layer.where)
        raise


def explained(error: Exception) -> MoteError | InternalError:
    """The user-facing error for any exception: unchanged if it is one already, a limit of the machine, or an
    InternalError."""
    if isinstance(error, MoteError | InternalError):
        return error
    if isinstance(error, MemoryError):
        return TooLargeError("there is not enough memory to compile it", remedy="use a smaller model, or more memory")
    if isinstance(error, RecursionError):
        return TooLargeError("its layers depend on each other too deeply", remedy="use a model with fewer layers")
    return InternalError(error)


@contextmanager
def explaining() -> Iterator[None]:
    """Converts exceptions raised inside to user-facing errors (`explained`). A TypeError for wrong arguments of the
    call stays as it is."""
    try:
        yield
    except Exception as error:
        reported = explained(error)
        if reported is error or (isinstance(error, TypeError) and _was_not_entered(error)):
            raise
        raise reported from error


def _was_not_entered(error: TypeError) -> bool:
    """Whether a TypeError means that a function decorated with `explaining` was called with wrong arguments: the
    traceback ends in the decorator's wrapper."""
    frames = [frame.f_code.co_name for frame, _ in walk_tb(error.__traceback__)]
    return frames == ["explaining", "inner"]
