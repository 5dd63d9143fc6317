"""The values that experts take and give: what is one, how long it may be, and what a person is shown of it."""

from __future__ import annotations

import hashlib

import pytest

from lumos_queue.actions.experts.values import Values, check_sizes, read_items, read_size, read_values, show
from lumos_queue.errors import ActionError
from lumos_queue.experts.base import Kind
from lumos_queue.experts.originals import Origin

DIGEST = "ab" * 32
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x05\0\0\0\x03"


@pytest.mark.parametrize("item", ["AB" * 32, DIGEST[1:], f"{DIGEST}0", f"{DIGEST}\n", "../x", ""])
def test_an_image_is_named_by_a_whole_digest_alone(item):
    assert read_items(Kind.IMAGE, [DIGEST, None]) == (DIGEST, None)
    with pytest.raises(ActionError) as raised:
        read_items(Kind.IMAGE, [DIGEST, item])
    assert raised.value.kind == "bad_value"


def test_a_text_may_be_as_long_as_is_said_and_no_longer():
    check_sizes(["a" * 60_000, ""])
    check_sizes(["a" * 50_000] * 40)
    for texts in (["a" * 60_001], ["a" * 50_000] * 40 + ["b"]):
        with pytest.raises(ActionError) as raised:
            check_sizes(texts)
        assert raised.value.kind == "too_large"
    assert len(read_items(Kind.TEXT, ["a"] * 1000)) == 1000


@pytest.mark.parametrize(
    "value",
    [
        {"kind": "answer", "type": "text", "items": ["a"]},
        {"type": "text", "items": ["a"]},
        {"kind": "values", "type": "sound", "items": ["a"]},
        {"kind": "values", "items": ["a"]},
    ],
)
def test_a_variable_of_another_kind_is_no_value(value):
    with pytest.raises(ActionError) as raised:
        read_values(value)
    assert raised.value.kind == "wrong_type"


def test_a_value_is_read_as_it_was_written():
    origin = Origin("labels", "test", 3, "image", "strong", ("noisy",), ())
    for values in (
        Values(Kind.TEXT, ("a", None, "b"), {1: "died: killed"}),
        Values(Kind.IMAGE, (DIGEST, None), {1: "no"}, (origin, None)),
    ):
        assert read_values(values.as_json("")) == values
    assert "origins" not in Values(Kind.TEXT, ("a",), {}, (None,)).as_json("")


def test_an_image_is_its_own_digest_and_a_text_that_of_its_bytes():
    assert Values(Kind.IMAGE, (DIGEST,)).digest_of(0) == DIGEST
    assert Values(Kind.TEXT, ("é",)).digest_of(0) == hashlib.sha256("é".encode()).hexdigest()


@pytest.mark.parametrize(
    ("values", "images", "shown"),
    [
        (Values(Kind.TEXT, ("a" * 301, "b")), (), f"{'a' * 300}… | b"),
        (Values(Kind.TEXT, tuple("abcd")), (), "a | b | c … (4 texts)"),
        (Values(Kind.TEXT, tuple("abc")), (), "a | b | c"),
        (Values(Kind.TEXT, ("a", None)), (), "a; 1 without a value"),
        (Values(Kind.IMAGE, (DIGEST,)), (PNG,), "1 image (5x3)"),
        (Values(Kind.IMAGE, (DIGEST,) * 2), (PNG, PNG), "2 images (5x3)"),
        (Values(Kind.IMAGE, (None,)), (), "0 images; 1 without a value"),
    ],
)
def test_a_person_is_shown_a_line(values, images, shown):
    assert show(values, images) == shown


@pytest.mark.parametrize("data", [b"", PNG[:23], b"x" * 100, PNG[1:] + b"x" * 9])
def test_what_is_no_whole_png_header_has_no_size(data):
    assert read_size(PNG) == "5x3" and read_size(data) == ""
