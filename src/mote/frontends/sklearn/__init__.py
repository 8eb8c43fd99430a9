"""Estimators of scikit-learn, read from their fitted attributes: nothing of scikit-learn is imported for that."""

from __future__ import annotations

from mote.frontends.sklearn.reader import read

__all__ = ["read"]
