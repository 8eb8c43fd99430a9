"""TOML and JSON within limits: a clear refusal, in no time, of everything else."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mote.base.documents import DocumentError, LimitError, parse_json, parse_toml, read_json, read_toml
from mote.base.errors import MoteError

LARGE = 1 << 19
SECONDS = 10.0
LIMITED_TOML = {
    "digits": (b"a.b = [1, " + b"9" * 5000 + b"]", "line 1 has an integer of 5,000 digits"),
    "underscores": (b"\na = 1" + b"_1" * 5000, "line 2 has an integer of 10,001 digits"),
    "hexadecimal": (b"a = 0x" + b"f" * LARGE, "'a' is an integer of more than 64 bits"),
    "one more": (b"[a]\nb = [{c = 18446744073709551616}]", "'a.b[0].c' is an integer of more than 64 bits"),
    "one less": (b"a = -9223372036854775809", "'a' is an integer of more than 64 bits"),
    "lists": (b"a = " + b"[" * LARGE, "its tables and lists are nested too deeply"),
    "tables": (b"a = " + b"{b = " * (LARGE // 5), "its tables and lists are nested too deeply"),
    "closed lists": (b"a = " + b"[" * 80 + b"]" * 80, "is nested more than 64 tables and lists deep"),
    "dotted": (b"a." * 80 + b"b = 1", "is nested more than 64 tables and lists deep"),
    "very dotted": (b"a." * (LARGE // 2) + b"b = 1", "a key has more than 1,000 parts"),
    "quoted": (b'\'=\'."=\\"".' * (LARGE // 10) + b"b = 1", "a key has more than 1,000 parts"),
    "table": (b"[" + b"a . " * (LARGE // 4) + b"b]", "a key has more than 1,000 parts"),
}
MALFORMED_TOML = {
    "bytes": (b"a = '\xff'", "byte 5 is no UTF-8"),
    "quotes": (b"'" * LARGE, "Expected '='"),
    "backslashes": (b'a = "' + b'\\"' * (LARGE // 2), "Unterminated string"),
    "surrogate": (b'a = "\\ud800"', "not a Unicode scalar value"),
    "escape": (b"a = \x1b[31m", "Invalid"),
}
LIMITED_JSON = {
    "digits": (b'{"a": [1,\n' + b"9" * 5000 + b"]}", "line 2 has an integer of 5,000 digits"),
    "one more": (b'{"a": {"b": [18446744073709551616]}}', "'a.b[0]' is an integer of more than 64 bits"),
    "alone": (b"-9223372036854775809", "the document is an integer of more than 64 bits"),
    "lists": (b"[" * LARGE, "its tables and lists are nested too deeply"),
    "closed lists": (b"[" * 80 + b"]" * 80, "is nested more than 64 tables and lists deep"),
    "objects": (b'{"a":' * (LARGE // 5), "its tables and lists are nested too deeply"),
    "surrogate": (b'{"a": ["\\ud800"]}', "'a[0]' has half a character"),
    "surrogate key": (b'{"\\udfff": 1}', "has half a character"),
}
MALFORMED_JSON = {
    "bytes": (b'"\xff"', "byte 1 is no text"),
    "empty": (b"", "Expecting value (at line 1, column 1)"),
    "two": (b"{} {}", "Extra data"),
}


@pytest.mark.parametrize(("data", "says"), LIMITED_TOML.values(), ids=LIMITED_TOML)
def test_toml_beyond_the_limits(data: bytes, says: str) -> None:
    began = time.process_time()
    with pytest.raises(LimitError) as error:
        parse_toml(data)
    assert says in str(error.value)
    assert len(str(error.value)) < 300
    assert time.process_time() - began < SECONDS


@pytest.mark.parametrize(("data", "says"), MALFORMED_TOML.values(), ids=MALFORMED_TOML)
def test_malformed_toml(data: bytes, says: str) -> None:
    began = time.process_time()
    with pytest.raises(DocumentError) as error:
        parse_toml(data)
    assert says in str(error.value)
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 300
    assert time.process_time() - began < SECONDS


@pytest.mark.parametrize(("data", "says"), LIMITED_JSON.values(), ids=LIMITED_JSON)
def test_json_beyond_the_limits(data: bytes, says: str) -> None:
    with pytest.raises(LimitError) as error:
        parse_json(data)
    assert says in str(error.value)


@pytest.mark.parametrize(("data", "says"), MALFORMED_JSON.values(), ids=MALFORMED_JSON)
def test_malformed_json(data: bytes, says: str) -> None:
    with pytest.raises(DocumentError) as error:
        parse_json(data)
    assert says in str(error.value)


def test_documents_of_the_usual_kind() -> None:
    text = "a.b = [1, 0x7f, -9223372036854775808, 18446744073709551615, 1.5, nan, 'ä']\nc = 1979-05-27\n"
    document = parse_toml(text.encode())
    assert document["a"]["b"][:4] == [1, 127, -(1 << 63), (1 << 64) - 1]
    assert parse_toml(b"a = " + b"[" * 63 + b"]" * 63)
    assert parse_json(b"[" * 64 + b"]" * 64)
    assert parse_json(b"[" * 80 + b"]" * 80, deepest=80)


Values = st.recursive(
    st.none()
    | st.booleans()
    | st.floats(allow_nan=False)
    | st.integers(-(1 << 63), (1 << 64) - 1)
    | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
)


@given(Values)
def test_json_is_what_it_is(value: Any) -> None:
    assert parse_json(json.dumps(value)) == value
    assert parse_json(json.dumps(value, ensure_ascii=False).encode()) == value


def test_errors_name_the_file_and_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "a\x1b.toml"
    where = str(tmp_path / "a\\x1b.toml")
    path.write_bytes(b"a = [")
    with pytest.raises(MoteError, match="not valid TOML: ") as error:
        read_toml(path)
    assert (error.value.where, error.value.remedy) == (where, "correct the file")
    path.write_bytes(b"[1, 2")
    with pytest.raises(MoteError, match="is no list: ") as error:
        read_json(path, reason="is no list", remedy="write one")
    assert (error.value.where, error.value.remedy) == (where, "write one")
    for read in (read_toml, read_json):
        path.write_bytes(b" " * 100)
        with pytest.raises(MoteError, match="has more than 99 bytes"):
            read(path, most=99)
        with pytest.raises(MoteError, match="cannot read the file") as error:
            read(tmp_path / "none", remedy="write one")
        assert error.value.remedy == "write one"
        with pytest.raises(MoteError, match="cannot read the file"):
            read(tmp_path / ("long" * 100))
        with pytest.raises(MoteError, match="is no name of a file"):
            read("a\0b")
