"""Models in, Graph out. A front end is a folder; the format of a model is detected from its content."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from mote.base import files
from mote.base.errors import MoteError, TooLargeError, naming
from mote.frontends.detection import MOST_BYTES, detect, files_beside, refuse_folder
from mote.frontends.model import Model
from mote.frontends.objects import from_object
from mote.frontends.source import EDGES, FEATURES, SUFFIXES, Format, Source, fixed_inputs
from mote.ir.graph import Graph

__all__ = ["EDGES", "FEATURES", "SUFFIXES", "Format", "Source", "load", "parse", "read", "source_of"]

READERS = {
    Format.TFLITE: "tflite",
    Format.ONNX: "onnx",
    Format.TORCH: "torch.reader",
    Format.KERAS: "keras",
    Format.SKLEARN: "sklearn",
    Format.XGBOOST: "trees.xgboost",
    Format.LIGHTGBM: "trees.lightgbm",
}
"""The parts of this package that read the formats, each with a function `read`: only that of a model's own format is
loaded."""
SHAPED = (Format.TFLITE, Format.ONNX, Format.TORCH, Format.KERAS)
"""Formats whose input shapes can be overridden, and whose inputs can be replaced by constants."""
FORESTS = (Format.SKLEARN, Format.XGBOOST, Format.LIGHTGBM)
"""Formats whose models may take features of other types than float32."""


def source_of(
    model: Any,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    edges: str = EDGES[0],
    example_inputs: Any = None,
    features: str = FEATURES[0],
    outputs: Sequence[str] = (),
    signature: str = "",
    constants: Mapping[str, Any] | None = None,
) -> Source:
    """The source of a model: the path of a file, its bytes, an object of another library, or a source. `shapes` are the
    shapes of inputs by name, `edges` is the layout of images in the inputs and outputs of generated code,
    `example_inputs` are the arguments of a PyTorch module, `features` is the type of a forest's features, `outputs`
    selects outputs by name, `signature` selects a signature of a `.tflite` file, and `constants` replaces inputs by
    constants, by name."""
    if isinstance(model, str | Path | bytes | Source) and example_inputs is not None:
        raise MoteError("is for modules of PyTorch", where="option example_inputs", remedy="omit it")
    if isinstance(model, Source):
        source = model
    elif isinstance(model, bytes):
        source = _from_bytes(model)
    elif isinstance(model, str | Path):
        source = _from_file(model)
    else:
        source = from_object(model, example_inputs)
    wanted = tuple(sorted((name, tuple(shape)) for name, shape in (shapes or {}).items()))
    if wanted and source.format not in SHAPED:
        raise MoteError(
            f"a model of {source.title} has fixed input shapes", where=f"{source.where}: option shape", remedy="omit it"
        )
    fixed = fixed_inputs(constants)
    if fixed and source.format not in SHAPED:
        raise MoteError(
            f"a model of {source.title} takes one vector of features, which cannot be a constant",
            where=f"{source.where}: option set",
            remedy="omit it",
        )
    if signature and source.format != Format.TFLITE:
        raise MoteError(
            f"a model of {source.title} has no signatures", where=f"{source.where}: option signature", remedy="omit it"
        )
    if features != FEATURES[0] and source.format not in FORESTS:
        raise MoteError(
            f"a model of {source.title} already defines its inputs",
            where=f"{source.where}: option features",
            remedy="omit it; it is for forests",
        )
    return replace(
        source,
        shapes=wanted or source.shapes,
        edges=edges,
        features=features,
        outputs=tuple(outputs),
        signature=signature or source.signature,
        constants=fixed or source.constants,
    )


def _from_bytes(data: bytes) -> Source:
    format = detect(data, "model")
    return Source(f"model{SUFFIXES[format]}", format, data)


def _from_file(path: str | Path) -> Source:
    place = Path(path)
    refuse_folder(place)
    if place.exists() and place.stat().st_size > MOST_BYTES:
        raise TooLargeError(
            f"has more than {MOST_BYTES:,} bytes", where=str(path), remedy="no microcontroller has memory for it"
        )
    data, folder = files.read_file(place), place.resolve().parent
    format = detect(data, str(path))
    beside = files_beside(data, folder) if format == Format.ONNX else ()
    return Source(str(path), format, data, folder=folder, beside=beside)


def read(source: Source) -> Model:
    """A model of any format, with its unsupported layers marked."""
    reader: Callable[[Source], Model] = import_module(f"mote.frontends.{READERS[source.format]}").read
    with naming(source.where):
        return _wanted(reader(source), source.outputs)


def _wanted(model: Model, outputs: Sequence[str]) -> Model:
    """The model with the selected outputs only; operators that become unused are removed later."""
    if not outputs:
        return model
    known = {model.tensors[t].name: t for t in model.outputs}
    if missing := [name for name in outputs if name not in known]:
        raise MoteError(
            f"there is no output '{missing[0]}'", where="option outputs", remedy=f"the outputs are {', '.join(known)}"
        )
    return replace(model, outputs=tuple(known[name] for name in dict.fromkeys(outputs)))


def parse(source: Source) -> Graph:
    """The graph of that model. Every problem with the file is a MoteError that names it."""
    return read(source).graph()


def load(model: Any, **options: Any) -> Graph:
    """Read a model; `options` are those of `source_of`."""
    return parse(source_of(model, **options))
