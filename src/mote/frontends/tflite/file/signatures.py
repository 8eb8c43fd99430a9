"""The signatures of a `.tflite` file: the subgraphs that can be run by name."""

from __future__ import annotations

from mote.base.errors import MoteError
from mote.base.text import did_you_mean, printable
from mote.frontends.tflite.file import schema
from mote.frontends.tflite.file.flatbuffer import MalformedError
from mote.frontends.tflite.file.record import TableRecord


def chosen(root: TableRecord, subgraphs: int, wanted: str) -> int:
    """The subgraph index of a signature. Without a name, that of the only signature, or 0 in a file without
    signatures."""
    signatures = {}
    for record in root.children("signature_defs", schema.SIGNATURE):
        number = record.integer("subgraph_index")
        if number >= subgraphs:
            raise MalformedError(f"a signature names subgraph {number} of {subgraphs}")
        signatures[printable(record.string("signature_key"))] = number
    if wanted and wanted not in signatures:
        names = f"the signatures are: {', '.join(signatures)}" if signatures else "the file has none: omit it"
        remedy = f"{did_you_mean(wanted, signatures)}{names}"
        raise MoteError(f"there is no signature '{wanted}'", where="option signature", remedy=remedy)
    if wanted:
        return signatures[wanted]
    if len(set(signatures.values())) > 1:
        said = f"the file has {len(signatures)} signatures: {', '.join(signatures)}"
        raise MoteError(said, remedy="choose one of them with --signature NAME")
    return next(iter(signatures.values()), 0)
