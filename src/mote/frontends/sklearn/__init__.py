"""scikit-learn estimators, read from their fitted attributes without importing scikit-learn."""

from __future__ import annotations

from mote.frontends.sklearn.reader import read

__all__ = ["read"]
