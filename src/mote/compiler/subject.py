"""The input of a compilation: a model argument, and the graph that is read from it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mote import frontends
from mote.base.errors import MoteError, explaining, naming
from mote.compiler.pins_file import check_model
from mote.compiler.settings import Settings
from mote.compiler.stages import CompilerStage, session
from mote.frontends import Format, Source
from mote.ir.graph import Graph


def given_model(model: Any, settings: Settings, example_inputs: Any = None) -> Source:
    """The source of a `model` argument: a file, bytes or an object, with the settings that say how to read it. A model
    that is not a file gets the name in the settings."""
    source = frontends.source_of(
        model,
        shapes=settings.shapes,
        edges=settings.edges,
        example_inputs=example_inputs,
        features=settings.features,
        outputs=settings.outputs,
        signature=settings.signature,
        constants=settings.constants,
    )
    if settings.name and not isinstance(model, str | Path | Source):
        source = replace(source, where=settings.name)
    if source.format != Format.TFLITE and settings.numerics == "tflm":
        raise MoteError(
            f"TFLite Micro does not run models of {source.title}, so that there are no numerics of it to follow",
            where="option numerics",
            remedy="omit it",
        )
    check_model(source, settings.pins)
    return source


@dataclass(frozen=True)
class CompilerInput:
    """The input of a compilation: a graph, and the file that it was read from."""

    graph: Graph
    where: str
    source: Source | None = None
    warnings: tuple[str, ...] = ()
    version: str = ""
    """The model's version in the metadata of the file."""
    preprocess: str = ""
    """The preprocessing steps in the metadata of the file."""


def subject_of(source: Source) -> CompilerInput:
    """The compilation input of a source. Equal sources are read once, for all targets and settings."""
    return replace(session().result(READ, source), source=source)


def _read(source: Source) -> CompilerInput:
    model = frontends.read(source)
    return CompilerInput(model.graph(), source.where, None, model.warnings, model.version, model.preprocess)


READ = CompilerStage("read", _read)


@contextmanager
def reading(source: Source) -> Iterator[CompilerInput]:
    """The compilation input of a source; errors inside of the block name the source."""
    with naming(source.where), explaining():
        yield subject_of(source)


def model_steps(model: str | Path) -> str:
    """The preprocessing steps in the metadata of a model's file."""
    source = frontends.source_of(model)
    return subject_of(source).preprocess if source.format == Format.TFLITE else ""
