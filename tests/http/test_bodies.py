"""Bodies are read in time that grows with their length, and what can't be stored is refused."""

import json
import subprocess
import sys

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dither.interfaces import strict_json
from dither.interfaces.http import bodies
from dither.interfaces.http.problems import Refused

HOSTILE = (
    "b'\"' + b'\\\\\"' * n",
    "b'\"' * n",
    "b'\"\\\\' * n",
    "b'{' * n",
    "b'[\"' + b'\\\\\\\\\"' * n",
    "b'{\"a\":' * n",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_megabyte_is_read_in_linear_time(text):
    """Version 0.1.0 needed seconds for 20 KB and would need hours for this; a minute is for the slowest machine."""
    code = f"from dither.interfaces.strict_json import depth_of; n = 1 << 20; depth_of({text})"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
)


def nested(value: object) -> int:
    """How deep a value is, by looking into it."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max((nested(one) for one in inner), default=0)


@given(JSON)
def test_the_depth_is_that_of_the_value(value):
    """Brackets in texts, with whatever is escaped in them, do not count."""
    assume(nested(value) <= strict_json.DEEPEST)
    assert strict_json.depth_of(json.dumps(value).encode()) == nested(value)
    assert strict_json.depth_of(
        json.dumps(value, ensure_ascii=False, indent=1).encode("utf-8", "surrogatepass")
    ) == nested(value)


@pytest.mark.parametrize("text", ["\\ud800", "\\uDFFF", "x\\udc00y", "\\ud800\\ud800"])
def test_half_of_a_surrogate_pair_is_no_text(text):
    """Anywhere in a body, keys included."""
    for body in (f'{{"request_id": "{text}"}}', f'{{"{text}": 1}}', f'{{"query": [{{"column": "{text}"}}]}}'):
        with pytest.raises(Refused, match="surrogate"):
            bodies.parse(body.encode())


def test_whole_pairs_and_their_spelling_are_texts():
    """An emoji in two escapes is one character; an escaped backslash before u is none."""
    assert bodies.parse(b'{"a": "\\ud83d\\ude00"}') == {"a": "\U0001f600"}
    assert bodies.parse(b'{"a": "\\\\ud800"}') == {"a": "\\ud800"}
