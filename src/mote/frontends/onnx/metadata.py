"""Metadata of ONNX files: the version, and labels as exporters write them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mote.frontends.labels import MOST_BYTES, LabelsError, labelled, listed
from mote.frontends.model import Model
from mote.frontends.onnx.classes import NAMES as CLASSES

KEYS = ("names", "classes", "class_names", "labels", "id2label")
"""Keys of `metadata_props` with labels in practice: `names` is a dict as Python prints it in files of Ultralytics."""


def _of_classifiers(proto: Any) -> list[tuple[str, ...]]:
    """The lists of class names in nodes of classifiers."""
    attributes = (attribute for node in proto.graph.node for attribute in node.attribute)
    lists = (tuple(name.decode() for name in a.strings) for a in attributes if a.name in CLASSES and len(a.strings))
    return list(dict.fromkeys(lists))


def described(model: Model, proto: Any) -> Model:
    """The model with the version and the labels of its file."""
    if proto.model_version:
        model = replace(model, version=str(proto.model_version))
    texts = {p.key.lower(): p.value for p in proto.metadata_props if len(p.value) <= MOST_BYTES}
    key = next((key for key in KEYS if texts.get(key)), "")
    if not key:
        own = _of_classifiers(proto)
        return labelled(model, own[0], "the classifier of the file") if len(own) == 1 else model
    try:
        text = texts[key]
        split = "\n".join(text.split(",")) if "\n" not in text.strip() and text.lstrip()[:1] not in "[{" else text
        return labelled(model, listed(split), f"the file's metadata '{key}'")
    except LabelsError as error:
        return replace(model, warnings=(*model.warnings, f"the file's metadata '{key}' {error.reason}: it is ignored"))
