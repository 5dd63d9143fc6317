"""Reasoning of models where people look at episodes: folded, whole where it is asked for, and always as text."""

from __future__ import annotations

import pytest
from lxml import html
from sqlalchemy import update

from db.engine.connection import open_database
from db.models import CompletionRow
from lumos_queue.endpoints.server import AGAIN
from lumos_queue.settings import read_settings
from tests.fake_endpoint import FakeEndpoint
from tests.page_parts import HOSTILE, require_harmless

THOUGHT = "Nine pencils [b]and[/b] six.\n\n" + "\n".join(HOSTILE)


def change_calls(**values: object) -> None:
    """Change what is stored of every model call."""
    database = open_database(read_settings().database)
    with database.writer.begin() as connection:
        connection.execute(update(CompletionRow).values(**values))
    database.close()


@pytest.fixture
def job(lumos) -> str:
    """One wrong episode, whose model thinks before it replies."""
    with FakeEndpoint(lambda prompt: f"<think>{THOUGHT}</think>\nThe answer is 5") as server:
        options = ["--solver", server.chat, "--limit", "1", "--json"]
        return lumos("evaluate", "wordmath", "--formulation", "cot", *options).json["job"]


def test_a_terminal_shows_the_size_and_the_text_with_prompts_alone(lumos, job):
    folded, whole = lumos("show", f"{job}-0").out, lumos("show", f"{job}-0", "--prompts").out
    size = f"{len(THOUGHT):,} characters"
    assert f"step 0: reasoning: {size} (--prompts shows it)" in folded and "Nine pencils" not in folded
    assert f"reasoning {size}\nNine pencils [b]and[/b] six.\n\n<script>" in whole and "--prompts" not in whole
    assert "\x1b" not in whole and "\u202e" not in whole
    assert whole.index("Nine pencils") < whole.index("reply\nThe answer is 5")
    change_calls(reasoning_tokens=1310)
    assert f"reasoning: {size}, 1,310 tokens (--prompts" in lumos("show", f"{job}-0").out
    change_calls(reasoning=None)
    assert "step 0: reasoning: 1,310 tokens (--prompts" in lumos("show", f"{job}-0").out
    change_calls(reasoning_tokens=None)
    assert "reasoning" not in lumos("show", f"{job}-0").out + lumos("show", f"{job}-0", "--prompts").out


def test_json_has_reasoning_and_the_message_of_the_server_where_there_are_any(lumos, job):
    change_calls(reasoning_tokens=310)
    (step,) = lumos("show", f"{job}-0", "--json").json["steps"]
    assert (step["reasoning"], step["reasoning_tokens"], step["what"]) == (THOUGHT, 310, "The answer is 5")
    assert "<think>" in step["message"]
    change_calls(reasoning=None, reasoning_tokens=None, message=None)
    (step,) = lumos("show", f"{job}-0", "--json").json["steps"]
    assert not step.keys() & {"reasoning", "reasoning_tokens", "message", "note", "candidates"}


def test_a_call_that_was_requested_again_says_so(lumos):
    replies = iter(("", "5"))
    with FakeEndpoint(lambda prompt: next(replies), keep_bodies=True) as server:
        options = ["--solver", server.openai, "--limit", "1", "--json"]
        job = lumos("evaluate", "wordmath", "--formulation", "direct", *options).json["job"]
    assert [body.get("stop") for body in server.bodies] == [["\n"], None]
    assert f"step 0: {AGAIN}" in lumos("show", f"{job}-0", "--prompts").out
    (step,) = lumos("show", f"{job}-0", "--json").json["steps"]
    assert (step["note"], step["request"]["fields"]["stop"]) == (AGAIN, ["\n"])


def test_a_reply_that_came_with_the_task_has_no_request(lumos, job):
    change_calls(finish_reason="given")
    (step,) = lumos("show", f"{job}-0", "--json").json["steps"]
    assert "request" not in step
    assert "chat://" not in (text := lumos("show", f"{job}-0", "--prompts").out) and step["prompt"] in text


def test_a_report_has_reasoning_in_a_closed_part(lumos, job, tmp_path):
    change_calls(reasoning_tokens=310)
    assert lumos("report", job, "--html", tmp_path / "page.html", "--md", tmp_path / "page.md").code == 0
    page = require_harmless((tmp_path / "page.html").read_text())
    (part,) = page.xpath("//details[@class='reasoning']")
    assert "open" not in part.attrib
    assert part.findtext("summary") == f"Reasoning of step 0: {len(THOUGHT):,} characters, 310 tokens"
    assert "Nine pencils [b]and[/b] six." in part.findtext("pre") and "<script>" in part.findtext("pre")
    assert page.xpath("//mark/text()") == ["The answer is 5"]
    text = (tmp_path / "page.md").read_text()
    assert "<summary>Reasoning of step 0:" in text and "Nine pencils [b]and[/b] six." in text
    change_calls(reasoning=None)
    assert lumos("report", job, "--html", tmp_path / "tokens.html").code == 0
    text = html.fromstring((tmp_path / "tokens.html").read_text()).text_content()
    assert "Reasoning of step 0: 310 tokens; the server sent no text of it." in text


def test_long_reasoning_is_cut_in_a_report(lumos, job, tmp_path):
    change_calls(reasoning="long " * 1_000_000)
    assert lumos("report", job, "--html", tmp_path / "page.html").code == 0
    page = (tmp_path / "page.html").read_text()
    assert len(page) < 1_000_000 and "characters left out" in page
