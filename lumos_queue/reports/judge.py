"""Report a judge's votes on the answers of a job, their costs, and the agreement of its grades with people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from db.engine.connection import Connection
from db.queries.votes import count_details, list_labelled_scores, sum_calls, votes_without_score
from db.queue.budget import find_prices
from db.queue.stored_jobs import StoredJob
from lumos_queue.benchmarks.from_file.definition import JudgeDefinition
from lumos_queue.benchmarks.from_file.judge_votes import NO_ANSWER, VoteCounts, count_votes
from lumos_queue.records import Role
from lumos_queue.reports.audit import JUDGED, opinion
from lumos_queue.reports.completeness import ENDED, UNGRADED
from lumos_queue.scoring.sampling import GRADE, decide_verdict
from lumos_queue.scoring.statistics import cohen_kappa, kappa_interval, wilson
from lumos_queue.util.wording import format_kappa, format_measurement, format_price

MAX_READ = 100_000  #: episodes without a grade whose replies are read


def judge_figures(connection: Connection, job: StoredJob, judge: JudgeDefinition) -> dict[str, Any]:
    """Return the figures of the judge, as `judge`, for the report of a job.

    `answers` counts the answers that were sent to the judge: `graded`, and `ungraded` if no vote could be read.
    `unreadable` and `missing` count votes without a grade, `again` counts votes that were requested once more, and
    `ties` counts graded answers whose two middle votes differ. `usd` is part of the job's cost.
    """
    details = count_details(connection, job.id, GRADE)
    ungraded_votes = [votes for votes in votes_without_score(connection, job.id, GRADE, Role.JUDGE, MAX_READ) if votes]
    vote_counts = [(counts, episodes) for text, episodes in details if (counts := VoteCounts.from_text(text))]
    vote_counts += [(count_votes(judge, votes), 1) for votes in ungraded_votes]
    graded_answers = sum(episodes for counts, episodes in vote_counts if counts.grades)
    calls, prices = sum_calls(connection, job.id, Role.JUDGE), find_prices(job.spec)
    rates = prices.get("prompt_price", 0.0), prices.get("completion_price", 0.0)
    figures: dict[str, Any] = {
        "grades": judge.grades,
        "votes": judge.votes,
        "answers": graded_answers + len(ungraded_votes),
        "graded": graded_answers,
        "ungraded": len(ungraded_votes),
        "without_answer": sum(episodes for text, episodes in details if text == NO_ANSWER),
        "read": sum(len(counts.grades) * episodes for counts, episodes in vote_counts),
        "unreadable": sum(counts.unreadable * episodes for counts, episodes in vote_counts),
        "missing": sum(counts.missing * episodes for counts, episodes in vote_counts),
        "again": sum(counts.again * episodes for counts, episodes in vote_counts),
        "ties": sum(episodes for counts, episodes in vote_counts if counts.is_tie),
        "calls": calls.calls,
        "retries": calls.retries,
        "tokens": {"prompt": calls.prompt_tokens, "completion": calls.completion_tokens},
    }
    if any(rates):
        figures["usd"] = round((calls.prompt_tokens * rates[0] + calls.completion_tokens * rates[1]) / 1e6, 6)
    if agreement := measure_agreement(connection, job.id):
        figures["agreement"] = agreement
    return {"judge": figures}


def note_ungraded(report: Mapping[str, Any], state: str) -> dict[str, Any]:
    """Return `complete`, `lacking` and `go_on` for a report with ungraded answers; {} before the job has ended.

    `state` is the job's state.
    """
    ungraded_answers = report["judge"]["ungraded"]
    if not ungraded_answers or state not in ENDED:
        return {}
    missing_items = {**report.get("lacking", {}), UNGRADED: ungraded_answers}
    command = f"lumos score {report['job']} --judge URL"
    return {"complete": False, "lacking": missing_items, "go_on": report.get("go_on", command)}


def measure_agreement(connection: Connection, job: str) -> dict[str, Any] | None:
    """Return the agreement of grades with people's labels, over the graded answers that people label right or wrong.

    A grade in the middle of its scale or above counts as right. `share` has Wilson's interval, `kappa` the interval
    that audits use. Return None if there is no such answer.
    """
    pairs = [
        (label, decide_verdict(score.value, GRADE))
        for score in list_labelled_scores(connection, job, GRADE)
        if score.detail != NO_ANSWER and (label := opinion(score.labels)) in JUDGED
    ]
    if not pairs:
        return None
    equal_count, interval = sum(label == grade for label, grade in pairs), kappa_interval(pairs)
    return {
        "answers": len(pairs),
        "agreed": equal_count,
        "share": equal_count / len(pairs),
        "ci95": list(wilson(equal_count, len(pairs))),
        "right_for_people_only": pairs.count(("right", "wrong")),
        "right_for_judge_only": pairs.count(("wrong", "right")),
        "kappa": cohen_kappa(pairs),
        "kappa_ci95": list(interval) if interval else None,
    }


def list_judge_figures(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (name, text) of each figure of the judge in a report, if there is a judge."""
    if not (figures := report.get("judge")):
        return
    judged_answers = figures["graded"] + figures["without_answer"]
    yield "judged", f"{judged_answers:,} of {report['n']:,}"
    counts = (("unreadable", "unreadable"), ("missing", "missing"), ("asked again", "again"))
    parts = [f"{figures['read']:,} read", *(f"{figures[name]:,} {label}" for label, name in counts if figures[name])]
    yield "votes of the judge", ", ".join(parts)
    if figures["retries"]:
        yield "failed requests to the judge", f"{figures['retries']:,}, sent again"
    if figures["votes"] > 1:
        yield "ties of votes", f"{figures['ties']:,} of {figures['graded']:,}"
    tokens = f"{figures['tokens']['prompt']:,} / {figures['tokens']['completion']:,}"
    yield "tokens of the judge", tokens + (f", {format_price(figures['usd'])}" if "usd" in figures else "")
    if agreement := figures.get("agreement"):
        share = format_measurement(agreement["share"], agreement["ci95"])
        yield "judge agrees with labels", f"{agreement['agreed']:,} of {agreement['answers']:,}: {share}"
        yield "kappa of judge and labels [95 %]", _format_kappa(agreement)


def _format_kappa(figures: Mapping[str, Any]) -> str:
    if figures["kappa"] is None:
        return "not defined: both gave one label to all"
    return format_kappa(figures["kappa"], figures["kappa_ci95"])
