"""Operators as dataclasses, defined lazily: generating hundreds of dataclasses at import is slow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self, dataclass_transform


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Attributes:
    """Base of operators: frozen, keyword-only dataclasses whose methods are generated when a class is first
    instantiated or subclassed. Generating takes a millisecond per class, and a model uses few of all operators."""

    _eq: ClassVar[bool] = True

    def __init_subclass__(cls, *, eq: bool = True) -> None:
        super().__init_subclass__()
        for base in cls.__bases__:
            if issubclass(base, Attributes):
                base.generate()
        cls._eq = eq

    def __new__(cls, *args: Any, **values: Any) -> Self:
        cls.generate()
        return super().__new__(cls)

    @classmethod
    def generate(cls) -> None:
        """Generate the dataclass methods of this class, if that has not happened yet."""
        if "__dataclass_fields__" not in vars(cls) and cls is not Attributes:
            dataclass(frozen=True, kw_only=True, eq=cls._eq)(cls)
