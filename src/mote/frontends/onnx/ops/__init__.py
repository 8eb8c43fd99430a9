"""The parsers of the operators that Mote knows, by domain and name: one file for each family, with its own PARSERS."""

from __future__ import annotations

from collections.abc import Mapping

from mote.frontends.onnx.node import Key, Parser

PARSERS: Mapping[Key, Parser] = {}
