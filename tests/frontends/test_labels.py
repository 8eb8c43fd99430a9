"""Labels, normalization and versions of model files, and labels in files of the user's."""

from __future__ import annotations

import io
import random
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mote import frontends
from mote.base.errors import MoteError
from mote.compiler.line import compile
from mote.compiler.several import compile_shared
from mote.frontends.labels import read_labels
from mote.frontends.model import Model
from mote.frontends.tflite.file import metadata
from mote.frontends.tflite.file.encoder import Encoder

DIGITS = Path(__file__).parents[2] / "models" / "digits.tflite"
NAMES = tuple(f"digit {i}" for i in range(10))
TEN = "\n".join(NAMES).encode()


def described(
    files: Sequence[tuple[str, int, str]] = (("labels.txt", metadata.AXIS_LABELS, ""),),
    mean: Sequence[float] = (127.5,),
    std: Sequence[float] = (128.0,),
    version: str = "v3",
) -> bytes:
    """Metadata: of the output the files (name, type, locale), of the input its normalization."""
    e = Encoder()
    numbers = {"mean": e.array(np.array(mean, np.float32)), "std": e.array(np.array(std, np.float32))}
    options = e.table(metadata.NORMALIZATION_OPTIONS, numbers)
    unit = e.table(metadata.PROCESS_UNIT, {"options_type": metadata.NORMALIZATION, "options": options})
    reads = e.table(metadata.TENSOR, {"process_units": e.references([unit])})
    named = [
        e.table(metadata.ASSOCIATED_FILE, {"name": e.string(n), "type": t, **({"locale": e.string(at)} if at else {})})
        for n, t, at in files
    ]
    writes = e.table(metadata.TENSOR, {"associated_files": e.references(named)})
    edges = {"input_tensor_metadata": e.references([reads]), "output_tensor_metadata": e.references([writes])}
    subgraph = e.table(metadata.SUBGRAPH, edges)
    values = {"version": e.string(version), "subgraph_metadata": e.references([subgraph])}
    return e.finish(e.table(metadata.MODEL, values), metadata.IDENTIFIER)


def with_metadata(about: bytes) -> bytes:
    """The digits with metadata, written by LiteRT's own schema."""
    flatbuffers = pytest.importorskip("flatbuffers")
    schema = pytest.importorskip("ai_edge_litert.schema_py_generated")
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(DIGITS.read_bytes()))
    buffer, entry = schema.BufferT(), schema.MetadataT()
    buffer.data = np.frombuffer(about, np.uint8)
    entry.name, entry.buffer = metadata.NAME, len(model.buffers)
    model.buffers.append(buffer)
    model.metadata = [entry]
    builder = flatbuffers.Builder()
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def zipped(model: bytes, **files: bytes) -> bytes:
    file = io.BytesIO(model)
    with zipfile.ZipFile(file, "a") as archive:
        for name, data in files.items():
            archive.writestr(f"{name}.txt", data)
    return file.getvalue()


def read(model: bytes) -> Model:
    return frontends.read(frontends.source_of(model))


def labels(model: Model) -> tuple[str, ...]:
    return model.tensors[model.outputs[0]].labels


def test_tflite_metadata_is_in_the_header() -> None:
    file = zipped(with_metadata(described()), labels=TEN)
    model = read(file)
    assert labels(model) == NAMES and model.warnings == () and model.version == "v3"
    assert model.tensors[model.inputs[0]].normalization == ((127.5, 128.0),)
    header = compile(file, name="net", io="int8").project.files["net.h"]
    for text in (
        '#define NET_VERSION "v3"',
        "#define NET_INPUT_MEAN 127.5f\n#define NET_INPUT_STD 128.0f",
        "static inline float net_normalize(float raw)",
        '#define NET_OUTPUT_CLASSES {"digit 0", "digit 1"',
        "static inline const char *net_label(size_t i)",
    ):
        assert text in header


def test_the_labels_without_a_locale_are_taken() -> None:
    files = [("de.txt", metadata.AXIS_LABELS, "de"), ("labels.txt", metadata.AXIS_LABELS, "")]
    german = TEN.replace(b"digit", b"Ziffer")
    assert labels(read(zipped(with_metadata(described(files)), de=german, labels=TEN))) == NAMES
    assert labels(read(zipped(with_metadata(described(files[:1])), de=german)))[3] == "Ziffer 3"


def test_a_normalization_for_each_channel_has_no_function() -> None:
    odd = read(with_metadata(described((), (1, 2, 3), (4, 5, 6))))
    assert odd.tensors[odd.inputs[0]].normalization == ()
    same = read(with_metadata(described((), (1, 1, 1), (4, 4, 4))))
    assert same.tensors[same.inputs[0]].normalization == ((1.0, 4.0),)


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize(
    ("about", "files", "warning"),
    [
        (described(), {}, "'labels.txt' in the metadata of the file cannot be read"),
        (described(), {"other": TEN}, "'labels.txt' in the metadata of the file is not in it"),
        (described(), {"labels": b"one\ntwo"}, "has 2 labels for output '7_softmax', which has 10 classes"),
        (described(), {"labels": b""}, "has no labels"),
        (described(), {"labels": b"x" * (2 << 20)}, "has more than 1,048,576 bytes"),
        (described(std=(0.0,)), {"labels": TEN}, "the normalization in the metadata of the file makes no sense"),
        (described(mean=(np.nan,)), {"labels": TEN}, "the normalization in the metadata of the file makes no sense"),
        (b"short", {}, "the metadata of the file is damaged, and is ignored"),
        (described()[:40], {}, "the metadata of the file is damaged, and is ignored"),
    ],
)
def test_what_is_wrong_with_metadata_is_a_warning(about: bytes, files: dict[str, bytes], warning: str) -> None:
    model = with_metadata(about)
    compiled = compile(zipped(model, **files) if files else model)
    assert [text for text in compiled.warnings if warning in text] == list(compiled.warnings)[:1]


@pytest.mark.slow
def test_damaged_metadata_and_archives_never_break_a_model() -> None:
    about, rng = described(), random.Random(3)
    start = zipped(with_metadata(about), labels=TEN)
    begin, archive = start.index(about[:40]), start.index(b"PK\x03\x04")
    layers = len(read(start).layers)
    seen = set()
    for _ in range(120):
        file = bytearray(start)
        low, high = rng.choice([(begin, begin + len(about)), (archive, len(start))])
        for _ in range(rng.randint(1, 4)):
            file[rng.randrange(low, high)] = rng.randrange(256)
        model = read(bytes(file))
        seen.add((bool(labels(model)), bool(model.warnings)))
        assert len(model.layers) == layers
    assert len(seen) >= 2


def onnx_model(count: int = 3, /, **properties: str) -> bytes:
    onnx = pytest.importorskip("onnx")
    helper, float32 = onnx.helper, onnx.TensorProto.FLOAT
    x = helper.make_tensor_value_info("x", float32, [1, count])
    y = helper.make_tensor_value_info("y", float32, [1, count])
    graph = helper.make_graph([helper.make_node("Softmax", ["x"], ["y"])], "net", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, model_version=7)
    helper.set_model_props(model, properties)
    data: bytes = model.SerializeToString()
    return data


@pytest.mark.parametrize(
    "properties",
    [
        {"names": "{0: 'cat', 1: \"dog's\", 2: '3'}"},
        {"classes": '["cat", "dog\'s", 3]'},
        {"labels": "cat,dog's,3"},
        {"Labels": "cat\ndog's\n3\n"},
        {"id2label": '{"2": "3", "0": "cat", "1": "dog\'s"}'},
    ],
)
def test_onnx_metadata(properties: dict[str, str]) -> None:
    model = read(onnx_model(**properties))
    assert labels(model) == ("cat", "dog's", "3") and model.version == "7" and not model.warnings


def test_class_names_of_a_classifier_in_onnx() -> None:
    onnx = pytest.importorskip("onnx")
    helper, kinds = onnx.helper, onnx.TensorProto
    weights = [float(i) for i in range(6)]
    node = helper.make_node(
        "LinearClassifier", ["x"], ["label", "scores"], domain="ai.onnx.ml",
        coefficients=weights, intercepts=[0.0, 1.0, 2.0], classlabels_strings=["blue", "green", "red"],
    )  # fmt: skip
    x = helper.make_tensor_value_info("x", kinds.FLOAT, [1, 2])
    label = helper.make_tensor_value_info("label", kinds.STRING, [1])
    scores = helper.make_tensor_value_info("scores", kinds.FLOAT, [1, 3])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(
        helper.make_graph([node], "net", [x], [label, scores]), opset_imports=opsets, ir_version=8
    )
    header = compile(model.SerializeToString(), name="net").project.files["net.h"]
    assert 'CLASSES {"blue", "green", "red"}' in header and "net_label(size_t i)" in header


@pytest.mark.parametrize(
    ("properties", "warning"),
    [
        ({"names": "{0: 'cat'"}, "metadata 'names' is neither JSON nor a list of labels"),
        ({"names": "{0: 'cat', 2: 'dog'}"}, "has 2 labels, of which none has the index 1"),
        ({"names": "[" * 5000}, "is neither JSON nor a list of labels"),
        ({"names": "[['a'], ['b'], ['c']]"}, "is not a list of labels"),
        ({"classes": "a,b"}, "metadata 'classes' has 2 labels, which are ignored: the output has 3 classes"),
    ],
)
def test_odd_onnx_metadata_is_a_warning(properties: dict[str, str], warning: str) -> None:
    model = read(onnx_model(**properties))
    assert labels(model) == () and [text for text in model.warnings if warning in text]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("labels.txt", 'cat\r\ndog, big\r\n"3"\r\n\r\n'),
        ("labels.json", '["cat", "dog, big", "\\"3\\""]'),
        ("labels.csv", 'label\ncat\n"dog, big"\n"""3"""\n'),
        ("bom.csv", '\ufeffcat\n"dog, big"\n"""3"""\n'),
    ],
)
def test_files_of_labels(name: str, content: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8", newline="")
    assert read_labels(str(tmp_path / name)) == ("cat", "dog, big", '"3"')


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("none.txt", b"", "has no labels"),
        ("two.csv", b"a,b\n", "has 2 columns"),
        ("odd.txt", b"\xff\xfe", "is not text in UTF-8"),
        ("bad.json", b"[1, 2", "is neither JSON nor a list"),
        ("long.txt", b"x" * 501, "has a label of 501 characters"),
        ("nine.txt", b"\n".join(TEN.split(b"\n")[:9]), "there are 9 labels, and output '7_softmax' has 10 classes"),
    ],
)
def test_labels_that_do_not_fit_are_refused(name: str, content: bytes, reason: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(MoteError, match=reason.replace("(", r"\(")):
        compile(DIGITS, labels=tmp_path / name)


def test_given_labels_replace_those_of_the_file() -> None:
    file = zipped(with_metadata(described()), labels=TEN)
    header = compile(file, name="net", labels=list("abcdefghij")).project.files["net.h"]
    assert '{"a", "b", "c"' in header and "digit" not in header
    with pytest.raises(MoteError, match="several models do not have the same classes"):
        compile_shared([DIGITS], labels=NAMES)


def test_labels_of_a_classifier_of_scikit_learn() -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(0)
    x: Any = rng.normal(size=(60, 4)).astype(np.float32)
    fitted = linear.LogisticRegression().fit(x, np.array(["red", "green", "blue"])[np.argmax(x[:, :3], axis=1)])
    for outputs, macro in (((), "CLASSES"), (("probabilities",), "NET_OUTPUT_CLASSES")):
        header = compile(fitted, name="net", outputs=outputs).project.files["net.h"]
        assert f'{macro} {{"blue", "green", "red"}}' in header and header.count('"blue"') == 1
        assert "net_label(size_t i)" in header
