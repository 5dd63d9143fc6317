"""Report a judge's votes on the answers of a job, their costs, and the agreement of its grades with people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from db.engine.connection import Connection
from db.queries.votes import count_details, list_labelled_scores, sum_calls, votes_without_score
from db.queue.budget import find_prices
from db.queue.stored_jobs import StoredJob
from lumos_queue.benchmarks.from_file.definition import JudgeDefinition
from lumos_queue.benchmarks.from_file.judge_votes import NO_ANSWER, VoteCounts, count_votes
from lumos_queue.records import Role
from lumos_queue.reports.audit import JUDGED, opinion
from lumos_queue.reports.completeness import ENDED, UNGRADED, Completeness
from lumos_queue.reports.json_values import OPTIONAL
from lumos_queue.reports.score_values import Range
from lumos_queue.reports.totals import Tokens
from lumos_queue.scoring.sampling import GRADE, decide_verdict
from lumos_queue.scoring.statistics import cohen_kappa, kappa_interval, wilson
from lumos_queue.util.wording import format_kappa, format_measurement, format_price

MAX_READ = 100_000  #: episodes without a grade whose replies are read


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeAgreement:
    """The agreement of grades with people's labels. A grade in the middle of its scale or above counts as right."""

    answers: int  #: graded answers that people label right or wrong
    agreed: int
    share: float
    ci95: Range  #: Wilson's
    right_for_people_only: int
    right_for_judge_only: int
    kappa: float | None  #: None if both gave one label to all
    kappa_ci95: Range | None  #: the interval that audits use


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeFigures:
    """The votes of a judge on the answers of a job, and what they cost."""

    grades: int  #: number of grades that the judge may give
    votes: int  #: votes for each answer
    answers: int  #: answers that were sent to the judge
    graded: int  #: of these
    ungraded: int  #: of these, as no vote could be read
    without_answer: int  #: episodes
    read: int  #: votes with a grade
    unreadable: int  #: votes without a grade
    missing: int  #: votes
    again: int  #: votes that were requested once more
    ties: int  #: graded answers whose two middle votes differ
    calls: int
    retries: int
    tokens: Tokens
    usd: float | None = field(default=None, metadata=OPTIONAL)  #: a part of the job's cost; None without prices
    agreement: GradeAgreement | None = field(default=None, metadata=OPTIONAL)


def judge_figures(connection: Connection, job: StoredJob, judge: JudgeDefinition) -> JudgeFigures:
    """Return the figures of the judge of a job."""
    details = count_details(connection, job.id, GRADE)
    ungraded_votes = [votes for votes in votes_without_score(connection, job.id, GRADE, Role.JUDGE, MAX_READ) if votes]
    vote_counts = [(counts, episodes) for text, episodes in details if (counts := VoteCounts.from_text(text))]
    vote_counts += [(count_votes(judge, votes), 1) for votes in ungraded_votes]
    graded_answers = sum(episodes for counts, episodes in vote_counts if counts.grades)
    calls, prices = sum_calls(connection, job.id, Role.JUDGE), find_prices(job.spec)
    rates = prices.get("prompt_price", 0.0), prices.get("completion_price", 0.0)
    usd = (calls.prompt_tokens * rates[0] + calls.completion_tokens * rates[1]) / 1e6
    return JudgeFigures(
        grades=judge.grades,
        votes=judge.votes,
        answers=graded_answers + len(ungraded_votes),
        graded=graded_answers,
        ungraded=len(ungraded_votes),
        without_answer=sum(episodes for text, episodes in details if text == NO_ANSWER),
        read=sum(len(counts.grades) * episodes for counts, episodes in vote_counts),
        unreadable=sum(counts.unreadable * episodes for counts, episodes in vote_counts),
        missing=sum(counts.missing * episodes for counts, episodes in vote_counts),
        again=sum(counts.again * episodes for counts, episodes in vote_counts),
        ties=sum(episodes for counts, episodes in vote_counts if counts.is_tie),
        calls=calls.calls,
        retries=calls.retries,
        tokens=Tokens(calls.prompt_tokens, calls.completion_tokens),
        usd=round(usd, 6) if any(rates) else None,
        agreement=measure_agreement(connection, job.id),
    )


def note_ungraded(job: StoredJob, state: Completeness, ungraded_answers: int) -> Completeness | None:
    """Return the completeness of a job with ungraded answers; None without any, and before the job has ended.

    `state` is the completeness without regard to grades.
    """
    if not ungraded_answers or job.state not in ENDED:
        return None
    missing_items: Mapping[str, int] = {**(state.lacking or {}), UNGRADED: ungraded_answers}
    command = state.go_on or f"lumos score {job.id} --judge URL"
    return replace(state, complete=False, lacking=missing_items, go_on=command)


def measure_agreement(connection: Connection, job: str) -> GradeAgreement | None:
    """Return the agreement of grades with people's labels; None if people label no graded answer right or wrong."""
    pairs = [
        (label, decide_verdict(score.value, GRADE))
        for score in list_labelled_scores(connection, job, GRADE)
        if score.detail != NO_ANSWER and (label := opinion(score.labels)) in JUDGED
    ]
    if not pairs:
        return None
    equal_count, interval = sum(label == grade for label, grade in pairs), kappa_interval(pairs)
    return GradeAgreement(
        answers=len(pairs),
        agreed=equal_count,
        share=equal_count / len(pairs),
        ci95=wilson(equal_count, len(pairs)),
        right_for_people_only=pairs.count(("right", "wrong")),
        right_for_judge_only=pairs.count(("wrong", "right")),
        kappa=cohen_kappa(pairs),
        kappa_ci95=interval,
    )


def list_judge_figures(figures: JudgeFigures, items: int) -> Iterator[tuple[str, str]]:
    """Yield (name, text) of each figure of the judge of a job with so many items."""
    yield "judged", f"{figures.graded + figures.without_answer:,} of {items:,}"
    counts = (("unreadable", figures.unreadable), ("missing", figures.missing), ("asked again", figures.again))
    parts = [f"{figures.read:,} read", *(f"{count:,} {label}" for label, count in counts if count)]
    yield "votes of the judge", ", ".join(parts)
    if figures.retries:
        yield "failed requests to the judge", f"{figures.retries:,}, sent again"
    if figures.votes > 1:
        yield "ties of votes", f"{figures.ties:,} of {figures.graded:,}"
    tokens = f"{figures.tokens.prompt:,} / {figures.tokens.completion:,}"
    yield "tokens of the judge", tokens + ("" if figures.usd is None else f", {format_price(figures.usd)}")
    if agreement := figures.agreement:
        share = format_measurement(agreement.share, agreement.ci95)
        yield "judge agrees with labels", f"{agreement.agreed:,} of {agreement.answers:,}: {share}"
        yield "kappa of judge and labels [95 %]", _format_kappa(agreement)


def _format_kappa(agreement: GradeAgreement) -> str:
    if agreement.kappa is None or agreement.kappa_ci95 is None:
        return "not defined: both gave one label to all"
    return format_kappa(agreement.kappa, agreement.kappa_ci95)
