"""The words and formats of figures."""

import pytest

from lumos_queue.util import wording


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5.0, "0 s"),
        (0.4, "0 s"),
        (99.0, "99 s"),
        (100.0, "2 min"),
        (7200.0, "2.0 h"),
        (86_400.0 * 3, "3 d"),
        (86_400.0 * 999, "999 d"),
        (86_400.0 * 1001, "3 y"),
        (1e12, "more than 1,000 y"),
        (float("inf"), "more than 1,000 y"),
    ],
)
def test_an_age_or_an_estimate_has_one_unit(seconds, text):
    assert wording.format_rough_seconds(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.6724, "0.672 s"),
        (7.584, "7.58 s"),
        (43.21, "43.2 s"),
        (200, "3 min 20 s"),
        (7500, "2 h 05 min"),
        (0.9997, "1.00 s"),
        (9.998, "10.0 s"),
        (119.98, "2 min 00 s"),
        (179.7, "3 min 00 s"),
        (7199.9, "2 h 00 min"),
        (10_799, "3 h 00 min"),
        (36_000_000, "10,000 h 00 min"),
        (float("inf"), "inf"),
    ],
)
def test_a_measured_duration_has_about_three_digits(seconds, text):
    assert wording.format_seconds(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0"), (1234, "1,234"), (9999, "9,999"), (12_999, "12k"), (999_999, "999k"), (1_050_000, "1.0M")],
)
def test_a_count_in_the_list_of_jobs_has_at_most_five_characters(count, text):
    assert wording.format_short_count(count) == text


def test_a_count_with_its_noun_has_a_separator():
    assert [wording.plural(count, "row") for count in (0, 1, 1234)] == ["0 rows", "1 row", "1,234 rows"]


@pytest.mark.parametrize(
    ("share", "text"), [(0.0, "0 %"), (0.5, "50 %"), (0.025, "2.5 %"), (0.07, "7 %"), (1.0, "100 %")]
)
def test_a_tick_of_an_axis_has_no_digits_that_are_zero(share, text):
    assert wording.format_tick(share) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.375, "37.5 %"),
        (0.0, "0.0 %"),
        (1.0, "100.0 %"),
        (520.0, "mean 520"),
        (1.5, "mean 1.5"),
        (-0.25, "mean -0.25"),
        (52_000.4, "mean 52,000"),
        (float("inf"), "inf"),
    ],
)
def test_a_mean_that_is_no_share_is_not_in_per_cent(value, text):
    assert wording.format_mean(value) == wording.format_score(value, None) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(600, "600 s"), (600.0, "600 s"), (0.5, "0.5 s"), (1_234_567, "1,234,567 s"), (90.25, "90.25 s")],
)
def test_a_limit_is_written_exactly(seconds, text):
    assert wording.format_limit(seconds) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.9995, "99.95 %"), (0.9, "90.0 %"), (0.07, "7.0 %"), (1.0, "100.0 %"), (0, "0.0 %"), (1e-7, "0.00001 %")],
)
def test_a_threshold_is_written_exactly(share, text):
    assert wording.format_exact_share(share) == text


@pytest.mark.parametrize(
    ("stored", "text"),
    [
        ("2026-11-25T07:48:12+00:00", "2026-11-25 07:48:12 UTC"),
        ("2026-11-25T08:48:12+01:00", "2026-11-25 07:48:12 UTC"),
        ("yesterday", "yesterday"),
    ],
)
def test_a_time_of_a_manifest_has_the_form_of_all_times(stored, text):
    assert wording.format_stored_time(stored) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-1, "0 s"), (12.4, "12 s"), (119.4, "119 s"), (119.6, "2 min 00 s"), (192, "3 min 12 s"), (7500, "2 h 05 min")],
)
def test_the_time_that_something_has_lasted_has_whole_seconds(seconds, text):
    assert wording.format_elapsed(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2.3141, "2.314"),
        (0.019, "0.019"),
        (0.00995, "9.95e-3"),
        (2e-5, "2e-5"),
        (-0.25, "-0.250"),
        (999.9996, "1,000"),
        (12345.6, "12,346"),
        (0.0, "0"),
        (float("inf"), "inf"),
    ],
)
def test_a_figure_of_a_step_has_three_decimals_or_three_digits(value, text):
    assert wording.format_fit_figure(value) == text


def test_a_step_has_the_number_of_steps_and_its_share_if_the_number_is_known():
    assert (wording.format_step(137, 1600), wording.format_step(1370, 0)) == ("step 137 of 1,600 (8.6 %)", "step 1,370")
