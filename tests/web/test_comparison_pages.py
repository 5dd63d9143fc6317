"""Comparing jobs in the explorer."""

from __future__ import annotations

import re

import pytest

from lumos_queue.web.views import comparison
from tests.page_jobs import RIGHT, WRONG, evaluation
from tests.scored_jobs import create_scored_job

HTMX = {"hx-request": "true"}


@pytest.fixture
def jobs(database) -> tuple[str, str]:
    """The second job fixes tasks 0 to 4 and breaks 5."""
    first = create_scored_job(database, [[0]] * 5 + [[1]] * 5)
    return first, create_scored_job(database, [[1]] * 5 + [[0]] + [[1]] * 4, endpoint="tgi://better:1")


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_figures_and_lists_come_after_the_page(explorer, jobs):
    client, (first, other) = explorer.client(), jobs
    by_form = client.get("/compare", params={"jobs": [first, other]}).text
    assert by_form == client.get("/compare", params={"jobs": f"{first},{other}"}).text
    parts = [one.replace("&amp;", "&") for one in re.findall(r'hx-get="([^"]+)"', by_form)]
    figures, fixed, broken = (client.get(part, headers=HTMX).text for part in parts)
    assert "<svg" in figures and f"No difference between {first} and {other} is shown" in figures
    assert re.findall(rf">{first}-(\d) and {other}-\d<", fixed) == list("01234")
    assert re.findall(rf">{first}-(\d) and {other}-\d<", broken) == ["5"]


def test_lists_go_on_where_they_stopped(explorer, jobs, monkeypatch):
    monkeypatch.setattr(comparison, "LISTED", 2)
    client, (first, other) = explorer.client(), jobs
    path, seen = f"/compare/changed?jobs={first},{other}&other={other}", []
    while path:
        text = client.get(path, headers=HTMX).text
        seen.append(re.findall(rf">{first}-(\d) and", text))
        found = re.findall(r'hx-get="([^"]+)"', text)
        path = found[0].replace("&amp;", "&") if found else ""
    assert seen == [["0", "1"], ["2", "3"], ["4"]]


def test_the_trajectories_of_a_task_stand_side_by_side(explorer, database):
    first = evaluation(database, [WRONG, RIGHT], "How many?", number=1, same_tasks=True)
    other = evaluation(database, [RIGHT, RIGHT], "How many?", number=2, same_tasks=True)
    client = explorer.client()
    text = client.get(f"/compare/changed?jobs={first},{other}&other={other}", headers=HTMX).text
    (path,) = re.findall(r'href="(/compare/task[^"]+)"', text)
    page = client.get(path.replace("&amp;", "&")).text
    assert f"/episodes/{first}-0" in page and f"/episodes/{other}-0" in page and "R1 = Calculator(How many?)" in page
    gone = client.get(f"/compare/task?jobs={first},{other}&task=99999999")
    assert gone.status_code == 400 and "has no finished episode of this task" in gone.text


def test_jobs_that_cannot_be_compared_say_why_in_one_line(explorer, database, jobs):
    client, (first, other) = explorer.client(), jobs
    alone = create_scored_job(database, [[1]], digest="cd" * 32, kind="convert")
    half = create_scored_job(database, [[0]] * 10, pending=3)
    for named, said in (
        (first, "Name two jobs or more"),
        ("", "Name two jobs or more"),
        (f"{first},{alone}", "convert"),
    ):
        answer = client.get("/compare", params={"jobs": named})
        assert answer.status_code == 400 and said in answer.text, named
    assert client.get("/compare", params={"jobs": f"{first},zzzzzzzz"}).status_code == 404
    assert client.get("/compare", params={"jobs": ",".join(f"{first}" for _ in range(9))}).status_code == 400
    refused = client.get(f"/compare/figures?jobs={first},{half}", headers=HTMX).text
    assert "is half done: 7 of its 10 items" in refused and "--common" not in refused
    (path,) = re.findall(r'href="(/compare\?[^"]+)"', refused)
    assert "common=true" in path
    assert "<svg" in client.get(path.replace("&amp;", "&").replace("/compare?", "/compare/figures?")).text
    for wrong in (f"other={alone}", "other=x'--", f"other={other}&after=-1", f"other={other}&after={10**30}"):
        assert client.get(f"/compare/changed?jobs={first},{other}&{wrong}").status_code in (400, 404), wrong
