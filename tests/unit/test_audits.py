"""Samples and reports of audits, with numbers worked out by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from db.review.audits import AuditSlot, StoredAudit
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.reports.audit import make_audit_report, opinion
from lumos_queue.reports.json_values import as_json
from lumos_queue.review.label_files import read_labels
from lumos_queue.scoring.sampling import allocate, sample_strata, stratum_of, stratum_of_run
from lumos_queue.scoring.statistics import wilson

AUDIT = StoredAudit(
    name="first",
    query="level>=format",
    seed=0,
    population=100,
    created_at=0.0,
    kind="annotations",
    twice=0.0,
    strata="",
)


def report_of(*arguments) -> dict:
    """Return a report as JSON."""
    return as_json(make_audit_report(*arguments))


@pytest.mark.parametrize(
    ("sizes", "size", "expected"),
    [
        ({"a": 50, "b": 30, "c": 20}, 10, {"a": 5, "b": 3, "c": 2}),
        ({"a": 990, "b": 9, "c": 1}, 10, {"a": 8, "b": 1, "c": 1}),  # exact 9.9, 0.09, 0.01
        ({"a": 5, "b": 5, "c": 5}, 10, {"a": 4, "b": 3, "c": 3}),  # 3.33 each: the first by name gets the remainder
        ({"a": 3, "b": 1}, 10, {"a": 3, "b": 1}),
        ({"a": 47, "b": 33, "c": 20}, 7, {"a": 3, "b": 2, "c": 2}),  # 3.29, 2.31, 1.4: the remainder of c is largest
        ({"a": 10, "empty": 0}, 3, {"a": 3}),
    ],
)
def test_a_sample_is_proportional_with_at_least_one_of_each_stratum(sizes, size, expected):
    assert allocate(sizes, size) == expected


def test_allocations_always_add_up():
    for size in range(6, 200, 7):
        for step in range(1, 60, 4):
            sizes = {str(number): 1 + (number * step) ** 2 % 97 for number in range(6)}
            drawn = allocate(sizes, size)
            assert sum(drawn.values()) == min(size, sum(sizes.values()))
            assert all(1 <= drawn[name] <= sizes[name] for name in sizes)


def test_more_strata_than_places_are_refused():
    with pytest.raises(SpecError, match="too small for one member of each of the 3 strata: give --size 3"):
        allocate({"a": 5, "b": 5, "c": 5}, 2)


def test_strata_are_benchmark_level_and_number_of_subgoals():
    assert [stratum_of("gsm8k", "executed", count) for count in (0, 2, 3, 5)] == [
        "gsm8k · executed · 1-2 subgoals",
        "gsm8k · executed · 1-2 subgoals",
        "gsm8k · executed · 3-4 subgoals",
        "gsm8k · executed · 5+ subgoals",
    ]


def test_a_draw_is_the_same_for_the_same_seed_and_its_weights_add_up_to_the_population():
    strata = {"a": list(range(0, 900)), "b": list(range(900, 1000))}
    drawn = sample_strata(strata, 50, seed=3)
    assert drawn == sample_strata({name: members[::-1] for name, members in strata.items()}, 50, seed=3)
    assert {one.episode for one in drawn} != {one.episode for one in sample_strata(strata, 50, seed=4)}
    assert [one.number for one in drawn] == list(range(1, 51))
    assert len({one.episode for one in drawn}) == 50
    assert all((one.stratum == "b") == (one.episode >= 900) for one in drawn)
    assert sum(one.weight for one in drawn) == pytest.approx(1000)
    places = [one.number for one in drawn if one.stratum == "b"]
    assert len(places) == 5
    assert places[-1] - places[0] > 10  # mixed, not one stratum after the other


def test_every_member_is_drawn_about_as_often_as_any_other():
    times = [0] * 40
    for seed in range(2000):
        for one in sample_strata({"a": list(range(40))}, 10, seed):
            times[one.episode] += 1
    assert 400 < min(times) <= max(times) < 600  # 500 each; five standard deviations are 97


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ({}, "unlabelled"),
        ({"a": "unsure"}, "unsure"),
        ({"a": "right", "b": "unsure"}, "right"),
        ({"a": "wrong", "b": "wrong"}, "wrong"),
        ({"a": "right", "b": "wrong"}, "disputed"),
    ],
)
def test_what_labellers_say_together(labels, said):
    assert opinion(labels) == said


def sampled(*labels: dict[str, str], stratum: str = "s", weight: float = 2.0) -> list[AuditSlot]:
    return [AuditSlot(0, 0, "", stratum, weight, one) for one in labels]


def test_a_proportional_audit_reports_the_plain_share_and_counts_the_rest():
    """Of 10 places 6 are right, 1 wrong, 1 unsure, 1 disputed and 1 unlabelled."""
    right, wrong = {"ann": "right"}, {"ann": "wrong"}
    labels = [right] * 6 + [wrong, {"ann": "unsure"}, {"ann": "right", "bob": "wrong"}, {}]
    report = report_of(AUDIT, sampled(*labels, weight=10.0))
    assert [report[name] for name in ("right", "wrong", "unsure", "disputed", "unlabelled")] == [6, 1, 1, 1, 1]
    assert report["precision"] == {
        "share": pytest.approx(6 / 7),
        "ci95": pytest.approx(list(wilson(6, 7))),
        "judged": 7,
    }
    assert report["if_unsure_wrong"]["share"] == pytest.approx(6 / 9)
    assert report["strata"] == [
        {
            "stratum": "s",
            "population": 100,
            "drawn": 10,
            "right": 6,
            "wrong": 1,
            "unsure": 1,
            "disputed": 1,
            "unlabelled": 1,
            "precision": report["precision"],
        }
    ]
    assert (report["removed"], report["covered"]) == (0, 1)


def test_strata_count_by_what_they_stand_for():
    """90 of the population are right in 3 of 4 places, 10 in 0 of 2: 0.9 * 0.75 + 0.1 * 0 = 0.675."""
    large = sampled(*[{"ann": "right"}] * 3, {"ann": "wrong"}, stratum="large", weight=22.5)
    small = sampled({"ann": "wrong"}, {"ann": "wrong"}, stratum="small", weight=5.0)
    report = report_of(AUDIT, large + small)
    assert report["precision"]["share"] == pytest.approx(0.675)
    low, high = report["precision"]["ci95"]
    assert 0 < low < 0.675 < high < 1


def test_a_stratum_without_a_judgement_is_left_out_and_said():
    report = report_of(
        AUDIT,
        sampled({"ann": "right"}, stratum="large", weight=75.0) + sampled({}, stratum="small", weight=25.0),
    )
    assert (report["precision"]["share"], report["covered"]) == (1, 0.75)
    assert report_of(AUDIT, sampled({}, {}))["precision"] is None
    gone = report_of(AUDIT, [])
    assert (gone["removed"], gone["gone"]) == (100, 1)


@pytest.mark.parametrize(
    ("places", "gone"),
    [((1, 2, 3, 4), 0), ((2, 4), 2), ((1, 2, 3), 1), ((1,), 1), ((), 1)],  # the last ones leave no gap: at least one
)
def test_places_that_are_gone_are_counted_as_far_as_one_can_tell(places, gone):
    samples = [AuditSlot(place, place, "", "s", 25.0, {}) for place in places]
    report = report_of(AUDIT, samples)
    assert (report["gone"], report["removed"]) == (gone, 100 - 25 * len(places))


def test_one_labeller_can_be_reported_alone():
    samples = sampled({"ann": "right", "bob": "wrong"}, {"bob": "right"})
    assert report_of(AUDIT, samples)["disputed"] == 1
    alone = report_of(AUDIT, samples, "bob")
    assert (alone["right"], alone["wrong"], alone["disputed"]) == (1, 1, 0)


def test_agreement_is_over_the_items_that_both_labelled():
    """Both labelled 4 items and agree on 3; by chance 3/4 * 1/2 + 1/4 * 1/2 = 1/2, so kappa is 1/4 / 1/2."""
    pairs = [("right", "right"), ("right", "right"), ("right", "wrong"), ("wrong", "wrong")]
    samples = sampled(*({"ann": a, "bob": b} for a, b in pairs), {"ann": "right"}, {"bob": "unsure"}, {"eve": "right"})
    first, second, third = report_of(AUDIT, samples)["agreement"]
    interval = first.pop("kappa_ci95")
    assert first == {
        "labellers": ["ann", "bob"],
        "items": 4,
        "agreed": 3,
        "share": 0.75,
        "kappa": 0.5,
        "undefined": None,
    }
    assert interval[0] < 0.5 < interval[1]
    assert second["labellers"] == ["ann", "eve"]
    assert (second["kappa"], second["undefined"]) == (None, "no item was labelled by both")
    assert third["items"] == 0
    same = report_of(AUDIT, sampled(*[{"ann": "right", "bob": "right"}] * 3))["agreement"][0]
    assert (same["share"], same["kappa"]) == (1, None)
    assert "both said 'right' of every item" in same["undefined"]


def locate(episode: int, text: str) -> tuple[int, int]:
    """Of an episode with the steps 1, 1-1 and 2 at the positions 0, 1 and 2."""
    positions = {"1": 0, "1-1": 1, "2": 2}
    if text not in positions:
        raise SpecError(f"The episode {episode} has no step {text}.")
    return positions[text], 0


PLACES = [AuditSlot(1, 11, "job-0", "s", 1.0, {}), AuditSlot(2, 22, "job-7", "s", 1.0, {})]


def test_labels_come_from_json_lines_and_from_csv(tmp_path):
    lines = tmp_path / "labels.jsonl"
    rows = [{"place": 1, "label": "right"}, {"episode": "job-7", "label": "wrong", "note": "é, so", "as": "bob"}]
    lines.write_text("\ufeff" + "\n\n".join(map(json.dumps, rows)) + "\n")
    table = tmp_path / "labels.csv"
    table.write_text('place,episode,label,note,as\n1,,right,,\n,job-7,wrong,"é, so",bob\n')
    found = read_labels(lines, "first", PLACES, "ann", locate)
    assert found == read_labels(table, "first", PLACES, "ann", locate)
    assert [(one.episode, one.value, one.labeller, one.note) for one in found] == [
        (11, "right", "ann", ""),
        (22, "wrong", "bob", "é, so"),
    ]


@pytest.mark.parametrize(
    ("second", "told"),
    [
        ('{"place": 3, "label": "right"}', "row 2, field 'place': '3': the audit's places are 1 to 2"),
        ('{"place": true, "label": "right"}', "row 2, field 'place': 'True'"),
        ('{"place": 1.0, "label": "right"}', "row 2, field 'place'"),
        ('{"episode": "other-1", "label": "right"}', "row 2, field 'episode': 'other-1' is not in the audit 'first'"),
        ('{"episode": 7, "label": "right"}', "row 2, field 'episode': '7' is not text"),
        ('{"place": 1, "label": "maybe"}', "row 2, field 'label': 'maybe': expected right, wrong, unsure"),
        ('{"place": 1}', "row 2, field 'label'"),
        ('{"place": 1, "label": ["right"]}', "row 2, field 'label'"),
        ('{"label": "right"}', "row 2, field 'place': give either a place or an episode"),
        ('{"place": 1, "label": "right", "as": " "}', "row 2, field 'as'"),
        ('{"place": 1, "label": "right", "remark": ""}', "row 2, field 'remark': unknown field"),
        ("[1]", "row 2: is not a JSON object"),
        ("{", "row 2: is not JSON ("),
        ("[" * 100_000, "row 2: is not JSON ("),
    ],
)
def test_a_bad_row_of_labels_is_named(tmp_path, second, told):
    file = tmp_path / "labels.jsonl"
    file.write_text(f'{{"place": 1, "label": "right"}}\n{second}\n')
    with pytest.raises(BadRow) as error:
        read_labels(file, "first", PLACES, "ann", locate)
    assert told in str(error.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("place,label,remark\n", "has a column 'remark'"),
        ("place,label\n1,right,more\n", "row 1: more cells"),
        ('place,label\n1,"right\n', "is not CSV"),
        ("place,label\n1\n", "row 1, field 'label'"),
    ],
)
def test_a_bad_table_of_labels_is_named(tmp_path, text, told):
    file = tmp_path / "labels.csv"
    file.write_text(text)
    with pytest.raises(SpecError) as error:
        read_labels(file, "first", PLACES, "ann", locate)
    assert told in str(error.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(SpecError, match="Cannot read"):
        read_labels(tmp_path / "none.jsonl", "first", PLACES, "ann", locate)
    (tmp_path / "latin.jsonl").write_bytes(b'{"note": "\xe9"}')
    with pytest.raises(SpecError, match="is not UTF-8 at byte 10"):
        read_labels(tmp_path / "latin.jsonl", "first", PLACES, "ann", locate)


def test_a_share_of_the_places_is_drawn_to_be_labelled_twice_by_the_seed():
    strata = {"a": range(30), "b": range(30, 50)}
    drawn = sample_strata(strata, 25, 3, twice=0.2)
    assert [one.labels_wanted for one in drawn].count(2) == 5
    assert drawn == sample_strata(strata, 25, 3, twice=0.2)
    assert [(one.number, one.episode) for one in drawn] == [
        (one.number, one.episode) for one in sample_strata(strata, 25, 3)
    ]
    assert {one.labels_wanted for one in sample_strata(strata, 25, 3)} == {1}
    assert [one.labels_wanted for one in sample_strata(strata, 25, 3, twice=0.001)].count(2) == 1
    other = sample_strata(strata, 50, 4, twice=0.2), sample_strata(strata, 50, 3, twice=0.2)
    assert len({frozenset(one.episode for one in drawn if one.labels_wanted == 2) for drawn in other}) == 2
    for twice in (-0.1, 1.1, float("nan")):
        with pytest.raises(SpecError, match="share of items that are labelled twice"):
            sample_strata(strata, 25, 3, twice=twice)


@pytest.mark.parametrize(
    ("score", "subgoals", "name"),
    [
        (1.0, 2, "gsm8k · right · 1-2 subgoals"),
        (0.0, 3, "gsm8k · wrong · 3-4 subgoals"),
        (0.99, 5, "gsm8k · wrong · 5+ subgoals"),
        (None, 0, "gsm8k · no score · no subgoals"),
    ],
)
def test_strata_of_runs(score, subgoals, name):
    assert stratum_of_run("gsm8k", score, subgoals) == name


def test_an_audit_of_runs_reports_how_far_the_metric_agrees_with_people():
    """In the large stratum it agrees on 3 of 4, in the small one on 0 of 1: 0.9 * 0.75 = 0.675. It says right of 3."""
    runs = replace(AUDIT, query="", kind="runs")

    def run(label: str, score: float | None, stratum: str = "large", weight: float = 18.0) -> AuditSlot:
        return AuditSlot(0, 0, "", stratum, weight, {"ann": label} if label else {}, score)

    samples = [run("right", 1.0), run("right", 1.0), run("wrong", 0.0), run("right", 0.5), run("unsure", 1.0)]
    samples += [run("wrong", 1.0, "small", 5.0), run("right", None, "small", 5.0)]
    report = report_of(runs, samples)
    assert "precision" not in report
    assert report["share_right"]["share"] == pytest.approx(0.9 * 0.75 + 0.1 * 0.5)
    metric = report["metric"]
    assert (metric["items"], metric["agreed"], metric["share"]) == (5, 3, pytest.approx(0.675))
    assert (metric["right_for_people_only"], metric["right_for_metric_only"]) == (1, 1)
    assert metric["kappa"] == pytest.approx((3 / 5 - 13 / 25) / (1 - 13 / 25))
    assert report_of(runs, [run("", 1.0), run("right", None)])["metric"] is None


def test_a_list_in_one_file_is_of_another_program_and_lines_are_as_before(tmp_path):
    file = tmp_path / "labels.json"
    file.write_text(json.dumps([{"data": {"place": 1}, "annotations": []}]))
    assert read_labels(file, "first", PLACES, "ann", locate) == []
    file.write_text('[{"place": 1, "label": "right"}]')
    with pytest.raises(BadRow, match="row 1: is neither a task of Label Studio"):
        read_labels(file, "first", PLACES, "ann", locate)
    file.write_text("[1]\n[2]\n")
    with pytest.raises(BadRow, match="row 1: is not a JSON object"):
        read_labels(file, "first", PLACES, "ann", locate)
