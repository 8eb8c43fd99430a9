"""Names of a network's values: in the reader, and in Keras itself."""

from __future__ import annotations

from collections.abc import Sequence


def value_name(layer: str, call: int = 0, place: int = 0) -> str:
    """A result of one of the calls of a layer: the first one has the layer's name."""
    return layer + (f"#{call}" if call else "") + (f":{place}" if place else "")


def output_names(names: Sequence[str]) -> list[str]:
    """The names of a model's outputs, each another one, where the same value may be given several times."""
    return [name if name not in names[:i] else f"{name}, output {i}" for i, name in enumerate(names)]
