"""Correcting an episode in the explorer, with a preview that runs the changes before any is stored."""

from __future__ import annotations

import pytest
from sqlalchemy import func, select

from db.models import EpisodeRow
from db.queries.episode_names import load_finished_trajectory
from db.queries.web_actions import list_actions
from lumos_queue.review.corrections import annotation_text
from tests.explorers import call_explorer
from tests.web.conversions import convert_rows


@pytest.fixture
def converted(database, tmp_path):
    """An explorer of two converted episodes; the name of the first: 3 * 25 = 75, 75 - 9 = 66, 66 / 6 = 11."""
    opened, job = convert_rows(tmp_path, 2, url=database.url.replace("+psycopg", ""))
    opened.close()
    with call_explorer(database, home=tmp_path) as explorer:
        yield explorer, f"{job}-0"


def corrections(database) -> int:
    with database.engine.connect() as connection:
        wanted = select(func.count()).select_from(EpisodeRow).where(EpisodeRow.origin == "corrected")
        return connection.execute(wanted).scalar_one()


def test_a_preview_runs_the_changes_and_stores_nothing(converted, database):
    explorer, name = converted
    client, text = explorer.client(), annotation_text(database, name)
    changed = text.replace("Calculator(R2 / 6) = 11", "Calculator(R2 / 3) = 11")
    answer = client.submit(f"/episodes/{name}/correct/preview", {"text": changed.replace("\n", "\r\n")})
    assert answer.status_code == 200, answer.text
    removed, added = (
        [line for line in answer.text.splitlines() if f'<tr class="{kind}">' in line or kind in line]
        for kind in ("removed", "added")
    )
    assert "Calculator(R2 / 6) = 11" in "".join(removed) and "Calculator(R2 / 3) = 22" in "".join(added)
    assert "<dt>answer</dt><dd>22</dd>" in answer.text and "accepted for no module" in answer.text
    assert 'formaction="/episodes/' in answer.text and corrections(database) == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text, "Nothing changes"),
        (lambda text: "", "The annotation is empty"),
        (lambda text: "hello <script>", "is not an annotation"),
        (lambda text: text.replace("R2 / 6", "R2 / 0"), "fails"),
        (lambda text: text.replace("Action 3-1: R3", "Action 3-1"), "cannot be read"),
        (lambda text: text + "x" * 200_000, "Shorten it"),
    ],
)
def test_what_cannot_be_corrected_is_one_line_beside_the_text_which_is_kept(converted, database, change, said):
    explorer, name = converted
    client, text = explorer.client(), change(annotation_text(database, name))
    for path in ("correct/preview", "correct"):
        answer = client.submit(f"/episodes/{name}/{path}", {"text": text})
        assert answer.status_code == 400 and said in answer.text.split('role="alert"')[1].split("</p>")[0]
        assert "<script>" not in answer.text.split("<main")[1] and "Store <kbd>" not in answer.text
        assert text[-40:].replace("<script>", "&lt;script&gt;") in answer.text
    assert corrections(database) == 0


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_a_form_that_is_sent_twice_stores_one_correction(converted, database):
    explorer, name = converted
    client = explorer.client()
    text = annotation_text(database, name).replace("the money Bao still needs", "what Bao still needs")
    first, second = (client.submit(f"/episodes/{name}/correct", {"text": text}) for _ in range(2))
    assert first.status_code == second.status_code == 303
    assert first.headers["location"] == second.headers["location"] and corrections(database) == 1
    made = first.headers["location"].removeprefix("/episodes/")
    with database.engine.connect() as connection:
        found = load_finished_trajectory(connection, made)
        assert found.parent == name and found.job.submitted_by == "ann@here"
        noted = [(row.action, row.target, row.detail) for row in list_actions(connection, 10)]
    assert noted == [("correct", name, f"stored as {made}")]
    page, parent = client.get(f"/episodes/{made}").text, client.get(f"/episodes/{name}").text
    assert f'It corrects <a href="/episodes/{name}">' in page and "a correction of it" in parent
