"""Mutants of documents, answers of boards and saved states: each is read, or refused with a reason."""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from unittest.mock import patch

import mote
from mote.base.errors import MoteError
from mote.base.stopping import StoppedError
from tests.fuzz.board_answers import EndlessSessionError, on_lying_board, to_lying_device
from tests.fuzz.child import TooSlowError, within
from tests.fuzz.config_kinds import KINDS, Kind
from tests.fuzz.hostile import damage, damaged_text, toml_document, written
from tests.fuzz.mutants import mutant as model_mutant
from tests.fuzz.trial import Outcome, Verdict, place

SECONDS = 20
"""Of CPU that a command may take."""
TEXT = 0.25
"""The share of mutants whose text is damaged, not what it says."""
MOST_SAID = 10_000
"""Characters of an error message."""
REFUSED, BUG = 1, 70
OTHERS: Mapping[str, int] = {"board": 40, "device": 50, "state": 40, "model": 8}
"""What is no document, and how often it is tried."""


@dataclass(frozen=True)
class DocumentMutant:
    """A file, or a board that lies, and what reads it."""

    seed: int
    number: int
    kind: str
    edits: tuple[str, ...]
    data: bytes

    @property
    def suffix(self) -> str:
        return Path(KINDS[self.kind].file).suffix if self.kind in KINDS else ".bin"

    @property
    def rng(self) -> Random:
        """The choices of what reads it."""
        return Random(f"use {self.seed}/{self.number}")

    def __str__(self) -> str:
        return f"{self.seed}/{self.number} {self.kind} ({', '.join(self.edits) or 'as it is'})"


def mutant(seed: int, number: int) -> DocumentMutant:
    """The mutant of that number."""
    rng = Random(f"document {seed}/{number}")
    weights = {name: kind.weight for name, kind in KINDS.items()} | OTHERS
    (name,) = rng.choices(list(weights), list(weights.values()))
    if name not in KINDS:
        edits, data = _OTHERS[name](rng)
        return DocumentMutant(seed, number, name, edits, data)
    kind = KINDS[name]
    document, edits = kind.document(), []
    for _ in range(rng.choices((0, 1, 2, 4), (1, 12, 5, 1))[0]):
        edits.append(damage(rng, document, kind.toml))
        if not document:
            break
    text = (toml_document(document) if kind.toml else written(document, toml=False)).encode(errors="surrogatepass")
    if rng.random() < TEXT:
        edits, text = [*edits, "text"], damaged_text(rng, text)
    return DocumentMutant(seed, number, name, tuple(edits), kind.wrap(text))


def _answers(rng: Random) -> tuple[tuple[str, ...], bytes]:
    return ("answers",), b""


def _state(rng: Random) -> tuple[tuple[str, ...], bytes]:
    return ("state",), damaged_text(rng, _saved())


def _model(rng: Random) -> tuple[tuple[str, ...], bytes]:
    made = model_mutant(rng.randrange(1 << 30), rng.randrange(1 << 30))
    return made.edits, made.data


_OTHERS: Mapping[str, Callable[[Random], tuple[tuple[str, ...], bytes]]] = {
    "board": _answers,
    "device": _answers,
    "state": _state,
    "model": _model,
}


@cache
def _learner() -> mote.Interpreter:
    return mote.Interpreter(str(Path(__file__).parents[2] / "models" / "digits_float.tflite"), train="last")


@cache
def _saved() -> bytes:
    return bytes(_learner().save())


def _used(m: DocumentMutant, folder: Path) -> int:
    if m.kind == "board":
        return on_lying_board(m.rng)
    if m.kind == "device":
        return to_lying_device(m.rng)
    if m.kind == "state":
        _learner().restore(m.data)
        return 0
    if m.kind == "model":
        path = folder / f"m{m.number}.tflite"
        path.write_bytes(m.data)
        from mote.ui.cli import main

        return main(["inspect", str(path)])
    kind: Kind = KINDS[m.kind]
    path = (
        folder / f"{m.number}-{kind.file}" if kind.file not in ("mote.toml", "pyproject.toml") else folder / kind.file
    )
    path.write_bytes(m.data)
    return kind.use(path, m.rng)


def attempt(m: DocumentMutant) -> Outcome:
    """Reads one mutant in a folder of its own. Errors of the command line that are no bugs leave it as they do when a
    user calls it; MOTE_DEBUG lets the others through with their origin."""
    said = io.StringIO()
    try:
        with _folder() as folder, _quiet(said), within(SECONDS):
            status = _used(m, folder)
    except MoteError as error:
        said.write(f"mote: error: {error}\n")
        status = REFUSED
    except TooSlowError as error:
        return Outcome(Verdict.FINDING, f"slow: {m.kind}: {place(error)}")
    except EndlessSessionError as error:
        return Outcome(Verdict.FINDING, f"endless: {m.kind}: {place(error)}")
    except (Exception, SystemExit, StoppedError) as error:
        return Outcome(Verdict.FINDING, f"bug: {m.kind}: {place(error.__cause__ or error)}")
    return _judged(m, status, said.getvalue())


def _judged(m: DocumentMutant, status: int, said: str) -> Outcome:
    """What a user has seen: an error that can be printed, and is not endless."""
    if status == 0:
        return Outcome(Verdict.READ)
    rest = said.partition("error: ")[2]
    if status == BUG or (status != REFUSED and not rest):
        return Outcome(Verdict.FINDING, f"bug: {m.kind}: status {status}")
    if len(rest) > MOST_SAID:
        return Outcome(Verdict.FINDING, f"message: {m.kind}: of {len(rest):,} characters: {_shape(rest)}")
    if not rest.replace("\n", "").replace("\t", "").isprintable():
        return Outcome(Verdict.FINDING, f"message: {m.kind}: that cannot be printed: {_shape(rest)}")
    return Outcome(Verdict.REFUSED, rest)


def _shape(text: str) -> str:
    """The beginning of a message without what differs from mutant to mutant."""
    return re.sub(r"/\S+/|\d+|[^ -~]", "", text)[:60]


@contextmanager
def _folder() -> Iterator[Path]:
    """A folder that relative paths of a mutant do not lead out of, and that is the current one inside."""
    before = Path.cwd()
    with TemporaryDirectory(prefix="mote-fuzz-") as top:
        folder = Path(top) / "a" / "b" / "c" / "d"
        folder.mkdir(parents=True)
        try:
            os.chdir(folder)
            yield folder
        finally:
            os.chdir(before)


@contextmanager
def _quiet(said: io.StringIO) -> Iterator[None]:
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(said),
        patch.dict(os.environ, {"MOTE_DEBUG": "1", "COLUMNS": "1000"}),
    ):
        yield
