"""The search for figures in another form knows each other form, and none of the forms that the project uses."""

import pytest

from tests.other_forms import OTHER_FORMS, find_other_forms

WRONG = {
    "a percentage without a space": ["48%", "48.0%"],
    "a percentage with other than one digit": ["48 %", "48.00 %", "100 %"],
    "a percentage above 100": ["52000.0 %", "520.0 %", "101.5 %", "1,234.0 %"],
    "a range with its unit twice": ["25.0 % to 75.0 %", "25.0 % - 75.0 %", "25.0 % – 75.0 %"],
    "a percentage in words": ["48 percent", "48 per cent"],
    "an interval in other brackets": ["(32.2, 50.3)", "(32.2 to 50.3)", "(+0.1, +0.2)", "(32.2 % - 50.3 %)"],
    "an interval with its unit": ["[32.2 %, 50.3 %]", "[95 %: 32.2 % to 50.3 %]"],
    "an interval of shares that are not in per cent": ["48.0 % [0.322, 0.503]"],
    "a count without a separator": ["1234", "1234 items", "of 12345", "(1234)", "1500/2000 items"],
    "a number that is not rounded": ["4.123456"],
    "a time in ISO 8601": ["2026-11-25T07:48:12+00:00"],
    "a time without its zone": ["2026-11-25 07:48", "2026-11-25 07:48:12"],
    "a duration in another unit, or without a space": [
        "123.456s",
        "1h",
        "5m",
        "12 minutes",
        "3 days",
        "250 ms",
        "1 hour",
    ],
    "a duration with too many digits": ["123.45 s", "7.584 s", "0.6724 s"],
    "a size in another unit, or without a space": ["12 KiB", "3.4 MiB", "3.4MB", "12 B", "12kB", "12,683 bytes"],
    "an amount of money in another form": ["USD 0.0123", "5 USD", "$5", "$1.2"],
    "a value that is missing": ["None", "nan", "N/A", "n/a", "—", "cap  -  x", "a\n-\nb"],
}
RIGHT = [
    "48.0 % [32.2, 50.3] of 1,234; whole job 25.0 to 75.0 %; incomplete: 25.0 to 75.0 %; 100.0 %; mean 520",
    "score, % [95 %]  41.2 [35.8, 46.8]  tasks for 80 % power  +11.3 [+4.5, +18.1]",
    "0 s, 0.672 s, 7.58 s, 43.2 s, 3 min 20 s, 2 h 05 min, 10,000 h 00 min, 40 s, 12 min, 1.6 h, 12 d, 3 y",
    "812 bytes, 3.4 kB, 23.1 MB, 1.2 GB, 2, at least 85.5 GB each",
    "$12.30, $0.0456, $0.000789, USD per million tokens: 1 in",
    "2026-11-25 07:48:12 UTC, since 07:48:12 UTC, 2025 is a year",
    "item 1,234 of 5, row r1234, http://gpu:8080/v1, seed 1234, version 0.2.0, 9f3a1234, no label: –, none of 3",
]


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in WRONG.items() for text in texts])
def test_another_form_is_a_finding(kind, text):
    assert kind in [finding for finding, _ in find_other_forms(f"It is {text} here")]


@pytest.mark.parametrize("text", RIGHT)
def test_a_form_of_the_project_is_no_finding(text):
    assert find_other_forms(text) == []


def test_each_pattern_has_a_text_that_it_finds():
    assert WRONG.keys() == OTHER_FORMS.keys()
