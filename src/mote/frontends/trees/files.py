"""Shared by the readers of forest files: the model of a forest, and errors of files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mote.base.errors import MoteError
from mote.frontends.build import Builder, moves
from mote.frontends.model import Model
from mote.frontends.source import Source
from mote.frontends.trees.build import ForestOutputs, forest
from mote.frontends.trees.forest import TreeEnsemble, check_tree
from mote.ir.graph.types import DType

INPUT = "input"
LABEL = "label"
NUMBERED = re.compile(r"Column_\d+")
MOST_FEATURES = 1 << 20


def model_of(source: Source, read: Callable[[], TreeEnsemble]) -> Model:
    """The model of a forest that a file describes."""
    b = Builder(source.where)
    described = checked(source, read)
    x = b.input(INPUT, (1, described.features), DType(source.features), features=_feature_names(described))
    answer = ForestOutputs()
    with b.layer(0, source.title, "forest"):
        answer = forest(b, x, described)
    for name, value in answer.values.items():
        single = name == "prediction" and value.shape[1:] == (1,)
        b.output(moves.squeeze(b, value, [1]) if single else value, name, _class_names(source) if name == LABEL else ())
    return b.finish()


def checked(source: Source, read: Callable[[], TreeEnsemble]) -> TreeEnsemble:
    """The forest of a file, every tree of which is one."""
    with reading(source):
        described = read()
        if not 0 < described.features <= MOST_FEATURES:
            raise ValueError(f"it has {described.features} features")
        for tree in described.trees:
            check_tree(tree, described.features, len(described.base))
    return described


def _feature_names(described: TreeEnsemble) -> tuple[str, ...]:
    """The user's feature names, without the default ones of LightGBM."""
    names = described.names
    return () if len(names) != described.features or all(NUMBERED.fullmatch(name) for name in names) else names


def _class_names(source: Source) -> tuple[str, ...]:
    """The class names of a classifier that was fitted on strings: the file has indices only, the object has the
    names."""
    classes = getattr(source.origin, "classes_", ())
    return tuple(classes) if all(isinstance(c, str) for c in classes) else ()


@contextmanager
def reading(source: Source) -> Iterator[None]:
    """Report anything malformed in a file as one error."""
    try:
        yield
    except MoteError:
        raise
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError) as error:
        reason = f"'{error.args[0]}' is missing" if isinstance(error, KeyError) and error.args else str(error)
        raise MoteError(
            f"is not a readable {source.title} model: {reason or type(error).__name__}",
            where=source.where,
            remedy=f"save the model again with {source.title}",
        ) from None
