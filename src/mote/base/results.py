"""The base class of results that functions of the API return."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, ClassVar


class Result:
    """Base of dataclasses that convert to JSON types: their fields, and the properties named in `DERIVED`."""

    DERIVED: ClassVar[tuple[str, ...]] = ()

    def json(self) -> dict[str, Any]:
        """All fields and the properties in `DERIVED` as JSON types."""
        fields: Any = self
        return asdict(fields) | {name: getattr(self, name) for name in self.DERIVED}
