"""A report over episodes of several code versions or prompts names all of them, each with its episodes."""

from __future__ import annotations

from sqlalchemy import select

from db.models import Attempt, CompletionRow, EpisodeRow
from db.queries.jobs import get_job
from db.queue.recount import differences, repair
from lumos_queue.cli.report_tables import print_reports
from lumos_queue.reports.report import make_report
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


def test_a_report_names_every_version_of_code_and_prompts(database, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    stored, job, own = mixed(tmp_path / "home", database.url)
    with stored.engine.connect() as connection:
        row = get_job(connection, job)
        report = make_report(connection, row)
    stored.close()
    assert report["code_versions"] == [
        {"code_version": own, "episodes": 3},
        {"code_version": "0.1.0+edited", "episodes": 2},
    ]
    planner, grounder = report["prompts"]["planner"], report["prompts"]["grounder"]
    assert [one["episodes"] for one in planner] == [4, 1] and planner[1]["prefix"] == "e" * 64
    assert [one["episodes"] for one in grounder] == [5]
    print_reports([report])
    out = capsys.readouterr().out
    assert f"{own}: 3" in out and "0.1.0+edited: 2" in out and "eeeeeeeeeeee: 1" in out
    assert f"{grounder[0]['prefix'][:12]}:" not in out and grounder[0]["prefix"][:12] in out
    assert max(map(len, out.splitlines())) <= 80


def test_one_version_is_named_without_a_count(tmp_path, capsys):
    stored, job = evaluate_agent(tmp_path / "home", long_rows(2, 2), {}, {})
    with stored.engine.connect() as connection:
        report = make_report(connection, get_job(connection, job))
    stored.close()
    print_reports([report])
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.strip().startswith("code")]
    assert line.split() == ["code", report["code_version"]]
