"""An audit of real converted episodes, drawn, labelled and reported, on both databases and from the command line."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest
from sqlalchemy import func, insert, select, text

from db.engine.connection import open_database
from db.engine.migrate import downgrade, upgrade
from db.models import Audit, AuditSample, EpisodeRow, Label, VerdictRow
from db.queries.filters import parse_where
from db.queue.job_changes import remove
from db.review.audits import get_audit, next_of, sample_audit, samples_of
from db.review.labels import NewLabel, add_labels
from lumos_queue.errors import LumosError, SpecError
from lumos_queue.reports.audit import make_audit_report
from lumos_queue.scoring.statistics import wilson
from tests.audit_commands import make_runner
from tests.integration.databases import Originals, convert_wordmath
from tests.scored_jobs import create_scored_job


@pytest.fixture(scope="module")
def originals(request) -> Originals:
    return Originals(request, convert_wordmath(limit=60))


@pytest.fixture(params=["sqlite", "postgresql"])
def stored(request, originals, tmp_path):
    """A database with 60 converted wordmath episodes, and the job."""
    url, job = originals.copy(request.param, tmp_path)
    opened = open_database(url)
    yield opened, job
    opened.close()


#: For tests of the commands, beside those of what they call.
sqlite_only = pytest.mark.parametrize("stored", ["sqlite"], indirect=True)


@pytest.fixture
def lumos(stored, tmp_path, monkeypatch, capsys):
    """Run one of the commands; returns its JSON, or its text with `--text`."""
    return make_runner(stored[0], tmp_path, monkeypatch, capsys)


def count(database, table) -> int:
    with database.engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar_one()


def test_a_sample_is_kept_with_weights_that_add_up_to_its_population(stored):
    database, job = stored
    drawn = sample_audit(database, "first", parse_where(f"job={job}"), 20, 3)
    with database.engine.connect() as connection:
        audit, samples = get_audit(connection, "first"), samples_of(connection, "first")
    assert (audit.query, audit.seed, audit.population) == (f"job={job}", 3, 60)
    assert [(one.number, one.episode, one.stratum) for one in samples] == [
        (one.number, one.episode, one.stratum) for one in drawn
    ]
    assert len(samples) == 20
    assert len({one.episode for one in samples}) == 20
    assert sum(one.weight for one in samples) == pytest.approx(60)
    assert all(one.stratum.startswith("wordmath · ") for one in samples)
    assert len(Counter(one.stratum for one in samples)) >= 2
    assert sample_audit(database, "second", parse_where(""), 20, 3) == drawn


def test_only_accepted_annotations_are_drawn(stored):
    database, _ = stored
    with pytest.raises(SpecError, match="No accepted annotation matches 'level=none'"):
        sample_audit(database, "first", parse_where("level=none"), 20, 0)
    with pytest.raises(SpecError, match="No accepted annotation matches"):
        sample_audit(database, "first", parse_where("benchmark=gsm8k"), 20, 0)
    assert count(database, Audit) == 0


def test_a_name_that_will_not_do_is_refused(stored):
    for name in ("", "  ", "x" * 81, "two\nlines", "bell\a"):
        with pytest.raises(SpecError, match="is not a name for an audit"):
            sample_audit(stored[0], name, parse_where(""), 20, 0)


def test_a_name_is_used_once_and_an_unknown_one_says_what_there_is(stored):
    database, _ = stored
    with database.engine.connect() as connection, pytest.raises(SpecError, match="Draw one with"):
        get_audit(connection, "first")
    sample_audit(database, "first", parse_where(""), 20, 0)
    with pytest.raises(SpecError, match="An audit 'first' exists already"):
        sample_audit(database, "first", parse_where(""), 30, 0)
    assert count(database, AuditSample) == 20
    with database.engine.connect() as connection, pytest.raises(SpecError, match="The newest audits are: first"):
        get_audit(connection, "second")


def test_the_newest_label_of_each_person_counts_and_others_labels_do_not(stored):
    database, _ = stored
    drawn = sample_audit(database, "first", parse_where(""), 12, 0)
    sample_audit(database, "second", parse_where(""), 60, 0)
    first, second = drawn[0].episode, drawn[1].episode
    add_labels(
        database,
        [
            NewLabel(first, "wrong", "ann", audit="first"),
            NewLabel(first, "right", "bob", audit="first"),
            NewLabel(second, "wrong", "ann", audit="second"),
            NewLabel(second, "wrong", "ann"),
            NewLabel(first, "right", "ann", audit="first"),
            NewLabel(first, "wrong", "bob", "", 0, 0, "first"),
        ],
    )
    with database.engine.connect() as connection:
        samples = samples_of(connection, "first")
    assert [one.labels for one in samples[:2]] == [{"ann": "right", "bob": "right"}, {}]
    assert next_of(samples, "ann") == samples[1] and next_of(samples, "eve") == samples[0]
    assert next_of(samples, "eve", is_divided=True) == samples[1]  # the first needs no label any more
    labelled = [NewLabel(one.episode, "right", "ann", audit="first") for one in drawn]
    add_labels(database, labelled)
    with database.engine.connect() as connection:
        assert next_of(samples_of(connection, "first"), "ann") is None


def test_an_audit_lives_on_when_its_job_is_removed_and_says_so(stored, lumos):
    database, job = stored
    sample_audit(database, "first", parse_where(""), 12, 0)
    remove(database, job, with_labels=True)
    with database.engine.connect() as connection:
        report = make_audit_report(get_audit(connection, "first"), samples_of(connection, "first"))
    assert (report.drawn, report.removed, report.right.share) == (0, 60, None)
    assert "all of its items were removed" in lumos("audit", "report", "first", "--text")
    assert "has no places left" in lumos("audit", "next", "first", "--text")


@sqlite_only
def test_places_that_are_gone_are_counted_in_the_report(stored, lumos):
    database, job = stored
    made = [lumos("correct", f"{job}-{number}", "--subgoal", f"1: Do as said, {number}.") for number in range(12)]
    assert all(one["level"] for one in made)
    drawn = sample_audit(database, "first", parse_where("origin=corrected"), 12, 0)
    gone = [one for one in drawn if one.number in (3, 4, 11)]
    with database.engine.connect() as connection:
        names = {one.episode: one.name for one in samples_of(connection, "first")}
    for one in gone:
        remove(database, names[one.episode].split("-")[0], with_labels=True)
    report = lumos("audit", "report", "first")
    assert (report["drawn"], report["gone"], report["removed"]) == (9, 3, 3)
    assert "at least 3 more of its items were removed together with their jobs" in lumos(
        "audit", "report", "first", "--text"
    )
    with pytest.raises(SpecError, match="has no place 4: its places are 1 to 12, without those removed together with"):
        lumos("audit", "label", "first", "4", "right")


def test_a_job_on_which_people_worked_is_removed_only_when_told_so(stored, lumos):
    database, job = stored
    made = lumos("correct", f"{job}-0", "--subgoal", "1: Multiply 3 by 25.")["episode"]
    lumos("correct", made, "--subgoal", "1: Multiply 25 by 3.")
    lumos("label", f"{job}-1", "right")
    lumos("label", f"{job}-1:1", "wrong", "--as", "bob")
    sample_audit(database, "first", parse_where("origin=converted"), 20, 0)
    sample_audit(database, "second", parse_where("origin=converted"), 60, 0)
    with pytest.raises(SpecError) as error:
        lumos("rm", job)
    assert "1 labelled, 60 drawn in an audit, 1 corrected in another job." in str(error.value)
    assert f"lumos rm {job} --with-labels" in str(error.value)
    assert (count(database, Label), count(database, AuditSample)) == (2, 80)
    assert lumos("show", made)["parent"] == f"{job}-0"
    assert lumos("rm", job, "--with-labels", "--yes") == {"job": job, "removed": True}
    assert (count(database, Label), count(database, AuditSample)) == (0, 0)
    assert lumos("show", made)["parent"] == ""
    assert "corrects an episode that was removed" in lumos("show", made, "--text")


def test_what_is_rejected_for_one_module_is_not_accepted(stored):
    database, job = stored
    with database.writer.begin() as connection:
        episodes = connection.execute(select(EpisodeRow.id).order_by(EpisodeRow.id)).scalars().all()
        rows = [
            {"episode": episode, "module": "planner", "name": "result stated", "rejects": rejects, "detail": ""}
            for episode, rejects in zip(episodes[:10], [True] * 4 + [False] * 6, strict=True)
        ]
        connection.execute(insert(VerdictRow), rows)
    drawn = sample_audit(database, "first", parse_where(f"job={job}"), 60, 0)
    assert len(drawn) == 56
    assert not {one.episode for one in drawn} & set(episodes[:4])


@sqlite_only
def test_an_episode_shows_its_labels_but_not_to_who_is_to_judge_it(stored, lumos):
    database, _ = stored
    drawn = sample_audit(database, "first", parse_where(""), 12, 0)
    with database.engine.connect() as connection:
        name = samples_of(connection, "first")[0].name
    lumos("label", name, "wrong")
    lumos("label", name, "right", "--note", "after all")
    lumos("label", f"{name}:1-1", "unsure", "--as", "bob")
    labels = lumos("show", name)["labels"]
    assert [(one["labeller"], one["label"], one["step"], one["note"]) for one in labels] == [
        ("ann", "right", None, "after all"),
        ("bob", "unsure", "1-1", ""),
    ]
    told = lumos("show", name, "--text")
    assert "ann says: right: after all" in told
    assert "bob says: step 1-1 is unsure" in told
    assert lumos("audit", "next", "first")["episode"]["episode"] == name
    assert "labels" not in lumos("audit", "next", "first")["episode"]
    assert "says" not in lumos("audit", "next", "first", "--text")
    assert drawn[0].number == 1


@sqlite_only
def test_a_report_says_what_each_share_leaves_out_and_fits_100_columns(stored, lumos, monkeypatch):
    database, _ = stored
    monkeypatch.setenv("COLUMNS", "100")
    sample_audit(database, "first", parse_where(""), 10, 0)
    for place, label in enumerate(["right", "right", "wrong", "unsure"], start=1):
        lumos("audit", "label", "first", str(place), label)
    lumos("audit", "label", "first", "1", "wrong", "--as", "bob")
    told = lumos("audit", "report", "first", "--text")
    assert "audit first: 10 annotations, drawn from 60 that were accepted" in told
    assert max(map(len, told.splitlines())) <= 100
    words = " ".join(told.split())
    shares = r"(\d+\.\d % \[\d+\.\d, \d+\.\d\], of \d annotations; left out: [a-z0-9, ]+ not labelled)"
    (right,) = re.findall(f"accepted annotations that are right: {shares}", words)
    (strict,) = re.findall(f"the same, if unsure and disputed count as wrong: {shares}", words)
    assert right.endswith("of 2 annotations; left out: 1 unsure, 1 disputed, 6 not labelled")
    assert strict.endswith("of 4 annotations; left out: 6 not labelled")
    strata = lumos("audit", "report", "first")["strata"]
    rows = [line for line in told.splitlines() if line.lstrip().startswith("wordmath · ")]
    judged = [stratum for stratum in strata if stratum["precision"]]
    assert len(rows) == len(strata)
    for stratum, row in zip(strata, rows, strict=True):
        assert row.split()[:2] == stratum["stratum"].split()[:2] and (" % " in row) == (stratum in judged)


def test_the_commands_draw_show_label_and_report(lumos, stored, tmp_path):
    _, job = stored
    drawn = lumos("audit", "draw", "first", "--where", f"job={job}", "--size", "60")
    assert (drawn["population"], drawn["drawn"]) == (60, 60)
    assert sum(one["population"] for one in drawn["strata"]) == 60
    shown = lumos("audit", "next", "first")
    assert (shown["place"], shown["of"], shown["left"]) == (1, 60, 60)
    assert any(step["who"] == "subgoal" for step in shown["episode"]["steps"])
    text = lumos("audit", "next", "first", "--text")
    assert shown["episode"]["question"].split()[0] in text
    assert "lumos audit label first 1 right|wrong|unsure" in text
    assert lumos("audit", "label", "first", "1", "right")["left"] == {"ann": 59}
    assert lumos("audit", "next", "first")["place"] == 2
    rows = [{"place": place, "label": "wrong" if place in (7, 8, 9) else "right"} for place in range(2, 61)]
    rows += [{"place": place, "label": "wrong" if place == 7 else "right", "as": "bob"} for place in range(1, 11)]
    file = tmp_path / "labels.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    assert lumos("audit", "label", "first", "--from", str(file)) == {
        "audit": "first",
        "labelled": 69,
        "left": {"ann": 0, "bob": 50},
    }
    assert "ann has labelled all 60" in lumos("audit", "next", "first", "--text")
    alone = lumos("audit", "report", "first", "--as", "ann")
    assert alone["precision"]["share"] == pytest.approx(57 / 60)
    assert alone["precision"]["ci95"] == pytest.approx(wilson(57, 60))
    report = lumos("audit", "report", "first")
    assert (report["right"], report["wrong"], report["disputed"]) == (57, 1, 2)
    pair = report["agreement"][0]
    # 10 items: ann says right 7 times, bob 9 times; they agree on 8. By chance 0.7 * 0.9 + 0.3 * 0.1 = 0.66.
    assert (pair["items"], pair["agreed"]) == (10, 8)
    assert pair["kappa"] == pytest.approx((0.8 - 0.66) / (1 - 0.66))
    told = lumos("audit", "report", "first", "--text")
    assert f"accepted annotations that are right: {100 * report['precision']['share']:.1f} %" in told
    assert "ann and bob agree on 8 of 10 items (80.0 %); kappa 0.412 [" in " ".join(told.split())


#: Arguments, and what the error says.
REFUSED = [
    (["audit", "label", "nope", "1", "right"], "No audit is called 'nope'"),
    (["audit", "next", "nope"], "No audit is called 'nope'"),
    (["audit", "report", "nope"], "No audit is called 'nope'"),
    (["audit", "label", "first", "21", "right"], "has no place 21: its places are 1 to 20"),
    (["audit", "label", "first", "1", "maybe"], "No label called 'maybe'. Choose one of: right, unsure, wrong."),
    (["audit", "label", "first", "1", "right", "--as", " "], "is not the name of a labeller"),
    (["audit", "label", "first"], "Give a place and a label (right, wrong or unsure), or a file"),
    (["audit", "label", "first", "1"], "Give a place and a label"),
    (["audit", "label", "first", "1", "right", "--from", "x"], "Give a place and a label"),
    (["audit", "label", "first", "--from", "none.jsonl"], "Cannot read 'none.jsonl'"),
    (["audit", "report", "first", "--as", "eve"], "No labeller called 'eve'"),
    (["audit", "draw", "second", "--size", "1"], "give --size"),
    (["audit", "draw", "second", "--where", "colour=red"], "colour"),
    (["label", "{job}-99", "right"], "has no episode 99"),
    (["label", "{job}-0:9", "right"], "The episode has no subgoal 9"),
    (["label", "{job}-0", "fine"], "No label called 'fine'"),
    (["correct", "{job}-0"], "Give exactly one of: changes"),
    (["correct", "{job}-0", "--action", "2: R2 = Calculator(1)"], "does not say which action"),
    (["correct", "{job}-0", "--subgoal", "one"], "does not say which subgoal"),
    (["correct", "{job}-0", "--subgoal", "1 a", "--subgoal", "1: b"], "--subgoal 1 is given twice"),
    (["correct", "{job}-0", "--file", "none.txt"], "Cannot read 'none.txt'"),
    (["correct", "{job}-0", "--file", "none.txt", "--print"], "Give exactly one of: changes"),
]


@sqlite_only
def test_what_cannot_be_done_is_one_line_and_writes_nothing(lumos, stored):
    database, job = stored
    sample_audit(database, "first", parse_where(""), 20, 0)
    for arguments, told in REFUSED:
        with pytest.raises(LumosError) as error:
            lumos(*(one.replace("{job}", job) for one in arguments))
        assert told in str(error.value)
        assert "\n" not in str(error.value)
    assert (count(database, Label), count(database, Audit), count(database, AuditSample)) == (0, 1, 20)


@sqlite_only
def test_a_file_of_labels_with_one_bad_row_is_not_taken_at_all(lumos, stored, tmp_path):
    database, _ = stored
    sample_audit(database, "first", parse_where(""), 20, 0)
    file = tmp_path / "labels.csv"
    file.write_text("place,label\n1,right\n2,wrong\n3,perhaps\n")
    with pytest.raises(SpecError, match="row 3, field 'label': 'perhaps'"):
        lumos("audit", "label", "first", "--from", str(file))
    assert count(database, Label) == 0


@sqlite_only
def test_the_commands_correct_and_label_an_episode(lumos, stored, tmp_path):
    _, job = stored
    made = lumos("correct", f"{job}-0", "--action", "1-1: R1 = Calculator(25 * 3)", "--subgoal", "1 Multiply 25 by 3.")
    assert made["parent"] == f"{job}-0"
    assert made["level"] in ("executed", "perturbed")
    text = lumos("correct", made["episode"], "--print", "--text")
    assert text.startswith("Subgoal 1: Multiply 25 by 3.\nAction 1-1: R1 = Calculator(25 * 3) = 75\n")
    file = tmp_path / "edited.txt"
    file.write_text(text.replace("25 * 3", "25 * 2"))
    told = lumos("correct", made["episode"], "--file", str(file), "--text")
    assert "  planner: wrong final answer: gives " in told
    file.write_text(text.replace("25 * 3", "25 * 2") + "\n")
    wrong = lumos("correct", made["episode"], "--file", str(file))
    assert wrong["level"] is None
    assert {one["name"] for one in wrong["verdicts"] if one["rejects"]} == {"wrong final answer"}
    told = lumos("correct", made["episode"], "--subgoal", "1: Multiply 3 by 25.", "--text")
    assert f"corrects {made['episode']}: " in told
    assert lumos("label", f"{made['episode']}:1-1", "wrong", "--note", "should be 3 * 25") == {
        "episode": made["episode"],
        "position": 1,
        "branch": 0,
        "label": "wrong",
        "labeller": "ann",
    }
    assert lumos("label", made["episode"], "right", "--as", "bob")["position"] is None


def test_the_commands_draw_runs_hide_what_the_metric_says_and_export(lumos, stored, tmp_path):
    database, _ = stored
    create_scored_job(database, [[1], [0], [1], [0], [None]])
    drawn = lumos("audit", "draw", "runs", "--runs", "--size", "10", "--twice", "0.5")
    assert (drawn["kind"], drawn["population"], drawn["labelled_twice"]) == ("runs", 4, 2)
    assert {one["stratum"].split(" · ")[1] for one in drawn["strata"]} == {"right", "wrong"}
    shown = lumos("audit", "next", "runs")["episode"]
    assert shown["question"] and (shown["scores"], shown["verdicts"]) == ([], [])
    assert "accuracy" not in lumos("audit", "next", "runs", "--text")
    for place in range(1, 5):
        lumos("audit", "label", "runs", str(place), "right")
    told = lumos("audit", "report", "runs", "--text")
    assert "audit runs: 4 runs, drawn from 4\n" in told
    assert "runs that are right: 100.0 % [51.0, 100.0], of 4 runs" in told
    assert "the metric agrees with people on 2 of 4 runs: 50.0 %" in told
    for form in ("label-studio", "argilla"):
        file = tmp_path / f"{form}.json"
        assert lumos("audit", "export", "runs", "--format", form, "--out", str(file))["places"] == 4
        assert lumos("audit", "label", "runs", "--from", str(file)) == {
            "audit": "runs",
            "labelled": 0,
            "left": {"ann": 0},
        }
        with pytest.raises(SpecError, match="exists already"):
            lumos("audit", "export", "runs", "--format", form, "--out", str(file))
    assert count(database, Label) == 4
    with pytest.raises(SpecError, match="No format called 'excel'"):
        lumos("audit", "export", "runs", "--format", "excel", "--out", str(tmp_path / "a"))
    with pytest.raises(SpecError, match="No run matches 'job=nope'"):
        lumos("audit", "draw", "none", "--runs", "--where", "job=nope")
    with pytest.raises(SpecError, match="without a slash"):
        lumos("audit", "draw", "a/b", "--runs")


def test_audits_of_before_are_upgraded_with_what_they_still_need(stored):
    database, _ = stored
    drawn = sample_audit(database, "first", parse_where(""), 5, 0)
    add_labels(database, [NewLabel(one.episode, "right", "ann", audit="first") for one in drawn[:2]])
    downgrade(database, "0015")
    upgrade(database)
    with database.engine.connect() as connection:
        audit, samples = get_audit(connection, "first"), samples_of(connection, "first")
    assert (audit.kind, audit.twice) == ("annotations", 0)
    assert [one.labels_left for one in samples] == [0, 0, 1, 1, 1]
    assert [one.labels for one in samples[:3]] == [{"ann": "right"}, {"ann": "right"}, {}]


@sqlite_only  # which stores any value in any column
def test_a_damaged_audit_is_named_and_says_what_to_do(stored):
    database, job = stored
    sample_audit(database, "first", parse_where(f"job={job}"), 20, 3)
    with database.writer.begin() as connection:
        connection.execute(text("UPDATE audit SET population = 'many'"))
    with database.engine.connect() as connection, pytest.raises(SpecError, match=r"'first' is damaged: .*copy of the"):
        get_audit(connection, "first")
