"""What a server of experts says is hostile: addresses, facts and results that are not what they should be."""

from __future__ import annotations

import pytest

from lumos_queue.endpoints.http import Malformed
from lumos_queue.errors import SpecError
from lumos_queue.experts.backends.base import Fidelity
from lumos_queue.experts.backends.remote_server import _read_result, check_url, read_facts
from lumos_queue.experts.catalogue import EXPERTS
from lumos_queue.experts.problems import Problem

URL, CAPTION = "http://127.0.0.1:9", EXPERTS["Image Captioning"]
GOOD = {"digest": "a" * 64, "licence": "MIT", "fidelity": "reference", "note": "a model"}


@pytest.mark.parametrize(
    "url",
    [
        "http:///x",
        "http://a:b@host",
        "http://host?key=1",
        "http://host#x",
        "http://a,b",
        "http://a b",
        "http://host:x",
        "http://host\n/",
        "ftp://host",
    ],
)
def test_an_address_that_says_more_or_less_than_a_server_is_refused_unquoted(url):
    with pytest.raises(SpecError, match=r"^The address of experts cannot be read: expected http://HOST:PORT") as raised:
        check_url(url)
    assert url not in str(raised.value)


def test_the_last_slash_of_an_address_makes_no_other_server():
    assert check_url("http://host:1/gpu/") == check_url("http://host:1/gpu") == "http://host:1/gpu"


def test_facts_are_those_that_are_told_and_what_a_server_claims_to_be_is_bounded():
    facts = read_facts(CAPTION, URL, {CAPTION.name: GOOD})
    assert (facts.digest, facts.licence, facts.note, facts.loading) == ("a" * 64, "MIT", "a model", None)
    assert facts.fidelity == Fidelity.REFERENCE and facts.output == CAPTION.output
    oracle = read_facts(CAPTION, URL, {CAPTION.name: GOOD | {"fidelity": "oracle", "note": "x\0" * 500}})
    assert oracle.fidelity == Fidelity.SUBSTITUTE and len(oracle.note) == 200 and "\0" not in oracle.note


@pytest.mark.parametrize(
    "told",
    [
        {},
        {CAPTION.name: "yes"},
        {CAPTION.name: GOOD | {"digest": "A" * 64}},
        {CAPTION.name: GOOD | {"digest": "a" * 63}},
        {CAPTION.name: GOOD | {"digest": ["a"] * 64}},
    ],
)
def test_an_expert_without_a_digest_is_refused(told):
    with pytest.raises(SpecError, match=r"not run: needs|without a digest"):
        read_facts(CAPTION, URL, told)


def test_a_reply_is_a_value_or_a_problem_in_one_line():
    assert _read_result({"value": "YQ=="}, {}) == b"a"
    problem = _read_result({"problem": {"kind": "died: " + "x" * 50, "message": "a\nb\0" + "c" * 9999}}, {})
    assert isinstance(problem, Problem) and problem.kind == "died" and "\n" not in problem.message
    assert len(problem.message) == 200
    assert _read_result({"problem": {}}, {}) == Problem("bad_output", "")
    for reply in ({}, {"value": 1}, {"value": "%"}, {"value": None, "problem": "no"}, {"value": "\u00e9"}):
        with pytest.raises(Malformed):
            _read_result(reply, {})
