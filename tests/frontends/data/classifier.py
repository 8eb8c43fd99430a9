"""A classifier of scikit-learn behind a scaler of its features."""

from __future__ import annotations

from typing import Any

import pytest


def scaled_classifier() -> Any:
    """One that is not fitted yet; a test that asks for it is skipped without scikit-learn."""
    linear = pytest.importorskip("sklearn.linear_model")
    pipeline = pytest.importorskip("sklearn.pipeline")
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    return pipeline.make_pipeline(preprocessing.StandardScaler(), linear.LogisticRegression())
