"""A damaged row of a job: the explorer's lists show it beside the others, and its own page says what is damaged."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from db.queries.filters import parse_where
from db.queue.web_actions import note_action
from db.review.audits import sample_audit
from lumos_queue.scoring.sampling import AuditKind
from tests.claims import new_job
from tests.scored_jobs import create_scored_job


@pytest.mark.parametrize("spec", ["[]", "null", '{"infer": {"agent": []}}', "not JSON"])
def test_pages_show_the_others_and_its_own_says_what_is_damaged(database, explorer, spec):
    good, bad = new_job(database), new_job(database, digest="cd" * 32)
    with database.writer.begin() as connection:
        connection.execute(text("UPDATE job SET spec = :spec WHERE id = :bad"), {"spec": spec, "bad": bad})
    client = explorer.client()
    listed = client.get("/jobs")
    assert listed.status_code == 200 and good in listed.text and "damaged" in listed.text
    for path in ("/episodes", "/workers", "/endpoints", "/annotate", "/builds", f"/jobs/{good}"):
        assert client.get(path).status_code == 200, path
    page = client.get(f"/jobs/{bad}")
    assert page.status_code in (400, 404) and "its spec" in page.text


DAMAGES = [
    ("/jobs", "UPDATE item_sum SET items = 1e400 WHERE job = :job"),
    ("/annotate", "UPDATE audit SET created_at = 'x' WHERE name = 'bad'"),
    ("/annotate", "UPDATE audit SET query = x'ff' WHERE name = 'bad'"),
    ("/actions", "UPDATE web_action SET at = 'x' WHERE target = 'bad'"),
]


@pytest.mark.parametrize(("path", "damage"), DAMAGES)
def test_a_list_shows_the_other_rows_beside_a_damaged_row(database, explorer, path, damage):
    good = create_scored_job(database, [[1], [0]])
    bad = create_scored_job(database, [[1], [0]], digest="cd" * 32)
    for name in ("good", "bad"):
        sample_audit(database, name, parse_where(f"job={bad}"), 2, 0, AuditKind.RUNS)
    with database.writer.begin() as connection:
        for name in ("good", "bad"):
            note_action(connection, "anna", "label", name)
        connection.execute(text("PRAGMA ignore_check_constraints = 1"))
        parameters = {"job": bad} if ":job" in damage else {}
        assert connection.execute(text(damage), parameters).rowcount == 1
    client = explorer.client()
    answer = client.get(path)
    assert answer.status_code == 200, damage
    assert "damaged" in answer.text and (good if path == "/jobs" else ">good<") in answer.text
