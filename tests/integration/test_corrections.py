"""People correct and label stored episodes: new rows, never overwriting, on both databases."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy import func, select

from db.engine.connection import Database, open_database
from db.models import EpisodeRow, Item, JobRow, Label, VerdictRow
from db.queries.episode_names import load_finished_trajectory
from db.queries.step_names import locate_step, name_of_step
from db.queue.new_jobs import NewJob
from db.review.labels import NewLabel, add_labels
from db.transfer.imports import ImportedEpisode, store_episodes
from lumos_queue.commands import Do, Note, Step
from lumos_queue.errors import SpecError
from lumos_queue.records import Action, Execution, Outcome, Subgoal, Task
from lumos_queue.review.corrections import annotation_text, correct
from lumos_queue.review.edits import Changes
from lumos_queue.settings import Settings
from tests.integration.databases import Originals, convert_wordmath
from tests.stored_rows import read_stored_rows


@pytest.fixture(scope="module")
def originals(request) -> Originals:
    return Originals(request, convert_wordmath(limit=10))


@pytest.fixture(params=["sqlite", "postgresql"])
def stored(request, originals, tmp_path):
    """A database with ten converted wordmath episodes; the settings it was made with; the job.

    The first of them has three subgoals: 3 * 25 = 75, 75 - 9 = 66, 66 / 6 = 11.
    """
    url, job = originals.copy(request.param, tmp_path)
    opened = open_database(url)
    yield opened, Settings(home=tmp_path, database_url=url.replace("+psycopg", ""), user="ann@here"), job
    opened.close()


def results(database: Database, name: str) -> list[str]:
    with database.engine.connect() as connection:
        steps = load_finished_trajectory(connection, name).steps
    return [step.result.result for step in steps if isinstance(step.result, Execution)]


def episode(database: Database, name: str):
    with database.engine.connect() as connection:
        found = load_finished_trajectory(connection, name)
        verdicts = select(VerdictRow.module, VerdictRow.name).where(VerdictRow.episode == found.episode.id)
        return found, sorted(map(tuple, connection.execute(verdicts.where(VerdictRow.rejects))))


def rows_of(database: Database, table) -> int:
    with database.engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar_one()


def test_a_corrected_subgoal_is_a_new_episode_that_is_checked_like_a_conversion(stored):
    database, settings, job = stored
    before = read_stored_rows(database, job)
    text = "Calculate what Bao still needs by subtracting 9 from the result of subgoal 1."
    made = correct(database, settings, f"{job}-0", Changes({2: text}))
    found, rejecting = episode(database, made.episode)
    parent, _ = episode(database, f"{job}-0")
    assert made.parent == f"{job}-0"
    assert (found.episode.parent, found.episode.origin, found.episode.task) == (
        parent.episode.id,
        "corrected",
        parent.episode.task,
    )
    assert (found.job.submitted_by, found.job.origin, found.job.benchmark) == ("ann@here", "corrected", "wordmath")
    assert (found.episode.level, found.episode.answer) == (parent.episode.level, "11")
    assert found.episode.level in ("executed", "perturbed")
    assert (found.episode.split, found.episode.licence) == ("dev", "MIT")
    assert [score.value for score in found.scores] == [1]
    assert rejecting == []
    assert annotation_text(database, made.episode) == annotation_text(database, f"{job}-0").replace(
        "the money Bao still needs by", "what Bao still needs by"
    )
    assert read_stored_rows(database, job) == before


def test_later_results_follow_from_a_changed_action_and_a_wrong_answer_is_not_accepted(stored):
    database, settings, job = stored
    made = correct(database, settings, f"{job}-0", Changes(actions={(1, 1): "R1 = Calculator(3 * 23)"}))
    assert results(database, made.episode) == ["69", "60", "10"]
    found, rejecting = episode(database, made.episode)
    assert (made.level, found.episode.level, found.episode.answer) == ("", "", "10")
    assert rejecting == [("grounder", "wrong final answer"), ("planner", "wrong final answer")]
    assert [score.value for score in found.scores] == [0]
    again = correct(database, settings, made.episode, Changes(actions={(1, 1): "R1 = Calculator(25 * 3) = 75"}))
    assert again.level in ("executed", "perturbed")
    assert results(database, again.episode) == ["75", "66", "11"]
    assert episode(database, again.episode)[0].episode.parent == found.episode.id


def test_several_changes_go_into_one_episode(stored):
    database, settings, job = stored
    changes = Changes(
        {1: "Subgoal 1: Multiply 25 by 3.", 3: "Divide the result of subgoal 2 by 6."},
        {(1, 1): "R1 = Calculator(25 * 3)", (2, 1): "R2 = Calculator(R1 - 4 - 5) = 66"},
    )
    made = correct(database, settings, f"{job}-0", changes)
    assert made.level in ("executed", "perturbed")
    text = annotation_text(database, made.episode)
    assert text.splitlines()[:2] == ["Subgoal 1: Multiply 25 by 3.", "Action 1-1: R1 = Calculator(25 * 3) = 75"]
    assert "Subgoal 3: Divide the result of subgoal 2 by 6." in text


def test_steps_are_added_and_dropped_with_the_whole_annotation(stored):
    database, settings, job = stored
    text = """
        Subgoal 1: Calculate the cost of the hammers and what is still needed.
        Action 1-1: R1 = Calculator(3 * 25) = 9999
        Action 1-2: R2 = Calculator(R1 - 9)

        Subgoal 2: Divide what is still needed by 6.
        Action 2-1: R3 = Calculator(R2 / 6)
        """
    made = correct(database, settings, f"{job}-0", Changes(text=text))
    assert results(database, made.episode) == ["75", "66", "11"]
    assert made.level in ("executed", "perturbed")
    same = annotation_text(database, f"{job}-0")
    with pytest.raises(SpecError, match="Nothing changes"):
        correct(database, settings, f"{job}-0", Changes(text=same))


#: Episode, changes, and what the error says.
REFUSED = [
    ("{job}-0", Changes({4: "More."}), "The episode has no subgoal 4: it has 3."),
    ("{job}-0", Changes({0: "More."}), "The episode has no subgoal 0: it has 3."),
    ("{job}-0", Changes({1: "Subgoal 1:  "}), "Subgoal 1 has no text"),
    ("{job}-0", Changes({1: "two\nlines"}), "must be one line"),
    ("{job}-0", Changes({1: "nul\x00"}), "must be one line"),
    ("{job}-0", Changes(actions={(1, 2): "R1 = Calculator(1)"}), "Subgoal 1 has no action 2: it has 1."),
    ("{job}-0", Changes(actions={(9, 1): "R1 = Calculator(1)"}), "The episode has no subgoal 9"),
    ("{job}-0", Changes(actions={(1, 1): "Calculator(1)"}), "Action 1-1 is 'Calculator(1)': no assignment"),
    ("{job}-0", Changes(actions={(1, 1): "R1 = Calculator((1)"}), "mismatched parenthesis"),
    ("{job}-0", Changes(actions={(1, 1): "R1 = Calculator(1 / 0)"}), "Action 1-1, R1 = Calculator(1 / 0), fails: "),
    ("{job}-0", Changes(actions={(2, 1): "R2 = Calculator(R9 - 9)"}), "Action 2-1, R2 = Calculator(R9 - 9), fails"),
    ("{job}-0", Changes(actions={(1, 1): "R1 = Calculator(3 * 24) = 75"}), "gives 72, not 75"),
    ("{job}-0", Changes(actions={(1, 1): "R1 = Calculator(3 * 25)"}), "Nothing changes"),
    ("{job}-0", Changes(text="Subgoal 1: Nothing to do."), "cannot be read: subgoal without actions"),
    ("{job}-0", Changes(text="what is this"), "'what is this' is not an annotation: expected lines 'Subgoal 1: …'"),
    ("{job}-0", Changes(text="{}\n"), "'{}' is not an annotation"),
    ("{job}-77", Changes({1: "More."}), "has no episode 77"),
    ("nope-0", Changes({1: "More."}), "No job has an id that starts with 'nope'"),
    ("nope", Changes({1: "More."}), "expected JOB-NUMBER"),
    ("-0", Changes({1: "More."}), "expected JOB-NUMBER"),
]


def test_what_cannot_be_corrected_is_one_line_and_nothing_is_stored(stored):
    database, settings, job = stored
    for name, changes, told in REFUSED:
        with pytest.raises(SpecError) as error:
            correct(database, settings, name.format(job=job), changes)
        assert told in str(error.value)
        assert "\n" not in str(error.value)
    assert (rows_of(database, JobRow), rows_of(database, Item), rows_of(database, EpisodeRow)) == (1, 10, 10)


def test_two_people_who_correct_the_same_episode_at_once_make_two(stored):
    database, settings, job = stored
    made, failures = [], []

    def work(who: str) -> None:
        try:
            theirs = settings.model_copy(update={"user": who})
            made.append(correct(database, theirs, f"{job}-0", Changes({1: "Multiply 3 by 25."})).episode)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(who,)) for who in ("ann", "bob", "eve")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(set(made)) == 3
    assert {episode(database, name)[0].job.submitted_by for name in made} == {"ann", "bob", "eve"}
    assert len({annotation_text(database, name) for name in made}) == 1


def test_actions_that_cannot_run_here_keep_their_stated_results(database):
    """An imported question: no tools are at hand, and no gold answer is known."""
    texts = ("QA([R1], Who wrote it?)", "QA([R1], When?)")
    actions = [Action((f"R{number}",), "QA", text[3:-1]) for number, text in enumerate(texts, start=2)]
    steps, position = [], 0
    for number, (action, result) in enumerate(zip(actions, ("Jane Austen", "1813"), strict=True), start=1):
        done = Execution("ok", result, ({"text": result},))
        steps += [
            Step(position, 0, Note(Subgoal(number, f"Subgoal {number}: Ask.")), None),
            Step(position + 1, 0, Do(action), done),
        ]
        position += 2
    task = Task("released", "d" * 64, "row-1", "Who wrote it, and when?", {"domain": "complex_qa"}, None)
    new = NewJob("import", "cpu", "a" * 64, {}, "released", "iterative", "", "train", "MIT", 0, "p", "me", 0, "v")
    imported = [ImportedEpisode(task, steps, Outcome("1813", "answered"), "format")]
    job, _ = store_episodes(database, new, imported, "imported", "d" * 64)
    settings = Settings(user="ann")
    change = Changes(actions={(1, 1): "R2 = QA(The book is Emma., Who wrote it?)"})
    with pytest.raises(SpecError, match="cannot be run here: state its result"):
        correct(database, settings, f"{job}-0", change)
    change = Changes(actions={(1, 1): "R1 = QA(The book is Emma., Who wrote it?) = J. Austen"})
    made = correct(database, settings, f"{job}-0", change)
    assert results(database, made.episode) == ["J. Austen", "1813"]
    assert (made.level, made.answer) == ("format", "1813")
    assert [(one.module, one.name) for one in made.verdicts if one.rejects] == []


def test_labels_are_added_and_never_overwritten(stored):
    database, _, job = stored
    found, _ = episode(database, f"{job}-0")
    key = found.episode.id
    position, branch = locate_step(found.steps, "2-1")
    add_labels(database, [NewLabel(key, "right", "ann"), NewLabel(key, "wrong", "ann", "R1 \x00", position, branch)])
    add_labels(database, [NewLabel(key, "wrong", "ann")])
    add_labels(database, [])
    with database.engine.connect() as connection:
        rows = connection.execute(select(Label.__table__).order_by(Label.id)).all()
    assert [(row.value, row.position, row.branch, row.note) for row in rows] == [
        ("right", None, None, ""),
        ("wrong", 3, 0, "R1 \N{REPLACEMENT CHARACTER}"),
        ("wrong", None, None, ""),
    ]
    assert all(row.labelled_at > 0 for row in rows)


def test_labels_that_will_not_do_leave_none_behind(stored):
    database, _, job = stored
    key = episode(database, f"{job}-0")[0].episode.id
    for bad in (NewLabel(key, "maybe", "ann"), NewLabel(key, "right", " "), NewLabel(key, "right", "x" * 201)):
        with pytest.raises(SpecError):
            add_labels(database, [NewLabel(key, "right", "ann"), bad])
    assert rows_of(database, Label) == 0


def test_a_step_is_named_by_subgoal_action_or_position(stored):
    database, _, job = stored
    steps = episode(database, f"{job}-0")[0].steps
    names = {"1": (0, 0), "3": (4, 0), "1-1": (1, 0), "3-1": (5, 0), "@2": (2, 0), "@2.0": (2, 0)}
    assert {text: locate_step(steps, text) for text in names} == names
    assert [name_of_step(steps, position, 0) for position in (0, 1, 2, 5, 6)] == ["1", "1-1", "2", "3-1", "@6"]
    assert name_of_step(steps, 0, 1) == "@0.1"
    for text in ("", "4", "0", "1-2", "1-0", "@6", "@0.1", "a", "1-", "-1", "²"):
        with pytest.raises(SpecError, match=r"names no step|has no"):
            locate_step(steps, text)
