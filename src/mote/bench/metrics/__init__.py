"""Metrics as pure functions of arrays, independent of models."""

from mote.bench.metrics.events import events
from mote.bench.metrics.score import METRICS, Score, accuracy, check_metric, measure
from mote.bench.metrics.signal import decibels, noise

__all__ = ["METRICS", "Score", "accuracy", "check_metric", "decibels", "events", "measure", "noise"]
