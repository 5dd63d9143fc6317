"""The values of a job's row."""

from __future__ import annotations

from dataclasses import fields

from db.models import JobRow
from db.queue.stored_jobs import StoredJob


def test_a_stored_job_has_a_value_for_each_column():
    assert {field.name for field in fields(StoredJob)} == set(JobRow.__table__.columns.keys())
