"""The base of the values that functions return."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, ClassVar


class Result:
    """A dataclass with a form in JSON types: its fields, and the properties `DERIVED` from them."""

    DERIVED: ClassVar[tuple[str, ...]] = ()

    def json(self) -> dict[str, Any]:
        """All fields as JSON types, and what follows from them."""
        fields: Any = self
        return asdict(fields) | {name: getattr(self, name) for name in self.DERIVED}
