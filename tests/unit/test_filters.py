"""Filters: what is read, what is refused, and that nothing in a value has a meaning of its own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from db.queries.filters import CHOICES, FIELDS, NUMBERS, TIMES, Filter, Term, parse_job_where, parse_where, term
from lumos_queue.errors import SpecError
from lumos_queue.reports.task_choice import is_by_outcome


def test_terms_stand_side_by_side_or_with_and_between_them():
    wanted = (Term("benchmark", "=", "gsm8k"), Term("score", ">=", 0.5), Term("text", "~", "red apples"))
    assert parse_where('benchmark=gsm8k score>=0.5 text~"red apples"') == Filter(wanted)
    assert parse_where("benchmark = gsm8k and score >= .5 AND text ~ 'red apples'  ") == Filter(wanted)
    assert parse_where("  ") == parse_where("") == Filter()


def test_a_value_may_hold_what_else_would_mean_something():
    text = 'it\'s "so" and score=1 \\ ; DROP TABLE episode; -- %_'
    found = parse_where('text~"it\'s \\"so\\" and score=1 \\\\ ; DROP TABLE episode; -- %_" job=and')
    assert found == Filter((Term("text", "~", text), Term("job", "=", "and")))
    assert parse_where("answer~x".replace("answer", "text")) == Filter((Term("text", "~", "x"),))
    assert parse_where("job=a=b").terms[0].value == "a=b"


def test_jobs_are_selected_in_the_same_language():
    wanted = (Term("tag", "=", "maths", "team"), Term("state", "!=", "done"), Term("since", "=", 1795219200.0))
    assert parse_job_where("tag.team=maths state!=done since=2026-11-21") == Filter(wanted)
    assert parse_where('tag.team~""') == Filter((Term("tag", "~", "", "team"),))
    with pytest.raises(SpecError, match="The field 'score' selects episodes, not jobs"):
        parse_job_where("score=1")


def test_a_field_of_the_data_has_its_name_which_may_be_quoted():
    assert parse_where("meta.topic=algebra") == Filter((Term("meta", "=", "algebra", "topic"),))
    assert parse_where("meta.größe.cm>=3") == Filter((Term("meta", ">=", "3", "größe.cm"),))
    wanted = Filter((Term("meta", "!=", "a b", 'the "first" field = \\ $.x'),))
    assert parse_where('meta."the \\"first\\" field = \\\\ $.x"!="a b"') == wanted
    with pytest.raises(SpecError, match="The field 'meta' selects episodes, not jobs"):
        parse_job_where("meta.topic=algebra")


def test_a_metric_has_its_name_and_a_date_is_utc():
    assert parse_where("metric:strict<1") == Filter((Term("metric", "<", 1.0, "strict"),))
    assert parse_where("since=2026-11-21").terms[0].value == 1795219200.0
    assert parse_where("until=2026-11-21T01:00+01:00").terms[0].value == 1795219200.0


@pytest.mark.parametrize(
    ("where", "named"),
    [
        ("colour=red", "No field called 'colour'. Choose one of: action, benchmark"),
        ("text=red", "The field 'text' has no operator '=': expected ~."),
        ("ending<answered", "The field 'ending' has no operator '<': expected = or != or ~."),
        ("score=high", "The value of 'score' is 'high': expected a number."),
        ("score=nan", "expected a number"),
        ("calls>1e999", "expected a number"),
        ("since=yesterday", "The value of 'since' is 'yesterday': expected a date"),
        ("level>=best", "No level called 'best'. Choose one of: executed, format, none, oracle_tool, perturbed."),
        ("ending=answerd", "No ending called 'answerd'"),
        ("metric=1", "Write a metric with its name"),
        ("score:strict=1", "Only the field metric has a name after a colon"),
        ("tag=maths", "Write a tag with its key, as in tag.team=maths."),
        ("score.team=1", "Only the fields tag and meta have a key after a dot. Write it as in tag.team=maths."),
        ("tag:team=1", "Only the field metric has a name after a colon"),
        ('tag."team"=1', "Write a tag's key without quotes, as in tag.team=maths."),
        ("meta=algebra", "Write a field of the data with its name, as in meta.topic=algebra"),
        ('meta.""=1', "Write a field of the data with its name"),
        ("meta.year>old", "The value of 'meta.year' is 'old': expected a number."),
        ("meta.year>=nan", "expected a number"),
        ("state=done", "The field 'state' selects jobs, not episodes."),
        ("score=1 or score=0", "Cannot read the filter at 'or score=0'"),
        ("and score=1", "Cannot read the filter at 'and score=1'"),
        ("score=1 and", "Cannot read the filter at 'and'"),
        ("1=1; DROP TABLE episode", "Cannot read the filter at '1=1; DROP TABLE episode'"),
        ('text~"open', "Cannot read the filter at"),
        ("score", "Cannot read the filter at 'score'"),
        ("score=", "Cannot read the filter at 'score='"),
        ('text~"nul \0"', "cannot be stored"),
        ('text~"\udcff"', "cannot be stored"),
    ],
)
def test_what_cannot_be_read_is_named(where, named):
    with pytest.raises(SpecError) as refused:
        parse_where(where)
    assert named in str(refused.value)


STORABLE = st.text(st.characters(codec="utf-8", exclude_characters="\0"))


@st.composite
def terms(draw):
    field = draw(st.sampled_from(sorted(FIELDS)))
    operator = draw(st.sampled_from(FIELDS[field]))
    if field in NUMBERS:
        value = str(draw(st.floats(allow_nan=False, allow_infinity=False)))
    elif field in TIMES:
        value = draw(st.datetimes()).isoformat()
    elif field in CHOICES and operator != "~":
        value = draw(st.sampled_from(CHOICES[field]))
    elif field == "meta" and operator in ("<", "<=", ">", ">="):
        value = str(draw(st.floats(allow_nan=False, allow_infinity=False)))
    else:
        value = draw(STORABLE)
    name = draw(STORABLE.filter(bool)) if field == "meta" else ""
    return term(field, operator, value, name or {"metric": "strict", "tag": "team.one"}.get(field, ""))


@given(st.lists(terms(), max_size=5))
def test_a_filter_written_down_reads_as_the_same(found):
    wanted = Filter(tuple(found))
    assert parse_where(str(wanted)) == wanted
    assert str(parse_where(str(wanted))) == str(wanted)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(where):
    try:
        parse_where(where)
    except SpecError as error:
        assert str(error)


def test_a_field_of_the_data_chooses_tasks_by_no_outcome():
    assert not is_by_outcome(parse_where("meta.topic=algebra"))
    assert is_by_outcome(parse_where("meta.topic=algebra score=0"))
