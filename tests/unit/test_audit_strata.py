"""Strata by rule and note, the smallest part of each, and kinds of faults, in numbers worked out by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from db.review.audits import AuditSlot, StoredAudit
from lumos_queue.builds.audited_strata import AuditedStrata
from lumos_queue.builds.options import BuildOptions
from lumos_queue.builds.summary import describe_audit, describe_rules
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.reports.audit import make_audit_report
from lumos_queue.reports.json_values import as_json
from lumos_queue.review.argilla import write_record
from lumos_queue.review.exported_slots import ExportedSlot, SlotLabel
from lumos_queue.review.label_files import read_labels
from lumos_queue.review.label_studio import write_task
from lumos_queue.scoring.annotation_strata import DEFAULT_KEYS, StratumKey, name_rule, read_stratum_keys
from lumos_queue.scoring.sampling import allocate, stratum_of
from lumos_queue.scoring.statistics import wilson

AUDIT = StoredAudit(
    name="first",
    query="",
    seed=0,
    population=60,
    created_at=0.0,
    kind="annotations",
    twice=0.0,
    strata="level,rule,note",
)
SLOTS = [AuditSlot(1, 11, "job-0", "s", 1.0, {}), AuditSlot(2, 22, "job-7", "s", 1.0, {})]


def report_of(*arguments) -> dict:
    """Return a report as JSON."""
    return as_json(make_audit_report(*arguments))


def locate(episode: int, text: str) -> tuple[int, int]:
    """Return the position of a step of an episode with the steps 1 and 2-1."""
    positions = {"1": (0, 0), "2-1": (3, 0)}
    if text not in positions:
        raise SpecError(f"The episode {episode} has no step {text}.")
    return positions[text]


def test_strata_have_the_properties_that_are_named_in_a_fixed_order():
    keys = read_stratum_keys("note, rule,level")
    assert keys == (StratumKey.LEVEL, StratumKey.RULE, StratumKey.NOTE)
    notes = ["text differs", "ambiguous link", "text differs"]
    assert stratum_of("gsm8k", "executed", 3, "rules 2", notes, keys) == (
        "gsm8k · executed · rules 2 · ambiguous link + text differs"
    )
    assert stratum_of("gsm8k", "executed", 3, "rules 2", (), keys) == "gsm8k · executed · rules 2 · no note"
    assert stratum_of("gsm8k", "executed", 3, "rules 2", notes) == "gsm8k · executed · 3-4 subgoals"
    assert read_stratum_keys(" , ") == DEFAULT_KEYS


@pytest.mark.parametrize(
    ("text", "message"),
    [("level,colour", "No property of strata called 'colour'"), ("rule,rule", "'rule' appears twice")],
)
def test_an_unknown_or_repeated_property_is_refused(text, message):
    with pytest.raises(SpecError, match=message):
        read_stratum_keys(text)


@pytest.mark.parametrize(
    ("origin", "spec", "name"),
    [
        ("converted", {"source": "gsm8k"}, "rules 1"),
        ("converted", {"rule_version": 2, "teacher": ""}, "rules 2"),
        ("converted", {"rule_version": 2, "teacher": "chat://host"}, "teacher, rules 2"),
        ("converted", None, "rules 1"),
        ("corrected", {"rule_version": 2}, "corrected"),
    ],
)
def test_a_rule_is_named_by_the_request_of_its_job(origin, spec, name):
    assert name_rule(origin, spec) == name


@pytest.mark.parametrize(
    ("sizes", "size", "at_least", "expected"),
    [
        ({"a": 900, "b": 90, "c": 10}, 100, 30, {"a": 60, "b": 30, "c": 10}),  # exact 90, 9, 1
        ({"a": 50, "b": 50}, 40, 10, {"a": 20, "b": 20}),  # the shares are above the floor
        ({"a": 5, "b": 5}, 40, 30, {"a": 5, "b": 5}),
    ],
)
def test_a_sample_has_the_smallest_part_of_each_stratum(sizes, size, at_least, expected):
    assert allocate(sizes, size, at_least) == expected


def test_a_size_below_the_smallest_parts_is_refused():
    with pytest.raises(SpecError, match=r"too small for 30 members of each of the 3 strata: give --size 70 or more"):
        allocate({"a": 900, "b": 90, "c": 10}, 60, 30)


def test_each_stratum_has_its_precision_and_faults_are_counted_by_kind():
    """Of a, 3 of 4 are right; of b, 1 of 2; c is not judged. 40 of 60 are of a, 20 of b: (40 * 3/4 + 20 * 1/2) / 60."""
    right, wrong = {"ann": "right"}, {"ann": "wrong"}

    def slot(stratum: str, weight: float, labels: dict[str, str], kinds: dict[str, str] | None = None) -> AuditSlot:
        return AuditSlot(0, 0, "", stratum, weight, labels, kinds=kinds or {})

    samples = [slot("a", 10.0, right)] * 3 + [slot("a", 10.0, wrong, {"ann": "link"})]
    samples += [
        slot("b", 10.0, right),
        slot("b", 10.0, {"ann": "wrong", "bob": "wrong"}, {"ann": "link", "bob": "number"}),
    ]
    samples += [slot("c", 0.0, {"ann": "unsure"})]
    report = report_of(AUDIT, samples)
    by_name = {row["stratum"]: row["precision"] for row in report["strata"]}
    assert by_name["a"] == {"share": 0.75, "ci95": pytest.approx(list(wilson(3, 4))), "judged": 4}
    assert by_name["b"] == {"share": 0.5, "ci95": pytest.approx(list(wilson(1, 2))), "judged": 2}
    assert by_name["c"] is None
    assert report["precision"]["share"] == pytest.approx(40 / 60)
    assert report["wrong_kinds"] == {"link": 2, "number": 1}
    assert report_of(AUDIT, samples, "bob")["wrong_kinds"] == {"number": 1}
    assert report_of(AUDIT, [slot("a", 10.0, wrong)])["wrong_kinds"] == {"": 1}
    assert report["by"] == ["level", "rule", "note"]
    default = replace(AUDIT, strata="")
    assert report_of(default, samples)["by"] == ["level", "subgoals"]


def test_a_file_of_labels_names_steps_and_kinds(tmp_path):
    lines, table = tmp_path / "labels.jsonl", tmp_path / "labels.csv"
    rows = [{"place": 1, "label": "wrong", "step": "2-1", "kind": "link"}, {"episode": "job-7", "label": "right"}]
    lines.write_text("\n".join(map(json.dumps, rows)))
    table.write_text("place,episode,label,step,kind\n1,,wrong,2-1,link\n,job-7,right,,\n")
    labels = read_labels(lines, "first", SLOTS, "ann", locate)
    assert labels == read_labels(table, "first", SLOTS, "ann", locate)
    faults = [(label.value, label.wrong_position, label.wrong_branch, label.wrong_kind) for label in labels]
    assert faults == [("wrong", 3, 0, "link"), ("right", None, None, "")]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('{"place": 1, "label": "right", "kind": "link"}', "row 1, field 'kind': Only the label wrong names"),
        ('{"place": 1, "label": "unsure", "step": "1"}', "row 1, field 'step': Only the label wrong names"),
        ('{"place": 1, "label": "wrong", "kind": "typo"}', "row 1, field 'kind': No kind of fault called 'typo'"),
        ('{"place": 1, "label": "wrong", "step": "9"}', "row 1, field 'step': The episode 11 has no step 9"),
        ('{"place": 1, "label": "wrong", "step": 1}', "row 1, field 'step': '1' is not text"),
        ('{"place": 1, "label": "wrong", "kind": ["link"]}', "row 1, field 'kind'"),
    ],
)
def test_a_wrong_step_or_kind_in_a_file_is_named(tmp_path, row, message):
    file = tmp_path / "labels.jsonl"
    file.write_text(row)
    with pytest.raises(BadRow) as error:
        read_labels(file, "first", SLOTS, "ann", locate)
    assert message in str(error.value)


@pytest.mark.parametrize("write", [write_task, write_record])
def test_steps_and_kinds_go_to_other_programs_and_come_back(tmp_path, write):
    labels = [SlotLabel("ann", "wrong", "so", "2-1", "sub-question"), SlotLabel("bob", "wrong", "", "", "wording")]
    labels.append(SlotLabel("eve", "right", "fine"))
    slot = ExportedSlot("first", 1, "job-0", {"question": "?"}, labels, "", "executed")
    file = tmp_path / "labels.json"
    file.write_text(json.dumps([write(slot)]))
    stored = read_labels(file, "first", SLOTS, "someone", locate)
    faults = [(label.labeller, label.value, label.note, label.wrong_position, label.wrong_kind) for label in stored]
    assert faults == [
        ("ann", "wrong", "so", 3, "sub-question"),
        ("bob", "wrong", "", None, "wording"),
        ("eve", "right", "fine", None, ""),
    ]


def test_two_kinds_of_one_label_are_refused(tmp_path):
    def choose(name: str, *values: str) -> dict:
        return {"from_name": name, "type": "choices", "value": {"choices": list(values)}}

    result = [choose("label", "wrong"), choose("kind", "link", "number")]
    file = tmp_path / "labels.json"
    file.write_text(json.dumps([{"data": {"place": 1}, "annotations": [{"result": result}]}]))
    with pytest.raises(BadRow, match="has 2 choices for 'kind'"):
        read_labels(file, "first", SLOTS, "ann", locate)


def test_strata_are_kept_from_the_precision_and_from_30_labels_on():
    """27 of 30 is 0.9 exactly. The kept strata hold 30 and 10 episodes: 0.75 * 0.9 + 0.25 * 1."""
    strata = {"exact": (30, 27), "below": (30, 26), "few": (29, 29), "all": (40, 40)}
    episodes = dict(enumerate(["exact"] * 30 + ["below"] * 5 + ["few"] * 5 + ["all"] * 10 + ["new"]))
    audited = AuditedStrata({"name": "first"}, 0.9, strata, episodes)
    reasons = [audited.exclusion(number) for number in (0, 30, 35, 40, 50, 99)]
    assert reasons == [
        "",
        "in a stratum with a precision below 0.9 in the audit first",
        "in a stratum with fewer than 30 labels in the audit first",
        "",
        "in a stratum with fewer than 30 labels in the audit first",
        "not in the population of the audit first",
    ]
    described = audited.as_json()
    assert [(row["stratum"], row["episodes"], row["retained"]) for row in described["strata"]] == [
        ("all", 10, True),
        ("below", 5, False),
        ("exact", 30, True),
        ("few", 5, False),
        ("new", 1, False),
    ]
    assert described["precision"] == pytest.approx(0.75 * 0.9 + 0.25)
    assert described["strata"][2]["ci95"] == pytest.approx(list(wilson(27, 30)))
    assert (described["strata"][4]["judged"], described["strata"][4]["precision"]) == (0, None)
    text = describe_audit({"audit": described})
    assert text.startswith("strata of first with a precision of at least 90.0 % and 30 labels or more: 2 of 5 strata, ")
    assert "together 92.5 %" in text


def test_builds_of_earlier_versions_have_no_audit_and_no_rules():
    assert (describe_audit({}), describe_rules({})) == ("", [])
    assert not BuildOptions().as_json().keys() & {"audit", "min_precision"}
    options = BuildOptions(min_precision=0.9, audit="first").as_json()
    assert (options["min_precision"], options["audit"]) == (0.9, "first")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_precision": 0.9}, "need each other"),
        ({"audit": "first"}, "need each other"),
        ({"min_precision": 0.9, "audit": "first", "format": "trl-preference"}, "leave out .* --min-precision"),
    ],
)
def test_options_of_a_precision_that_do_not_fit_are_refused(options, message):
    with pytest.raises(SpecError, match=message):
        BuildOptions(**options)
