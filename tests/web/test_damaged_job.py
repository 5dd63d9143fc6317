"""A damaged row of a job: the explorer's lists show it beside the others, and its own page says what is damaged."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from tests.claims import new_job


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
