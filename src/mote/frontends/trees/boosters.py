"""Sources of boosters that are Python objects, and of fitted estimators of their packages."""

from __future__ import annotations

from typing import Any

from mote.frontends.source import Format, Source


def of_xgboost(model: Any) -> Source:
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    return Source(type(model).__name__, Format.XGBOOST, bytes(booster.save_raw("json")), origin=model)


def of_lightgbm(model: Any) -> Source:
    booster = model.booster_ if hasattr(model, "booster_") else model
    return Source(type(model).__name__, Format.LIGHTGBM, booster.model_to_string().encode(), origin=model)
