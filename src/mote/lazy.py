"""Dataclasses whose methods are generated when they are first used: that takes a millisecond for each class, and most
classes of kernels, compilers and formats are not used by one model."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")
_options: dict[type, dict[str, bool]] = {}
"""The options of classes without methods yet."""


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def dataclass(**options: bool) -> Callable[[type[T]], type[T]]:
    """The decorator `dataclasses.dataclass` for classes that few models use; the first instance generates the
    methods."""

    def defer(cls: type[T]) -> type[T]:
        for base in cls.__bases__:
            _generate(base)

        def new(of: type[T], *_: Any, **__: Any) -> T:
            _generate(cls)
            return object.__new__(of)

        _options[cls] = options
        cls.__new__ = new  # type: ignore[method-assign, assignment]
        return cls

    return defer


def _generate(cls: type) -> None:
    if cls in _options:
        dataclasses.dataclass(**_options.pop(cls))(cls)
