"""The queries of docs/queries.md, each against the same said in Python of a stream of all episodes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import text

from db.engine.connection import open_database
from db.engine.migrate import upgrade
from db.engine.snapshot import reading
from db.journal.step_records import RecordedStep
from db.queries.filters import parse_where
from db.queries.trajectories import StoredEpisode, stream_episodes
from lumos_queue.records import Execution, Subgoal
from performance.queries import read_documented_queries
from tests.integration.test_trajectories import url  # noqa: F401 - the store, a fixture

Episodes = list[StoredEpisode]
MOST = 100  #: rows that each of the queries shows
JUDGED = ("accuracy", "executed")


def accuracies(episodes: Episodes) -> list[tuple]:
    tries: dict[tuple, list[tuple[str, float]]] = defaultdict(list)
    for e in episodes:
        for metric in JUDGED:
            if metric in e.scores and e.ending != "infra_error":
                tries[e.job, e.task.benchmark, e.formulation, metric].append((e.task.row, e.scores[metric]))
    found = []
    for key, values in tries.items():
        right = sum(value for _, value in values)
        found.append((*key, len(values), len({row for row, _ in values}), right, right / len(values)))
    return sorted(found, key=lambda row: (-row[-1], row[0]))


def endings(episodes: Episodes) -> list[tuple]:
    of_all, of_each = Counter(e.formulation for e in episodes), Counter((e.formulation, e.ending) for e in episodes)
    rows = [(*key, count, 100 * count / of_all[key[0]]) for key, count in of_each.items()]
    return sorted(rows, key=lambda row: (row[0], -row[2], row[1]))


def steps(episodes: Episodes) -> Iterator[tuple[StoredEpisode, RecordedStep]]:
    return ((e, step) for e in episodes for step in e.steps)


def errors(episodes: Episodes) -> list[tuple]:
    found: dict[tuple, list[tuple[int, str]]] = defaultdict(list)
    for e, step in steps(episodes):
        if isinstance(step.result, Execution) and step.result.status != "ok":
            found[step.detail.name, step.result.status].append((e.id, step.detail.arguments))
    rows = [
        (*key, len(seen), len({one for one, _ in seen}), min(said for _, said in seen)) for key, seen in found.items()
    ]
    return sorted(rows, key=lambda row: (-row[2], row[0], row[1]))


def longest(episodes: Episodes) -> list[tuple]:
    first = sorted(episodes, key=lambda e: (-e.totals.calls, -e.totals.tokens, e.id))
    # How long an episode took is no part of a stream; the store has 0.8 seconds for each call.
    return [
        (
            e.name,
            e.task.benchmark,
            e.formulation,
            e.totals.calls,
            e.totals.tokens,
            0.8 * e.totals.calls,
            e.ending,
        )
        for e in first
    ]


def uneven(episodes: Episodes) -> list[tuple]:
    """Without the task's key, which a stream does not tell."""
    found: dict[tuple, list[float]] = defaultdict(list)
    for e in episodes:
        if "accuracy" in e.scores:
            found[e.job, int(e.task.row)].append(e.scores["accuracy"])
    return [
        (job, str(row), len(values), sum(values))
        for (job, row), values in sorted(found.items())
        if min(values) < 1 and max(values) == 1
    ]


def doubling(episodes: Episodes) -> list[tuple]:
    return [
        (e.name, score(e), step.detail.number, step.detail.text)
        for e, step in steps(episodes)
        if isinstance(step.detail, Subgoal) and "by doubling" in step.detail.text
    ]


def score(episode: StoredEpisode) -> float | None:
    return next((episode.scores[metric] for metric in JUDGED if metric in episode.scores), None)


def verdicts(episodes: Episodes) -> list[tuple]:
    found = []
    converted = [e for e in episodes if e.origin == "converted"]
    for benchmark in sorted({e.task.benchmark for e in converted}):
        mine = [e for e in converted if e.task.benchmark == benchmark]
        rejected = {
            module: sum(any(v.rejects and v.module == module for v in e.verdicts) for e in mine)
            for module in ("planner", "grounder")
        }
        accepted = sum(not any(v.rejects for v in e.verdicts) for e in mine)
        noted = sum(any(not v.rejects for v in e.verdicts) for e in mine)
        found.append((benchmark, len(mine), accepted, rejected["planner"], rejected["grounder"], noted))
    return found


def subgoals(episode: StoredEpisode) -> int:
    return sum(isinstance(step.detail, Subgoal) for step in episode.steps)


def shortest(episodes: Episodes) -> list[tuple]:
    best: dict[tuple, StoredEpisode] = {}
    for e in sorted(episodes, key=lambda e: (subgoals(e), e.totals.calls, e.id)):
        if e.ending == "answered" and any(e.scores.get(metric) == 1 for metric in JUDGED):
            best.setdefault((e.task.dataset, e.task.row), e)
    return [
        (e.name, e.task.benchmark, e.task.row, subgoals(e), e.origin, e.level)
        for e in sorted(best.values(), key=lambda e: e.id)
    ]


#: The beginning of a query's title, the same in Python, and which of the columns are compared.
CASES: dict[str, tuple[Callable[[Episodes], list[tuple]], tuple[int, ...] | None]] = {
    "Accuracy of each job": (accuracies, None),
    "How episodes end": (endings, None),
    "The most frequent errors": (errors, None),
    "The longest episodes": (longest, None),
    "Tasks solved in some": (uneven, (0, 2, 3, 4)),
    "Episodes with a subgoal": (doubling, None),
    "Verdicts of the filters": (verdicts, None),
    "The shortest right": (shortest, None),
}


@pytest.fixture
def database(url):  # noqa: F811
    opened = open_database(url)
    yield opened
    opened.close()


def asked(database, title: str) -> list[tuple]:
    (query,) = [query for name, query in read_documented_queries() if name.startswith(title)]
    with reading(database) as connection:
        return [tuple(map(_plain, row)) for row in connection.execute(query)]


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, str) else round(float(value), 6)


@pytest.mark.parametrize("title", CASES)
def test_a_documented_query_finds_what_python_finds(database, title):
    same, columns = CASES[title]
    expected = [tuple(map(_plain, row)) for row in same(list(stream_episodes(database, parse_where(""))))][:MOST]
    rows = asked(database, title)
    found = rows if columns is None else [tuple(row[place] for place in columns) for row in rows]
    assert expected and found == expected


def test_the_store_has_tasks_solved_in_some_tries_in_all_and_in_none(database):
    """Or the query for the first of these would have nothing to leave out."""
    tried = defaultdict(set)
    for e in stream_episodes(database, parse_where("job=aaaaaaa7")):
        tried[e.task.row].add(e.scores["accuracy"])
    assert {frozenset(values) for values in tried.values()} == {frozenset({0}), frozenset({1}), frozenset({0, 1})}


def test_the_documented_cost_is_that_of_all_calls_ever_made(database):
    """Also of those of an attempt given up, and of an episode that has not ended."""
    made = text("SELECT role, count(*), sum(prompt_tokens), sum(completion_tokens) FROM completion GROUP BY role")
    with reading(database) as connection:
        counted = {row[0]: [float(value) for value in row[1:]] for row in connection.execute(made)}
    expected = [
        (f"lumos-{role}-7b", role, *counted[role], round((0.5 * counted[role][1] + 1.5 * counted[role][2]) / 1e6, 6))
        for role in ("planner", "grounder")
    ]
    assert asked(database, "Tokens and cost") == expected


def test_the_documented_search_for_a_text_finds_it_in_every_kind_of_step(database):
    ((_, query),) = [one for one in read_documented_queries() if one[0].startswith("A text, anywhere")]
    for wanted, kinds in (("Yes, I will stop", {"call"}), ("by doubling", {"call", "subgoal"}), (" + 17", {"action"})):
        with reading(database) as connection:
            rows = list(connection.execute(text(str(query).replace("Treaty of Westphalia", wanted))))
        assert rows and {row.kind for row in rows} >= kinds
        assert all(wanted in f"{row.text} {row.result}" for row in rows)
    assert asked(database, "A text, anywhere") == []


def test_the_documented_steps_are_those_of_all_fits_with_what_became_of_their_rollouts(database):
    episodes = list(stream_episodes(database, parse_where("")))
    expected = []
    for step, rollouts in ((1, "aaaaaaa7"), (2, "aaaaaaa4")):  # as of the fixture
        mine = [e for e in episodes if e.job == rollouts]
        for ending in sorted({e.ending for e in mine}):
            ended = [e for e in mine if e.ending == ending]
            scores = [e.scores["accuracy"] for e in ended if "accuracy" in e.scores]
            mean = sum(scores) / len(scores) if scores else None
            row = (mine[0].job, step, 0.5, 0.25, step + 0.5, rollouts, ending, len(ended), mean)
            expected.append(tuple(map(_plain, row[1:])))
    found = asked(database, "What each optimizer step")
    assert expected and [row[1:] for row in found] == expected


def test_each_documented_query_has_its_test_and_an_empty_database_is_no_error(tmp_path):
    titles = [title for title, _ in read_documented_queries()]
    tested = (*CASES, "Tokens and cost", "A text, anywhere", "What each optimizer step")
    assert len(titles) == len(tested) == 11
    assert all(any(title.startswith(one) for one in tested) for title in titles)
    opened = open_database(f"sqlite:///{tmp_path / 'other.db'}")
    upgrade(opened)
    with reading(opened) as connection:
        assert all(not list(connection.execute(query)) for _, query in read_documented_queries())
    opened.close()
