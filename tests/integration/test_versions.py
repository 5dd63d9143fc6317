"""A report over episodes of several code versions or prompts names all of them, each with its episodes."""

from __future__ import annotations

from sqlalchemy import select

from db.engine.lease import Lease
from db.models import Attempt, CompletionRow, EpisodeRow
from db.queries.jobs import get_job
from db.queue.recount import differences, repair
from lumos_queue.pages.limits import LEVELS
from lumos_queue.pages.material import read_material, read_overview
from lumos_queue.pages.sections.overview import overview
from lumos_queue.pages.sections.provenance import provenance
from lumos_queue.pages.terminal import render_blocks
from lumos_queue.reports.json_values import as_json
from tests.integration.rollout_jobs import evaluate_agent, long_rows

EPISODES = 5


def mixed(folder, url):
    """An evaluation of whose episodes two were made by another version of the code, with other prompts."""
    database, job = evaluate_agent(folder, long_rows(2, EPISODES), {}, {}, url=url)
    with database.writer.begin() as connection:
        own = connection.execute(select(Attempt.code_version).limit(1)).scalar_one()
        two = connection.execute(select(EpisodeRow.id).order_by(EpisodeRow.id).limit(2)).scalars().all()
        connection.execute(
            Attempt.__table__.update().where(Attempt.episode.in_(two)).values(code_version="0.1.0+edited")
        )
        # What a new attempt leaves behind: it must not count.
        connection.execute(
            Attempt.__table__.insert().values(episode=two[0], number=9, code_version="0.1.0+left", started_at=0.0)
        )
        changed = (CompletionRow.episode == two[0], CompletionRow.role == "planner", CompletionRow.prefix.is_not(None))
        connection.execute(CompletionRow.__table__.update().where(*changed).values(prefix="e" * 64))
        assert {one.table for one in differences(connection, job)} == {"version_sum"}
    repair(database, job)
    return database, job, own


def test_a_report_names_every_version_of_code_and_prompts(database, tmp_path):
    stored, job, own = mixed(tmp_path / "home", database.url)
    with stored.engine.connect() as connection:
        material = read_material(connection, [get_job(connection, job)], Lease(15.0))
    stored.close()
    report = as_json(material.jobs[0].report)
    assert report["code_versions"] == [
        {"code_version": own, "episodes": 3},
        {"code_version": "0.1.0+edited", "episodes": 2},
    ]
    planner, grounder = report["prompts"]["planner"], report["prompts"]["grounder"]
    assert [one["episodes"] for one in planner] == [4, 1] and planner[1]["prefix"] == "e" * 64
    assert [one["episodes"] for one in grounder] == [5]
    first, whole = render_blocks(list(overview(material))), render_blocks(list(provenance(material, LEVELS[0])))
    assert f"{own}: 3" in first and "0.1.0+edited: 2" in first
    assert f"{'e' * 64} (1 episodes)" in " ".join(whole.split())
    assert f"{grounder[0]['prefix']} (" not in whole and grounder[0]["prefix"] in whole


def test_one_version_is_named_without_a_count(tmp_path):
    stored, job = evaluate_agent(tmp_path / "home", long_rows(2, 2), {}, {})
    with stored.engine.connect() as connection:
        material = read_overview(connection, [get_job(connection, job)], Lease(15.0))
    stored.close()
    (line,) = [line for line in render_blocks(list(overview(material))).splitlines() if line.startswith("code")]
    assert line.split() == ["code", material.jobs[0].report.code_version]
