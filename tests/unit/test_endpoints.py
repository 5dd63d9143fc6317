"""Addresses, the cutting of replies, and scripted endpoints."""

from __future__ import annotations

import asyncio
import json
import math
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lumos_queue.endpoints.base import ModelCall, Sampling
from lumos_queue.endpoints.registry import SCHEMES, check_url, open_endpoint
from lumos_queue.endpoints.replies import completion, count, truncate_at_stop
from lumos_queue.endpoints.scripted import Rule, Scripted
from lumos_queue.endpoints.urls import base_urls, model_name
from lumos_queue.errors import BadRow, EpisodeError, SpecError
from lumos_queue.settings import Settings
from lumos_queue.util.sanitize import storable

SETTINGS = Settings(request_seconds=5.0, request_retries=0, api_keys=None, endpoint_hosts="", concurrency=4)


def say(endpoint, *prompts):
    async def all_of_them():
        return [(await endpoint.generate(ModelCall(prompt, Sampling()))).text for prompt in prompts]

    return asyncio.run(all_of_them())


@pytest.mark.parametrize(
    ("url", "base", "model"),
    [
        ("tgi://gpu-3:8080", "http://gpu-3:8080", ""),
        ("tgis://host", "https://host", ""),
        ("openai://[::1]:8000/api/?model=a/b%20c", "http://[::1]:8000/api", "a/b c"),
        ("openais://host/v?model=m", "https://host/v", "m"),
    ],
)
def test_an_address_names_server_and_model(url, base, model):
    check_url(url)
    assert (base_urls(url), model_name(url)) == ([base], model)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("", "choose a scheme"),
        ("host", "choose a scheme"),
        ("http://host", f"No endpoint scheme called 'http'. Choose one of: {', '.join(sorted((*SCHEMES, 'run')))}."),
        ("tgi:host", "expected tgi://HOST:PORT[,HOST:PORT]"),
        ("tgi://", "No host"),
        ("tgi://:80", "No host"),
        ("tgi://host:eighty", "cannot be read"),
        ("tgi://host:99999", "cannot be read"),
        ("tgi://[::1", "cannot be read"),
        ("tgi://host name", "cannot be read"),
        ("tgi://host\n", "cannot be read"),
        ("tgi://host?model=x", "says more than tgi://HOST:PORT[,HOST:PORT]"),
        ("openai://host?model=", "must name one model"),
        ("openai://host?model=a&model=b", "must name one model"),
        ("openai://host#x", "says more than openai"),
        ("local:", "need a path"),
        ("local:no/such/folder", "No folder 'no/such/folder'"),
        ("scripted:no-such.json", "Cannot read the rules file"),
        ("vllm://host:80", "A vLLM or SGLang server is openai:// or chat://, text-generation-inference is"),
        ("mymodels:reply", "'mymodels:reply' has no scheme: write function:mymodels:reply for a Python function."),
        ("function:lumos_queue", "names no function: expected function:package.module:name"),
        ("function:tests.unit.no_such:reply", "in a module that this process does not trust"),
    ],
)
def test_a_wrong_address_gets_one_line_with_the_way_out(url, message):
    with pytest.raises(SpecError) as caught:
        check_url(url)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "tgi://me:s3cret@host:80",
        "tgi://s3cret@host",
        "openais://me:s3cret@host/?model=x",
        "tgi://me:s3cret@[::1",
        "https://me:s3cret@host",
        "openai://host?api_key=s3cret",
        "openai://host?model=x&token=s3cret",
        "openai://host?s3cret",
        "openai://host#s3cret",
        "tgi://me:s3cret",
    ],
)
def test_a_secret_in_an_address_is_refused_and_not_repeated(url):
    with pytest.raises(SpecError) as caught:
        open_endpoint(url, SETTINGS)
    assert "s3cret" not in str(caught.value)


@given(st.text())
def test_any_text_is_an_address_or_a_spec_error(text):
    for url in (text, f"tgi://{text}", f"openai://{text}"):
        try:
            check_url(url)
        except SpecError as error:
            assert "\n" not in str(error)
        else:
            assert all(base.startswith("http://") for base in base_urls(url))


def test_a_folder_that_is_no_model_says_what_is_missing(tmp_path):
    for name, missing in (("config.json", "no config.json"), ("tokenizer.json", "no tokenizer.json")):
        with pytest.raises(SpecError, match=missing):
            check_url(f"local:{tmp_path}")
        (tmp_path / name).write_text("{}")
    (tmp_path / "pytorch_model.bin").write_bytes(b"pickle")
    with pytest.raises(SpecError, match=r"no \*\.safetensors weights"):
        check_url(f"local:{tmp_path}")


def test_checking_an_address_imports_no_client_library():
    code = (
        "import sys; from lumos_queue.endpoints.registry import check_url; check_url('tgi://host:80');"
        "print(sorted({'aiohttp', 'torch', 'transformers'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("text", "stops", "kept"),
    [
        ("a\nb", ("\n",), "a"),
        ("a END b\nc", ("\n", "END"), "a "),
        ("\na", ("\n",), ""),
        ("abc", (), "abc"),
        ("abc", ("",), "abc"),
    ],
)
def test_a_text_is_cut_at_the_earliest_stop(text, stops, kept):
    assert truncate_at_stop(text, stops) == kept


@given(st.text(), st.lists(st.text(), max_size=3))
def test_no_stop_string_is_left_and_nothing_else_is_lost(text, stops):
    kept = truncate_at_stop(text, stops)
    assert text.startswith(kept)
    assert not any(stop and stop in kept for stop in stops)
    assert kept == text or any(stop and text[len(kept) :].startswith(stop) for stop in stops)


@pytest.mark.parametrize(
    ("text", "truncated", "reply", "reason"),
    [
        ("  yes \n no", False, "yes", "stop"),
        ("yes\nno", True, "yes", "stop"),
        ("yes", True, "yes", "length"),
        ("yes</s><pad>", False, "yes", "stop"),
        ("", True, "", "empty"),
        (" \n yes", False, "yes", "stop"),
        (" \n ", False, "", "empty"),
    ],
)
def test_a_completion_says_why_it_ended(text, truncated, reply, reason):
    made = completion(text, ("\n",), truncated=truncated)
    assert (made.text, made.finish_reason) == (reply, reason)


MOST = 2**31 - 1


@pytest.mark.parametrize(
    ("value", "tokens", "note"),
    [
        (3, 3, ""),
        ("12", 12, ""),
        (None, 0, ""),
        (2.5, 2, ""),
        ("7.9", 7, ""),
        (MOST, MOST, ""),
        (-1, 0, "n -1 clamped to 0"),
        (True, 0, "n True clamped to 0"),
        ("x", 0, "n x clamped to 0"),
        (MOST + 1, MOST, f"n {MOST + 1} clamped to {MOST}"),
        (2**5000, MOST, f"n of 5001 bits clamped to {MOST}"),
        (math.nan, 0, "n nan clamped to 0"),
        (math.inf, MOST, f"n inf clamped to {MOST}"),
        (-math.inf, 0, "n -inf clamped to 0"),
        ([1] * 10**6, 0, None),
        ("9" * 10**6, MOST, None),
        ("\0\ud800", 0, None),
        ("\u0663", 0, None),
        ({"a": 1}, 0, None),
    ],
)
def test_a_count_is_clamped_to_what_a_column_holds_and_noted(value, tokens, note):
    notes = []
    found = count(value, "n", notes)
    assert (type(found), found) == (int, tokens)
    if note is None:
        assert len(notes) == 1 and len(notes[0]) < 100 and storable(notes[0])[1] == 0
    else:
        assert notes == [note] * bool(note)


def test_a_script_answers_by_the_first_rule_that_fits(tmp_path):
    rules = [
        {"contains": "stop planning?", "reply": "Yes, I will stop planning."},
        {"contains": "", "reply": "Subgoal 1"},
    ]
    for name, text in (("a.json", json.dumps(rules)), ("b.jsonl", "\n".join(map(json.dumps, rules)) + "\n")):
        (tmp_path / name).write_text(text)
        endpoint = open_endpoint(f"scripted:{tmp_path / name}", SETTINGS)
        assert say(endpoint, "Task", "Should we stop planning?") == ["Subgoal 1", "Yes, I will stop planning."]
        assert endpoint.prompts == ["Task", "Should we stop planning?"]
        assert asyncio.run(endpoint.identity())["rules"] == 2


def test_a_rule_may_take_its_time():
    endpoint = Scripted([Rule("", "late", delay=0.05)])
    reply = asyncio.run(endpoint.generate(ModelCall("p", Sampling())))
    assert (reply.text, reply.seconds >= 0.05) == ("late", True)


def test_a_list_of_replies_is_given_in_order_and_then_used_up():
    endpoint = Scripted(["one\nrest", "two"])
    assert say(endpoint, "a", "b") == ["one", "two"]
    with pytest.raises(EpisodeError, match="2 replies is used up"):
        say(endpoint, "c")


def test_a_function_may_write_the_replies():
    assert say(Scripted(str.upper), "abc") == ["ABC"]


def test_a_prompt_without_a_rule_ends_the_episode():
    with pytest.raises(EpisodeError, match="no rule of the script fits"):
        say(Scripted([Rule("x", "y")]), "abc")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not a JSON list of rules"),
        ("[" * 100_000, "not a JSON list of rules"),
        ("[1]", "row 1"),
        ('[{"contains": "a", "reply": "b"}, {"contains": "a"}]', "row 2, field 'reply'"),
        ('[{"contains": "a", "reply": "b", "delay": -1}]', "row 1, field 'delay'"),
        ('[{"contains": "a", "reply": "b", "delay": NaN}]', "row 1, field 'delay'"),
        ('[{"contains": "a", "reply": "b", "wait": 1}]', "row 1, field 'wait'"),
    ],
)
def test_a_rules_file_that_is_none_names_the_row(tmp_path, text, message):
    (tmp_path / "rules.json").write_text(text)
    with pytest.raises(SpecError) as caught:
        check_url(f"scripted:{tmp_path / 'rules.json'}")
    assert message in str(caught.value)
    assert isinstance(caught.value, BadRow) == message.startswith("row")
