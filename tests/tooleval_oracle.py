"""ToolEval's rules as a procedure that tosses coins, and the expectation over all its coins. An oracle for tests only.

It is written from the rules alone and shares no code with the scoring: labels are texts, and chance is enumerated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from random import Random

Coin = Callable[[], bool]
WON, TIED, LOST = "won", "tied", "lost"
ANSWERS, TASKS, PREFERENCES = (
    ("solved", "unsure", "unsolved"),
    ("solvable", "unsure", "unsolvable"),
    ("first", "second"),
)
RANK = {"solved": 2, "unsure": 1, "unsolved": 0}


@dataclass(frozen=True, slots=True)
class Run:
    """The votes on a run as pairs (answer, task); the task is '' if it was not judged."""

    votes: tuple[tuple[str, str], ...]
    is_missing: bool = False


@dataclass(frozen=True, slots=True)
class Pair:
    """A candidate's run and the reference's run of a query, and what the judge says in each round if it is asked."""

    candidate: Run
    reference: Run
    has_same_answers: bool
    is_identical: bool  #: the same answers and calls
    reference_first: tuple[str, ...]  #: the judge's preference for each round: first, second or tie
    candidate_first: tuple[str, ...]


def expect(play: Callable[[Coin], str]) -> dict[str, Fraction]:
    """Return the probability of each outcome of a procedure that tosses fair coins, by playing all their sides."""
    outcomes: dict[str, Fraction] = {}
    pending: list[tuple[bool, ...]] = [()]
    while pending:
        sides = pending.pop()
        tosses = 0

        def coin(sides: tuple[bool, ...] = sides) -> bool:
            nonlocal tosses
            tosses += 1
            if tosses <= len(sides):
                return sides[tosses - 1]
            pending.append((*sides, *(False,) * (tosses - 1 - len(sides)), True))
            return False

        outcome = play(coin)
        outcomes[outcome] = outcomes.get(outcome, Fraction(0)) + Fraction(1, 2**tosses)
    assert sum(outcomes.values()) == 1
    return outcomes


def _passes(vote: tuple[str, str], coin: Coin) -> bool:
    answer, task = vote
    if answer == "solved":
        return True
    if task == "":
        return False
    if task == "unsolvable":
        return True
    if answer == "unsolved" and task == "solvable":
        return False
    return coin()


def _count(run: Run, coin: Coin) -> tuple[int, int]:
    passed = [_passes(vote, coin) for vote in run.votes]
    return passed.count(True), passed.count(False)


def printed_pass(run: Run) -> Fraction:
    """The expected share of a query in the printed pass rate."""

    def play(coin: Coin) -> str:
        passed, failed = _count(run, coin)
        return "pass" if failed <= passed else "fail"

    return expect(play).get("pass", Fraction(0))


def play_pair(pair: Pair, coin: Coin, note_question: Callable[[int], None] = lambda number: None) -> str:
    """Play all rounds of a query once. `note_question` gets the number of each round in which the judge is asked."""
    labels = []
    for run in (pair.candidate, pair.reference):
        passed, failed = _count(run, coin)
        labels.append(coin() if passed == failed else passed > failed)
    candidate_rounds = reference_rounds = 0
    for number in range(len(pair.candidate.votes)):
        if labels[0] != labels[1]:
            wins = labels[0]
        elif pair.reference.is_missing:
            wins = True
        elif pair.candidate.is_missing:
            wins = False
        else:
            candidate_rank = RANK[pair.candidate.votes[number][0]]
            reference_rank = RANK[pair.reference.votes[number][0]]
            if candidate_rank != reference_rank:
                wins = candidate_rank > reference_rank
            elif pair.is_identical:
                wins = coin()
            else:
                note_question(number)
                preference = pair.reference_first[number]
                wins = coin() if preference == "tie" else preference == "second"
        candidate_rounds += wins
        reference_rounds += not wins
    if candidate_rounds == reference_rounds:
        return TIED
    return WON if candidate_rounds > reference_rounds else LOST


def expected_outcomes(pair: Pair) -> dict[str, Fraction]:
    return {WON: Fraction(0), TIED: Fraction(0), LOST: Fraction(0)} | expect(lambda coin: play_pair(pair, coin))


def rounds_with_questions(pair: Pair) -> set[int]:
    """The rounds in which some coins lead to a question to the judge."""
    numbers: set[int] = set()
    expect(lambda coin: play_pair(pair, coin, numbers.add))
    return numbers


def random_pairs(seed: int, count: int) -> Iterator[Pair]:
    """Random tables of votes, labels and missing runs, by stored rules: a request is judged once for both runs."""
    random = Random(seed)
    for _ in range(count):
        size = random.choice((1, 2, 3, 4, 4, 4, 5))
        tasks = [random.choice(TASKS) for _ in range(size)]
        has_same_answers = random.random() < 0.3
        yield Pair(
            _random_run(random, tasks),
            _random_run(random, tasks),
            has_same_answers,
            has_same_answers and random.random() < 0.5,
            tuple(random.choice((*PREFERENCES, *PREFERENCES, "tie")) for _ in range(size)),
            tuple(random.choice((*PREFERENCES, *PREFERENCES, "tie")) for _ in range(size)),
        )


def _random_run(random: Random, tasks: list[str]) -> Run:
    kind = random.random()
    if kind < 0.2:  # missing, or ended without Finish: failed without a question
        return Run((("unsolved", ""),) * len(tasks), kind < 0.12)
    bias = random.choice(((1, 1, 1), (6, 1, 1), (1, 6, 1), (1, 1, 6)))
    answers = random.choices(ANSWERS, bias, k=len(tasks))
    return Run(tuple((answer, "" if answer == "solved" else task) for answer, task in zip(answers, tasks, strict=True)))
