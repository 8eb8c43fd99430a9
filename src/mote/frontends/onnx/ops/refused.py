"""Operators that cannot be compiled, and the reason: strings, sequences, optionals, random numbers, training."""

from __future__ import annotations

from collections.abc import Mapping

from mote.base.errors import LayerProblem, UnsupportedNodeError
from mote.frontends import remedies
from mote.frontends.build import Value
from mote.frontends.onnx.node import ML, Key, Node, Parser
from mote.frontends.onnx.qonnx import fused
from mote.frontends.onnx.qonnx.dialect import GENERAL

SEQUENCES = LayerProblem(
    "sequences of tensors are not supported: their length is only known at run time", remedies.SEQUENCES
)
STRINGS = LayerProblem("strings are not supported", remedies.STRINGS)
OPTIONAL = LayerProblem("values that may be missing are not supported", remedies.SEQUENCES)
RANDOM = LayerProblem("random numbers are not supported: results would not be reproducible", remedies.RANDOM)
TRAINING = LayerProblem("training is not supported: Mote compiles models that are trained", remedies.TRAINED)
IMAGES = LayerProblem("files with images are not supported", remedies.IMAGES)

REASONS = {
    **dict.fromkeys(
        (
            *("ConcatFromSequence", "SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase"),
            *("SequenceInsert", "SequenceLength", "SequenceMap", "SplitToSequence"),
        ),
        SEQUENCES,
    ),
    **dict.fromkeys(("StringConcat", "StringNormalizer", "StringSplit", "RegexFullMatch", "TfIdfVectorizer"), STRINGS),
    **dict.fromkeys(("Optional", "OptionalGetElement", "OptionalHasElement"), OPTIONAL),
    **dict.fromkeys(
        ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"), RANDOM
    ),
    "ImageDecoder": IMAGES,
}
PREVIEW = "ai.onnx.preview.training"
FLOAT_CODES = LayerProblem("codes of floating point are not supported", "quantize with Quant (IntQuant)")


def _fused(node: Node) -> Value:
    """A fused operator that could not be rewritten, because of this reason."""
    call = node.call
    fused.KINDS[call.domain, call.op_type](
        fused.Fused(call.inputs, call.outputs[0], call.attributes, node.scope.constant)
    )
    raise UnsupportedNodeError("its constants are computed or in another file, or it is in a function", fused.CONSTANTS)


def _refused(problem: LayerProblem) -> Parser:
    def parse(node: Node) -> Value:
        raise UnsupportedNodeError(problem.reason, problem.remedy)

    return parse


PARSERS: Mapping[Key, Parser] = {
    **{("", name): _refused(reason) for name, reason in REASONS.items()},
    **{(PREVIEW, name): _refused(TRAINING) for name in ("Adagrad", "Adam", "Gradient", "Momentum")},
    (ML, "TfIdfVectorizer"): _refused(STRINGS),
    **{(domain, "FloatQuant"): _refused(FLOAT_CODES) for domain in GENERAL},
    **dict.fromkeys(fused.KINDS, _fused),
}
