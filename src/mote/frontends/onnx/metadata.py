"""Metadata of ONNX files: the version, and labels as exporters write them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mote.frontends.labels import MOST_BYTES, LabelsError, labelled, listed
from mote.frontends.model import Model

KEYS = ("names", "classes", "class_names", "labels", "id2label")
"""Keys of `metadata_props` with labels in practice: `names` is a dict as Python prints it in files of Ultralytics."""


def described(model: Model, proto: Any) -> Model:
    """The model with the version and the labels of its file."""
    if proto.model_version:
        model = replace(model, version=str(proto.model_version))
    texts = {p.key.lower(): p.value for p in proto.metadata_props if len(p.value) <= MOST_BYTES}
    key = next((key for key in KEYS if texts.get(key)), "")
    if not key:
        return model
    try:
        text = texts[key]
        split = "\n".join(text.split(",")) if "\n" not in text.strip() and text.lstrip()[:1] not in "[{" else text
        return labelled(model, listed(split), f"the file's metadata '{key}'")
    except LabelsError as error:
        return replace(model, warnings=(*model.warnings, f"the file's metadata '{key}' {error.reason}: it is ignored"))
