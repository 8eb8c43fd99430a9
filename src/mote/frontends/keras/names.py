"""Names of a network's values, in the reader and in Keras itself."""

from __future__ import annotations

from collections.abc import Sequence


def value_name(layer: str, call: int = 0, place: int = 0) -> str:
    """The name of a result of a layer's call: the first one has the layer's name."""
    return layer + (f"#{call}" if call else "") + (f":{place}" if place else "")


def output_names(names: Sequence[str]) -> list[str]:
    """Unique names of a model's outputs, where one value may be an output several times."""
    return [name if name not in names[:i] else f"{name}, output {i}" for i, name in enumerate(names)]
