"""Audits by level, rule and note, and builds of the strata whose precision people have measured, on both databases."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from sqlalchemy import insert, select, update

from db.engine.connection import open_database
from db.engine.migrate import downgrade, upgrade
from db.models import Audit, EpisodeRow, JobRow, Label, VerdictRow
from db.queries.filters import parse_where
from db.queries.jobs import get_job
from db.queries.labels import newest_of_audit
from db.queries.step_locations import StepLocator
from db.queries.trajectory import get_trajectory
from db.review.audits import get_audit, sample_audit, samples_of
from db.review.labels import NewLabel, add_labels
from db.review.reservations import reserve_next, store_label, take_back_label
from lumos_queue.builds.options import BuildOptions
from lumos_queue.errors import SpecError
from lumos_queue.reports.conversion import measure_conversion
from lumos_queue.reports.json_values import as_json
from lumos_queue.reports.trajectory import describe_labels
from lumos_queue.scoring.annotation_strata import StratumKey, read_stratum_keys
from lumos_queue.scoring.sampling import AuditKind
from lumos_queue.submission.build_request import make_build
from tests.audit_commands import make_runner
from tests.integration.databases import Originals, convert_wordmath
from tests.scored_jobs import create_scored_job

KEYS = read_stratum_keys("level,rule,note")
NOTED, PLAIN = "wordmath · perturbed · rules 1 · ambiguous link", "wordmath · perturbed · rules 1 · no note"


@pytest.fixture(scope="module")
def originals(request) -> Originals:
    return Originals(request, convert_wordmath(limit=100))


@pytest.fixture(params=["sqlite", "postgresql"])
def stored(request, originals, tmp_path):
    """A database with 100 converted episodes, of which the first 40 have the note `ambiguous link`, and the job."""
    url, job = originals.copy(request.param, tmp_path)
    opened = open_database(url)
    with opened.writer.begin() as connection:
        connection.execute(update(EpisodeRow).values(level="perturbed"))
    add_verdicts(opened, range(40), "ambiguous link", rejects=False)
    yield opened, job
    opened.close()


sqlite_only = pytest.mark.parametrize("stored", ["sqlite"], indirect=True)


@pytest.fixture
def lumos(stored, tmp_path, monkeypatch, capsys):
    """Run one of the commands; returns its JSON, or its text with `--text`."""
    return make_runner(stored[0], tmp_path, monkeypatch, capsys)


def episodes_of(database) -> list[int]:
    with database.engine.connect() as connection:
        return list(connection.execute(select(EpisodeRow.id).order_by(EpisodeRow.id)).scalars())


def add_verdicts(database, ordinals, name: str, rejects: bool, modules=("grounder",)) -> None:
    episodes = episodes_of(database)
    rows = [
        {"episode": episodes[ordinal], "module": module, "name": name, "rejects": rejects, "detail": ""}
        for ordinal in ordinals
        for module in modules
    ]
    with database.writer.begin() as connection:
        connection.execute(insert(VerdictRow), rows)


def label_all(database, audit: str, wrong: dict[str, int]) -> None:
    """Label all places right, but so many of each stratum wrong."""
    remaining = Counter(wrong)
    labels = []
    with database.engine.connect() as connection:
        for slot in samples_of(connection, audit):
            is_wrong = remaining[slot.stratum] > 0
            remaining[slot.stratum] -= 1
            labels.append(NewLabel(slot.episode, "wrong" if is_wrong else "right", "ann", audit=audit))
    add_labels(database, labels)


def test_an_audit_is_drawn_by_level_rule_and_note_and_keeps_these_strata(stored):
    database, job = stored
    sample = sample_audit(database, "first", parse_where(f"job={job}"), 60, 0, keys=KEYS)
    assert Counter(member.stratum for member in sample) == {NOTED: 24, PLAIN: 36}
    with database.writer.begin() as connection:  # what happens later does not change the audit
        spec = dict(get_job(connection, job).spec)
        connection.execute(update(JobRow).values(spec=spec | {"rule_version": 2, "teacher": "chat://host"}))
    with database.engine.connect() as connection:
        assert get_audit(connection, "first").strata == "level,rule,note"
        assert {slot.stratum for slot in samples_of(connection, "first")} == {NOTED, PLAIN}
    second = sample_audit(database, "second", parse_where(f"job={job}"), 60, 0, keys=(StratumKey.RULE,))
    assert {member.stratum for member in second} == {"wordmath · teacher, rules 2"}
    third = sample_audit(database, "third", parse_where(f"job={job}"), 60, 0)
    assert all(member.stratum.endswith(" subgoals") for member in third)
    with database.engine.connect() as connection:
        assert get_audit(connection, "third").strata == ""
    with pytest.raises(SpecError, match="leave out --by"):
        sample_audit(database, "runs", parse_where(""), 60, 0, AuditKind.RUNS, keys=KEYS)


def test_a_build_keeps_the_strata_that_are_precise_enough_and_counts_the_others(stored, tmp_path):
    database, job = stored
    sample_audit(database, "first", parse_where(f"job={job}"), 90, 0, keys=KEYS, at_least=36)
    label_all(database, "first", {NOTED: 6, PLAIN: 5})  # 30 of 36, and 49 of 54
    options = BuildOptions(where=f"job={job}", min_precision=0.9, audit="first")
    manifest, _ = make_build(database, "one", tmp_path / "one", options)
    audit = manifest["audit"]
    assert [(row["stratum"], row["judged"], row["right"], row["retained"]) for row in audit["strata"]] == [
        (NOTED, 36, 30, False),
        (PLAIN, 54, 49, True),
    ]
    assert audit["precision"] == pytest.approx(49 / 54)
    excluded = manifest["episodes"]["left_out"]
    assert excluded["in a stratum with a precision below 0.9 in the audit first"] == 34  # 40 without 6 labelled wrong
    assert excluded["labelled wrong by a person"] == 11
    assert manifest["episodes"]["used"] == 55
    assert manifest["rules"] == {"wordmath": {"rules 1": manifest["rows"]}}
    card = (tmp_path / "one" / "README.md").read_text()
    assert f"| wordmath | rules 1 | {manifest['rows']} |" in card
    assert f"| {NOTED} | 40 | 36 | 83.3 % |" in card and f"| {PLAIN} | 60 | 54 | 90.7 % |" in card
    assert "| perturbed | " in card
    assert make_build(database, "one", tmp_path / "one", options)[1] is False
    loose = BuildOptions(where=f"job={job}", min_precision=0.8, audit="first")
    assert make_build(database, "two", tmp_path / "two", loose)[0]["episodes"]["used"] == 89


def test_episodes_outside_the_audit_or_with_few_labels_are_left_out(stored, tmp_path):
    database, _ = stored
    add_verdicts(database, range(90, 95), "result stated", rejects=True, modules=("planner",))
    sample_audit(database, "first", parse_where(""), 29, 0, keys=KEYS)
    label_all(database, "first", {})
    options = BuildOptions(where="origin=converted", min_precision=0.9, audit="first")
    with pytest.raises(SpecError, match="No episode makes a row of this build") as error:
        make_build(database, "one", tmp_path / "one", options)
    assert "in a stratum with fewer than 30 labels in the audit first" in str(error.value)
    assert not (tmp_path / "one").exists()
    sample_audit(database, "second", parse_where(""), 60, 0, keys=KEYS)
    label_all(database, "second", {})
    manifest, _ = make_build(database, "two", tmp_path / "two", options_for("second"))
    assert manifest["episodes"]["left_out"] == {
        "in a stratum with fewer than 30 labels in the audit second": 40,
        "not in the population of the audit second": 5,
    }
    assert manifest["episodes"]["used"] == 55


def test_an_episode_outside_the_filter_of_the_audit_is_left_out_even_in_a_precise_stratum(stored, tmp_path):
    database, _ = stored
    with database.writer.begin() as connection:
        others = EpisodeRow.id.in_(episodes_of(database)[95:])
        connection.execute(update(EpisodeRow).where(others).values(level="executed"))
    sample_audit(database, "first", parse_where("level=perturbed"), 95, 0, keys=(StratumKey.NOTE,))
    label_all(database, "first", {})
    manifest, _ = make_build(database, "one", tmp_path / "one", options_for("first"))
    assert manifest["episodes"]["used"] == 95
    assert manifest["episodes"]["left_out"] == {"not in the population of the audit first": 5}


def options_for(audit: str) -> BuildOptions:
    return BuildOptions(where="origin=converted", min_precision=0.9, audit=audit)


@sqlite_only
def test_an_audit_of_runs_and_an_unknown_audit_are_refused(stored, tmp_path):
    database, _ = stored
    create_scored_job(database, [[1], [0]])
    sample_audit(database, "runs", parse_where(""), 2, 0, AuditKind.RUNS)
    with pytest.raises(SpecError, match="The audit 'runs' is one of runs"):
        make_build(database, "one", tmp_path / "one", options_for("runs"))
    with pytest.raises(SpecError, match="No audit is called 'none'"):
        make_build(database, "one", tmp_path / "one", options_for("none"))


def test_the_newest_label_names_the_step_and_the_kind_of_fault(stored):
    database, _ = stored
    sample_audit(database, "first", parse_where(""), 10, 0)
    turn = reserve_next(database, "first", "ann").next
    assert turn is not None
    with pytest.raises(SpecError, match="No kind of fault called 'typo'"):
        store_label(database, "first", "ann", turn.number, turn.token, "wrong", kind="typo")
    with pytest.raises(SpecError, match="Only the label wrong names a step"):
        store_label(database, "first", "ann", turn.number, turn.token, "right", step="1")
    with pytest.raises(SpecError, match="The episode has no subgoal 99"):
        store_label(database, "first", "ann", turn.number, turn.token, "wrong", step="99")
    store_label(database, "first", "ann", turn.number, turn.token, "wrong", "why", "1-1", "number")
    with database.engine.connect() as connection:
        (label,) = newest_of_audit(connection, "first").values()
        slot = samples_of(connection, "first")[turn.number - 1]
        assert StepLocator(connection).name(turn.episode, label.wrong_position, label.wrong_branch) == "1-1"
        name, _, ordinal = slot.name.rpartition("-")
        (row,) = describe_labels(get_trajectory(connection, get_job(connection, name), int(ordinal)))
    assert (label.value, label.note, label.wrong_kind, slot.kinds) == ("wrong", "why", "number", {"ann": "number"})
    assert (row.label, row.step, row.wrong_step, row.wrong_kind) == ("wrong", None, "1-1", "number")
    add_labels(database, [NewLabel(turn.episode, "wrong", "ann", audit="first", wrong_kind="link")])
    with database.engine.connect() as connection:
        assert samples_of(connection, "first")[turn.number - 1].kinds == {"ann": "link"}
    take_back_label(database, "first", "ann")
    take_back_label(database, "first", "ann")
    with database.engine.connect() as connection:
        assert newest_of_audit(connection, "first") == {}


def test_a_database_of_the_preceding_revision_keeps_its_audits_and_labels(stored):
    database, job = stored
    sample_audit(database, "first", parse_where(f"job={job}"), 5, 0)
    with database.engine.connect() as connection:
        before = samples_of(connection, "first")
    add_labels(database, [NewLabel(before[0].episode, "wrong", "ann", "so", audit="first")])
    downgrade(database, "0022")
    with database.engine.connect() as connection:
        columns = [column for column in Label.__table__.columns if not column.name.startswith("wrong_")]
        assert connection.execute(select(*columns)).one().value == "wrong"
    upgrade(database)
    with database.engine.connect() as connection:
        assert connection.execute(select(Audit.strata)).scalar_one() == ""
        samples = samples_of(connection, "first")
        assert newest_of_audit(connection, "first") == {(before[0].episode, "ann"): ("wrong", "so", None, None, "")}
    assert [(slot.number, slot.stratum, slot.weight) for slot in samples] == [
        (slot.number, slot.stratum, slot.weight) for slot in before
    ]


def test_a_conversion_ends_with_its_rows_by_outcome_level_and_rule(stored):
    database, job = stored
    add_verdicts(database, range(30, 33), "unsure", rejects=True, modules=("planner", "grounder"))
    add_verdicts(database, range(30, 31), "copied", rejects=True, modules=("planner",))
    add_verdicts(database, range(50, 54), "result stated", rejects=True, modules=("planner",))
    add_verdicts(database, range(50, 51), "invalid result", rejects=True)
    with database.engine.connect() as connection:
        report = as_json(measure_conversion(connection, get_job(connection, job)))
    assert [tuple(group.values()) for group in report["outcomes"]] == [
        ("accepted", "perturbed", "rules 1", "no note", 56),
        ("accepted", "perturbed", "rules 1", "ambiguous link", 37),
        ("waiting", "perturbed", "unsure", "", 3),
        ("rejected", "perturbed", "result stated", "", 3),
        ("rejected", "perturbed", "invalid result", "", 1),
    ]
    assert report["outcome_totals"] == {"accepted": 93, "waiting": 3, "rejected": 4}
    assert sum(report["outcome_totals"].values()) == report["rows_in"]


def test_the_commands_measure_precision_and_build_by_it(lumos, stored, tmp_path):
    _, job = stored
    sample = lumos("audit", "draw", "first", "--by", "level,rule,note", "--size", "100")
    assert (sample["by"], [row["stratum"] for row in sample["strata"]]) == (["level", "rule", "note"], [NOTED, PLAIN])
    lumos("audit", "label", "first", "1", "wrong", "--step", "1-1", "--kind", "link")
    assert lumos("audit", "label", "first", "1", "wrong", "--step", "2", "--kind", "result")["left"] == {"ann": 99}
    file = tmp_path / "labels.jsonl"
    file.write_text("\n".join(json.dumps({"place": place, "label": "right"}) for place in range(2, 101)))
    lumos("audit", "label", "first", "--from", str(file))
    report = lumos("audit", "report", "first")
    assert report["wrong_kinds"] == {"result": 1}
    assert sorted(row["precision"]["judged"] for row in report["strata"]) == [40, 60]
    text = lumos("audit", "report", "first", "--text")
    assert "wrong annotations by kind of fault: result 1" in text and ", 100.0]" in text
    exported = tmp_path / "exported.json"
    lumos("audit", "export", "first", "--format", "label-studio", "--out", str(exported))
    assert lumos("audit", "label", "first", "--from", str(exported))["labelled"] == 0
    assert "ann says: wrong (step 2, result)" in lumos("show", name_of(stored, 1), "--text")
    build = lumos("dataset", "build", "one", "--where", f"job={job}", "--min-precision", "0.9", "--audit", "first")
    assert build["episodes"]["used"] == 99 and build["audit"]["name"] == "first"
    assert "strata of first with a precision of at least 90.0 %" in lumos("dataset", "show", "one", "--text")
    report_text = lumos("report", job, "--text")
    outcomes = [line.split() for line in report_text.splitlines() if line.startswith("accepted")]
    assert ["accepted", "perturbed", "rules", "1,", "ambiguous", "link", "40"] in outcomes
    for arguments, message in (
        (["audit", "label", "first", "1", "right", "--kind", "link"], "Only the label wrong"),
        (["audit", "label", "first", "1", "wrong", "--step", "77"], "has no subgoal 77"),
        (["audit", "label", "first", "--from", str(file), "--kind", "link"], "belong to a place"),
        (["audit", "draw", "b", "--by", "level,planet"], "No property of strata called 'planet'"),
        (["dataset", "build", "b", "--min-precision", "0.9"], "need each other"),
    ):
        with pytest.raises(SpecError, match=message):
            lumos(*arguments)


def name_of(stored, place: int) -> str:
    database, _ = stored
    with database.engine.connect() as connection:
        return samples_of(connection, "first")[place - 1].name
