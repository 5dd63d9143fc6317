"""One episode in the explorer: its page, the next one, whole texts, differences, labels and pictures."""

from __future__ import annotations

import re

import pytest
from sqlalchemy import func, insert, select, update

from db.journal.artifacts import store_artifact
from db.models import Attempt, CompletionRow, EpisodeRow, ExecutionRow, Item, Label, SubgoalRow, TaskRow
from db.queries.labels import labels_of
from db.queries.web_actions import list_actions
from db.review.labels import NewLabel, add_labels
from lumos_queue.util.display import harmless
from tests.image_files import honest
from tests.page_jobs import FAILED, RIGHT, WRONG, evaluation
from tests.page_parts import HOSTILE, parse_page
from tests.scored_jobs import create_scored_job

PNG = honest()


@pytest.fixture
def job(database) -> str:
    return evaluation(database, [RIGHT, WRONG, FAILED, WRONG], "\n".join(HOSTILE))


def key_of(database, name: str) -> int:
    job, _, number = name.rpartition("-")
    with database.engine.connect() as connection:
        return connection.execute(select(Item.id).where(Item.job == job, Item.ordinal == int(number))).scalar_one()


def labels(database, name: str) -> list[tuple[str, str, str]]:
    with database.engine.connect() as connection:
        return [(row.labeller, row.value, row.note) for row in labels_of(connection, key_of(database, name))]


def test_a_page_shows_every_step_with_a_link_and_runs_nothing(explorer, job):
    page = parse_page(explorer.client().get(f"/episodes/{job}-1").text)
    steps = [one for one in page.xpath("//@id") if re.fullmatch(r"step-\d+", one)]
    assert steps == ["step-0", "step-1", "step-2", "step-3"]
    assert {f"#{one}" for one in steps} <= set(page.xpath("//a/@href"))
    assert len(set(page.xpath("//@id"))) == len(page.xpath("//@id"))
    scripts = page.xpath("//script")
    assert all(one.get("src", "").startswith("/static/") and not one.text for one in scripts)
    assert not page.xpath("//*[@onerror or @style] | //img[@src='x']")
    assert "\u202e" not in page.text_content() and "\x1b" not in page.text_content()
    told = " ".join(page.xpath("//dl[@class='facts']")[0].text_content().split())
    assert "planner 0.500 s" in told and "waiting for a place 0.100 s" in told


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_unknown_episodes_are_not_found(explorer, job):
    client = explorer.client()
    for wrong in (f"{job}-99", f"{job}-9999999999", f"{job}-x", "zzzzzzzz-1", "-", "%00", "a%27b-1", "x" * 5000):
        for more in ("", "/next", "/difference", "/steps/0/prompt", "/correct"):
            assert client.get(f"/episodes/{wrong}{more}").status_code == 404, wrong
    for wrong in ("steps/9/prompt", "steps/0/result", "difference?attempt=9", "difference?other=zzz-1"):
        assert client.get(f"/episodes/{job}-0/{wrong}").status_code == 404, wrong
    for wrong in ("?where=score", "/next?where=score", "?first=x", f"/difference?attempt={10**30}"):
        assert client.get(f"/episodes/{job}-0{wrong}").status_code == 400, wrong
    assert client.get(f"/episodes/{job[:6]}-0").headers["location"] == f"/episodes/{job}-0"


def test_long_texts_are_cut_and_whole_at_an_address_of_their_own(explorer, database, job):
    long = "<script>1</script>" + "x" * 10_000_000
    with database.writer.begin() as connection:
        own = ExecutionRow.episode == key_of(database, f"{job}-0")
        connection.execute(update(ExecutionRow).where(own).values(result=long))
    client = explorer.client()
    page = client.get(f"/episodes/{job}-0").text
    assert len(page) < 200_000 and "characters left out" in page and "10,000,018 characters" in page
    whole = client.get(f"/episodes/{job}-0/steps/3/result")
    assert whole.text == long and whole.headers["content-type"].startswith("text/plain")


def test_reasoning_and_the_message_of_the_server_are_folded_and_whole_at_addresses(explorer, database, job):
    thought, message = "\n".join(HOSTILE), f'{{"content": "{"x" * 9_000}</details><script>1</script>"}}'
    key = key_of(database, f"{job}-0")
    with database.writer.begin() as connection:
        own = update(CompletionRow).where(CompletionRow.episode == key)
        connection.execute(own.where(CompletionRow.position == 0).values(reasoning=thought, reasoning_tokens=310))
        connection.execute(own.where(CompletionRow.position == 2).values(reasoning_tokens=20, message=message))
    client = explorer.client()
    page = parse_page(client.get(f"/episodes/{job}-0").text)
    planner, grounder = (page.xpath(f"//article[@id='step-{at}']")[0] for at in (0, 2))
    (part,) = planner.xpath(".//details[@class='reasoning']")
    assert "open" not in part.attrib and part.findtext("pre") == harmless(thought).lstrip("\n")
    assert part.findtext("summary") == f"Reasoning of step 0: {len(thought):,} characters, 310 tokens"
    assert not grounder.xpath(".//details[@class='reasoning']")
    assert "Reasoning of step 2: 20 tokens; the server sent no text of it." in grounder.text_content()
    (part,) = grounder.xpath(".//details[@class='message']")
    assert "open" not in part.attrib and "characters left out" in part.findtext("pre")
    assert not planner.xpath(".//details[@class='message']")
    for at, name, text in ((0, "reasoning", thought), (2, "message", message)):
        whole = client.get(f"/episodes/{job}-0/steps/{at}/{name}")
        assert whole.text == text and whole.headers["content-type"].startswith("text/plain")
        assert page.xpath(f"//a[@href='/episodes/{job}-0/steps/{at}/{name}']")
    assert client.get(f"/episodes/{job}-0/steps/0/message").status_code == 404
    assert client.get(f"/episodes/{job}-1/steps/0/reasoning").status_code == 404


def test_many_steps_are_shown_a_hundred_at_a_time(explorer, database, job):
    key = key_of(database, f"{job}-0")
    row = {"episode": key, "attempt": 1, "branch": 0, "command": b"c"}
    steps = [row | {"position": place, "number": place, "text": f"Subgoal {place}: go on."} for place in range(10, 240)]
    with database.writer.begin() as connection:
        connection.execute(insert(SubgoalRow), steps)
    client, seen, path = explorer.client(), [], f"/episodes/{job}-0"
    while path:
        text = client.get(path).text
        seen.append(len(re.findall(r'id="step-\d+"', text)))
        found = re.findall(r'href="([^"]+)">\d+ further steps', text)
        path = found[0].replace("&amp;", "&") if found else ""
    assert seen == [100, 100, 34] and "Earlier steps" in text


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_the_next_and_the_next_wrong_one_are_found_under_the_filter(explorer, database, job):
    other = create_scored_job(database, [[0], [1], [0]], digest="cd" * 32)
    client = explorer.client()

    def go(name: str, **asked: str) -> str:
        return client.get(f"/episodes/{name}/next", params=asked).headers["location"].removeprefix("/episodes/")

    assert go(f"{job}-0") == f"{job}-1" and go(f"{job}-1", back="true") == f"{job}-0"
    assert go(f"{job}-3", back="true") == f"{job}-2"
    assert go(f"{other}-0", wrong="true") == f"{other}-2" and go(f"{other}-0") == f"{other}-1"
    assert go(f"{job}-1", where=f"job={job} ending=answered") == f"{job}-3?where=job%3D{job}+ending%3Danswered"
    # At the end one stays, and is told so; another job's episodes are not among those of this filter.
    assert go(f"{job}-3") == f"{job}-3"
    assert f"no episode after this one under the filter job={job}" in client.get(f"/episodes/{job}-3").text
    assert go(f"{job}-3", where="score<1") != f"{job}-3?where=score%3C1"
    assert go(f"{job}-3", where='text~"nowhere"') == f"{job}-3?where=text~%22nowhere%22"


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_a_label_is_added_and_taken_back(explorer, database, job):
    client, name = explorer.client(), f"{job}-1"
    with_note = {"value": "wrong", "note": "<b>why</b>", "where": "score<1"}
    answer = client.submit(f"/episodes/{name}/label", with_note)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/episodes/{name}?where=score%3C1")
    assert f"{name} is labelled wrong" in client.get(f"/episodes/{name}").text
    client.submit(f"/episodes/{name}/label", {"value": "unsure"})
    assert labels(database, name) == [("ann@here", "unsure", "")]
    client.submit(f"/episodes/{name}/label/undo")
    assert labels(database, name) == [("ann@here", "wrong", "<b>why</b>")]
    # A note alone is one's latest label again, with the note.
    client.submit(f"/episodes/{name}/label", {"note": "clearer"})
    assert labels(database, name) == [("ann@here", "wrong", "clearer")]
    for _ in range(3):
        assert client.submit(f"/episodes/{name}/label/undo").status_code == 303
    assert labels(database, name) == []
    assert "no label" in client.get(f"/episodes/{name}").text
    with database.engine.connect() as connection:
        noted = [(row.action, row.target, row.detail) for row in reversed(list_actions(connection, 10))]
        assert connection.execute(select(func.count()).select_from(Label)).scalar_one() == 0
    assert [one[0] for one in noted] == ["label", "label", "take back label", "label", *["take back label"] * 2]
    for wrong in ({"value": "7"}, {"value": ""}, {"value": "right", "note": "x" * 10_001}):
        assert client.submit(f"/episodes/{name}/label", wrong).status_code == 400
    assert client.submit("/episodes/zzzzzzzz-1/label", {"value": "right"}).status_code == 404


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_labels_of_others_are_folded_and_theirs_to_take_back(many, database, job):
    name = f"{job}-1"
    key = key_of(database, name)
    add_labels(database, [NewLabel(key, "right", "bob", "seen <i>twice</i>"), NewLabel(key, "wrong", "anna")])
    add_labels(database, [NewLabel(key, "unsure", "anna", audit=None, position=1, branch=0)])
    anna, rita = many.client("anna"), many.client("rita")
    page = parse_page(anna.get(f"/episodes/{name}").text)
    assert "bob" in page.xpath("//details[summary[contains(., 'Labels of others')]]")[0].text_content()
    assert "bob" not in page.xpath("//section[@aria-labelledby='labels-head']/ul")[0].text_content()
    for _ in range(2):  # there is none of her own left the second time
        anna.submit(f"/episodes/{name}/label/undo")
    assert [(who, value) for who, value, _ in labels(database, name)] == [("bob", "right"), ("anna", "unsure")]
    assert "/label" not in rita.get(f"/episodes/{name}").text
    for path in ("label", "label/undo", "correct", "correct/preview"):
        assert rita.submit(f"/episodes/{name}/{path}", {"value": "right", "text": "x"}).status_code == 403
    assert rita.get(f"/episodes/{name}/correct").status_code == 403
    assert anna.post(f"/episodes/{name}/label", data={"value": "right", "token": "forged"}).status_code == 403


def test_two_samples_and_two_attempts_are_told_apart(explorer, database, job):
    samples = create_scored_job(database, [[0, 1]], digest="cd" * 32)
    client = explorer.client()
    assert f"/episodes/{samples}-0/difference?other={samples}-1" in client.get(f"/episodes/{samples}-0").text
    answer = client.get(f"/episodes/{samples}-0/difference", params={"other": f"{samples}-1"})
    assert "They did and answered the same" in answer.text
    wrong = client.get(f"/episodes/{samples}-0/difference", params={"other": f"{job}-1"})
    assert wrong.status_code == 400 and "of different tasks" in wrong.text
    key = key_of(database, f"{job}-0")
    with database.writer.begin() as connection:
        connection.execute(insert(Attempt).values(episode=key, number=2, code_version="2", started_at=0))
        old = {"episode": key, "attempt": 2, "position": 0, "branch": 0, "command": b"c", "number": 1}
        connection.execute(insert(SubgoalRow).values(text="Subgoal 1: Only this time.", **old))
        connection.execute(update(EpisodeRow).where(EpisodeRow.id == key).values(attempt=2))
    assert f"/episodes/{job}-0/difference?attempt=1" in client.get(f"/episodes/{job}-0").text
    text = client.get(f"/episodes/{job}-0/difference?attempt=1").text
    assert "attempt 1, given up" in text and "Only this time." in text and "They part at row" in text


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_pictures_are_shown_and_broken_ones_named(explorer, database, job):
    kinds = {
        "good": (PNG, "image/png"),
        "cut": (PNG[:-20], "image/png"),
        "other": (PNG, "image/jpeg"),
        "text": (b"<script>window.pwned = 1</script>", "text/html"),
        "tiny": (b"x", "image/png"),
    }
    with database.writer.begin() as connection:
        digests = {}
        for name, (data, kind) in kinds.items():
            # Of other bytes each, as they are stored by their digest.
            digests[name] = store_artifact(connection, data if name != "other" else data + b"IEND\xaeB`\x82", kind)
        values = [*digests.values(), "0" * 64]
        channels = [{"name": "image", "kind": "image", "values": values}]
        task = select(EpisodeRow.task).where(EpisodeRow.id == key_of(database, f"{job}-0")).scalar_subquery()
        connection.execute(update(TaskRow).where(TaskRow.id == task).values(inputs={"channels": channels}))
    client = explorer.client()
    text = client.get(f"/episodes/{job}-0").text
    assert re.findall(r'<img[^>]+src="([^"]+)"', text) == [f"/artifacts/{digests['good']}"]
    for said in (
        "does not end as a whole picture",
        "begins as image/png",
        "does not begin as a picture",
        "not stored any more",
        "text/html",
    ):
        assert said in text, said
    served = client.get(f"/artifacts/{digests['good']}")
    assert served.content == PNG and served.headers["content-type"] == "image/png"
    for name in kinds.keys() - {"good"}:
        assert client.get(f"/artifacts/{digests[name]}").status_code == 404, name
    assert "only pictures are shown" in client.get(f"/artifacts/{digests['text']}").text
    for wrong in ("0" * 64, "x", digests["good"].upper()):
        assert client.get(f"/artifacts/{wrong}").status_code == 404
