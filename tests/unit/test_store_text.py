"""Strings that Postgres cannot hold as they are come back the same."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from recalld.store.text import decode, decode_json, encode, encode_json, escape

ODD = st.text(st.sampled_from("a\x00\ud800\udc80\udcff\udfff\U0010f7fe\U0010f7ff\U0010f800\U0010ffff😀é\n\\"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ODD,
    lambda inner: st.lists(inner) | st.dictionaries(ODD, inner),
    max_leaves=10,
)


@given(st.text() | ODD)
def test_a_string_comes_back(text: str) -> None:
    raw = encode(text)
    assert 0 not in raw
    assert decode(raw) == text


@given(ODD, ODD)
def test_different_strings_stay_different(one: str, other: str) -> None:
    assert (escape(one) == escape(other)) == (one == other)


def test_ordinary_strings_are_stored_as_they_are() -> None:
    assert encode("café 😀 \U0010f000") == "café 😀 \U0010f000".encode()
    assert len(escape("caf\udce9.md")) == len("caf\udce9.md")


@given(VALUES)
def test_json_comes_back(value: Any) -> None:
    stored = encode_json(value)
    stored.encode()
    assert "\\u0000" not in stored
    assert decode_json(stored) == value


def test_what_json_cannot_say_becomes_text() -> None:
    value = {1: math.nan, "far": -math.inf, "set": {"x"}, "pair": (1, 2), "bytes": b"\x00"}
    assert decode_json(encode_json(value)) == {
        "1": "nan",
        "far": "-inf",
        "set": ["x"],
        "pair": [1, 2],
        "bytes": "b'\\x00'",
    }
