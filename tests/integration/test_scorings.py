"""Scores that are added to stored episodes: exactly once, whoever else adds them, and the newest version counts."""

from __future__ import annotations

import os
import signal
import threading

import pytest
from sqlalchemy import func, select, update

from db.engine.connection import open_database
from db.models import EpisodeRow, Item, JobRow, ScoreRow, ScoreSum, Scoring
from db.queries.episode_columns import count_episodes
from db.queries.filters import parse_where
from db.queries.job_list import sum_scores
from db.queries.jobs import get_job
from db.queries.results import values_by_metric
from db.queue.figures import count_scores, sum_running_scores
from db.queue.recount import recount
from db.review.scorings import store_scores
from lumos_queue.errors import SpecError
from lumos_queue.records import Score
from lumos_queue.reports.json_values import as_json
from lumos_queue.reports.report import make_report
from lumos_queue.review import scoring
from lumos_queue.review.scorers.base import Scorer
from lumos_queue.review.scorers.registry import SCORERS
from lumos_queue.review.scoring import score_job
from lumos_queue.settings import Settings
from tests.forked_commands import Forked
from tests.scored_jobs import create_scored_job

SETTINGS = Settings()


def named(judge, name="long", metric="long", digest="ab", **options) -> str:
    """The name of a scorer that only this process has."""
    SCORERS.add(f"__main__:{name}", Scorer(metric, judge, **options), digest)
    return f"__main__:{name}"


def unscored_job(database, count=10, **options) -> str:
    return create_scored_job(database, [[0]] * count, kind="infer", **options)


def odd(episode) -> bool:
    return episode.id % 2 == 1


def rows(database, job, metric="long") -> list[tuple]:
    """(episode, version, value) of each score."""
    wanted = select(ScoreRow.episode, ScoreRow.version, ScoreRow.value).join(
        EpisodeRow, EpisodeRow.id == ScoreRow.episode
    )
    with database.engine.connect() as connection:
        found = connection.execute(wanted.where(EpisodeRow.job == job, ScoreRow.metric == metric))
        return sorted(map(tuple, found))


def sums(database, job, metric="long") -> dict[float, int]:
    with database.engine.connect() as connection:
        return {one.value: one.episodes for one in count_scores(connection, job).get(metric, ())}


def row_of(database, job):
    with database.engine.connect() as connection:
        return get_job(connection, job)


def address_of(database) -> str:
    return database.engine.url.render_as_string(hide_password=False)


def is_right(database) -> bool:
    """Whether all kept sums are what the rows add up to."""
    return not any(found for _, found in recount(database))


def test_each_episode_is_scored_once_however_often_that_is_asked_for(database, monkeypatch):
    monkeypatch.setattr(scoring, "CHUNK", 3)
    job, told = unscored_job(database), []
    first = score_job(database, SETTINGS, job[:6], named(odd), told.append)
    assert (first.job, first.metrics, first.episodes, first.without, told) == (job, ("long",), 10, 0, [3, 6, 9, 10])
    again = score_job(database, SETTINGS, job, named(odd))
    assert (again.episodes, again.without) == (0, 0)
    assert len(rows(database, job)) == 10 and sums(database, job) == {0.0: 5, 1.0: 5} and is_right(database)


def test_an_episode_to_which_a_scorer_does_not_apply_is_counted_and_has_no_score(database):
    job = unscored_job(database)
    for _ in range(2):
        found = score_job(database, SETTINGS, job, named(lambda episode: None if odd(episode) else 1))
        assert found.without == 5
    assert found.episodes == 0 and sums(database, job) == {1.0: 5} and is_right(database)


def test_two_that_score_at_once_store_each_score_once(database):
    job, both = unscored_job(database), threading.Barrier(2, timeout=30)
    begun = threading.local()

    def judge(episode) -> bool:
        if not hasattr(begun, "here"):  # each has found the episodes without scores before the other stores any
            begun.here = both.wait()
        return odd(episode)

    name, scored, failed = named(judge), [], []

    def work() -> None:
        opened = open_database(address_of(database))
        try:
            scored.append(score_job(opened, SETTINGS, job, name).episodes)
        except Exception as error:
            failed.append(error)
        finally:
            opened.close()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    assert not failed and sorted(scored) == [0, 10]
    assert len(rows(database, job)) == 10 and sums(database, job) == {0.0: 5, 1.0: 5} and is_right(database)


def score_until_killed(address: str, job: str, left: int) -> None:
    """Score episodes; the process is killed at that one of them."""

    def judge(episode) -> int:
        nonlocal left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        return 1

    scoring.CHUNK = 3
    print(score_job(open_database(address), Settings(), job, named(judge)).episodes)


def test_one_that_was_killed_is_gone_on_with(database):
    job, address = unscored_job(database), address_of(database)

    assert Forked(score_until_killed, address, job, 8).wait() == -signal.SIGKILL
    assert sums(database, job) == {1.0: 6} and is_right(database)
    finished = Forked(score_until_killed, address, job, 100)
    assert finished.wait() == 0 and finished.out == "4\n", finished.err
    assert len(rows(database, job)) == 10 and sums(database, job) == {1.0: 10} and is_right(database)


def test_a_scorer_that_fails_names_the_episode_and_what_was_scored_before_stays(database, monkeypatch):
    monkeypatch.setattr(scoring, "CHUNK", 4)
    job, asked = unscored_job(database), []

    def judge(episode) -> float:
        asked.append(episode.name)
        if len(asked) == 7:
            raise KeyError("no such\nword")
        return 1

    with pytest.raises(SpecError, match=rf"^The scorer 'long' failed on episode {job}-6: KeyError: .*") as error:
        score_job(database, SETTINGS, job, named(judge))
    assert str(error.value).endswith("6 episodes have their scores; fix it, and give the command again.")
    assert "\n" not in str(error.value) and sums(database, job) == {1.0: 6}
    assert score_job(database, SETTINGS, job, named(judge)).episodes == 4 and len(asked) == 11 and is_right(database)


@pytest.mark.parametrize(
    ("judge", "problem"),
    [
        (lambda episode: 1.5, "ValueError: the metric 'long' gave 1.5, which is not a number from 0 to 1"),
        (lambda episode: float("nan"), "ValueError: the metric 'long' gave nan"),
        (lambda episode: "yes", "ValueError: could not convert string to float: 'yes'"),
        (lambda episode: {"long": 1, "short": 0}, "ValueError: the metric 'short' is not one of long"),
        (lambda episode: [1], "TypeError: "),
    ],
)
def test_what_is_no_score_is_refused(database, judge, problem):
    job = unscored_job(database, 2)
    with pytest.raises(SpecError, match=problem):
        score_job(database, SETTINGS, job, named(judge))
    assert rows(database, job) == []


def test_what_has_no_result_is_not_judged(database):
    job = create_scored_job(database, [[0], [None], [0], [0]], kind="infer", pending=1)
    found = score_job(database, SETTINGS, job, named(lambda episode: 1))
    assert (found.episodes, found.without) == (2, 0) and sums(database, job) == {1.0: 2}


def test_an_episode_that_was_begun_again_meanwhile_is_left(database):
    job = unscored_job(database, 3)
    with database.engine.connect() as connection:
        ids = list(connection.execute(select(EpisodeRow.id).where(EpisodeRow.job == job)).scalars())
    with database.writer.begin() as connection:
        connection.execute(update(EpisodeRow).where(EpisodeRow.id == ids[0]).values(attempt=2))
        connection.execute(update(EpisodeRow).where(EpisodeRow.id == ids[1]).values(ending=""))
    found = {one: (1, (Score("long", 1.0),)) for one in ids}
    assert store_scores(database, job, found, "long") == 1
    assert rows(database, job) == [(ids[2], "1", 1.0)] and sums(database, job) == {1.0: 1}
    assert store_scores(database, job, found, "long") == 0 and sums(database, job) == {1.0: 1}


def test_an_unjudged_job_gets_the_first_metric_of_the_first_scorer_that_gives_scores(database):
    job = unscored_job(database, 4)
    with pytest.raises(SpecError, match="division by zero"):
        score_job(database, SETTINGS, job, named(lambda episode: 1 / 0, "broken", "broken"))
    assert row_of(database, job).main_metric == ""
    both = named(lambda episode: {"polite": 0, "long": odd(episode)}, metric="both", metrics=("long", "polite"))
    score_job(database, SETTINGS, job, both)
    score_job(database, SETTINGS, job, named(lambda episode: 0, "other", "other"))
    assert row_of(database, job).main_metric == "long"
    assert count_episodes(database, parse_where(f"job={job} score=1")) == 2
    with database.engine.connect() as connection:
        report = as_json(make_report(connection, get_job(connection, job)))
        assert sum_scores(connection, [job])[job][0] == "long" and sum_running_scores(connection, job) == (2.0, 4)
    assert (report["metric"], report["value"], report["correct"]) == ("long", 0.5, 2)
    assert {name: one["value"] for name, one in report["metrics"].items()} == {"long": 0.5, "polite": 0, "other": 0}


def test_an_evaluation_keeps_its_main_metric_and_its_own_scores(database):
    job = create_scored_job(database, [[1], [0], [0]])
    score_job(database, SETTINGS, job, named(lambda episode: 1))
    assert row_of(database, job).main_metric == "accuracy"
    assert count_episodes(database, parse_where(f"job={job} score=1")) == 1
    assert count_episodes(database, parse_where(f"job={job} metric:long=1")) == 3
    assert sums(database, job, "accuracy") == {0.0: 2, 1.0: 1}


@pytest.mark.parametrize("samples", [1, 2])
def test_the_newest_version_counts_wherever_a_score_is_told(database, samples):
    job = create_scored_job(database, [[0] * samples] * 4, kind="infer")
    total = 4 * samples
    for version, value in (("1", 1.0), ("3", 0.0)):
        scorer = named(lambda episode, value=value: value, version=version, digest=version)
        assert score_job(database, SETTINGS, job, scorer).episodes == total
    older = rf"^Job {job} has scores of 'long', version 3, which would count before 12: .* such as '3\.1'\.$"
    with pytest.raises(SpecError, match=older):
        score_job(database, SETTINGS, job, named(lambda episode: 1.0, version="12", digest="12"))
    assert len(rows(database, job)) == 2 * total  # all are kept
    assert count_episodes(database, parse_where(f"job={job} score=0")) == total
    assert sums(database, job) == {0.0: total} and is_right(database)
    with database.engine.connect() as connection:
        report = as_json(make_report(connection, get_job(connection, job)))
        summed = sum_scores(connection, [job])[job][1]
        assert sum_running_scores(connection, job) == (0.0, total)
        assert [value for _, value, _ in values_by_metric(connection, job)["long"]] == [0.0] * total
    assert (report["value"], report["complete"], report["metrics"]["long"]["of"]) == (0, True, total)
    assert report["ci95"][0] <= report["value"] <= report["ci95"][1]
    assert (summed.n, summed.wv) == (total, 0)
    assert [(one["metric"], one["version"]) for one in report["scorings"]] == [("long", one) for one in "13"]


def test_a_newer_version_that_has_judged_some_counts_for_these(database, monkeypatch):
    job = unscored_job(database, 5)
    score_job(database, SETTINGS, job, named(lambda episode: 1, version="9"))
    newer = named(lambda episode: 0.5 if odd(episode) else None, version="A", digest="cd")
    found = score_job(database, SETTINGS, job, newer)
    left = found.without
    assert left and sums(database, job) == {0.5: 5 - left, 1.0: left} and is_right(database)
    assert count_episodes(database, parse_where(f"job={job} score=1")) == left


def test_other_code_under_a_known_name_is_refused(database):
    job = unscored_job(database, 2)
    score_job(database, SETTINGS, job, named(lambda episode: 1))
    other_code = rf"^Job {job} has scores of 'long', version 1, from other code \(.*code ab; here .*code cd\)\. Give .*"
    with pytest.raises(SpecError, match=other_code):
        score_job(database, SETTINGS, job, named(lambda episode: 0, digest="cd"))
    with pytest.raises(SpecError, match=r"scores of 'long' from the scorer '__main__:long': give the metric another"):
        score_job(database, SETTINGS, job, named(lambda episode: 0, name="another", version="2"))
    assert sums(database, job) == {1.0: 2}
    with database.engine.connect() as connection:
        assert connection.execute(select(func.count()).select_from(Scoring)).scalar_one() == 1


def test_a_metric_of_the_run_is_refused_and_so_is_a_job_without_episodes(database):
    job = create_scored_job(database, [[1], [0]])
    with pytest.raises(
        SpecError, match=r"has scores of 'accuracy' from its run: give the scorer's metric another name"
    ):
        score_job(database, SETTINGS, job, named(lambda episode: 0, metric="accuracy"))
    with pytest.raises(SpecError, match="No scorer called 'lon'"):
        score_job(database, SETTINGS, job, "lon")
    with pytest.raises(SpecError, match="zzzz"):
        score_job(database, SETTINGS, "zzzz", named(odd))
    with database.writer.begin() as connection:
        connection.execute(update(JobRow).where(JobRow.id == job).values(kind="train"))
    with pytest.raises(SpecError, match=rf"^Job {job} is a training job: it has no episodes to score\.$"):
        score_job(database, SETTINGS, job, named(odd))
    with database.engine.connect() as connection:
        kept = connection.execute(select(func.sum(ScoreSum.episodes))).scalar_one()
        assert kept == connection.execute(select(func.count()).select_from(Item)).scalar_one()
