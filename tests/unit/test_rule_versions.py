"""A conversion keeps the version of its source's rules."""

from __future__ import annotations

import pytest

from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.benchmarks.registry import open_source
from lumos_queue.conversion.check import MAX_DOUBTS, AnnotationCheck
from lumos_queue.errors import SpecError
from lumos_queue.jobs.convert import Convert
from lumos_queue.records import Annotation, Task
from lumos_queue.scoring.annotation_strata import rule_version_of

REQUEST = Convert("wordmath", "ab" * 32, "dev")


class Changed(Benchmark):
    """A source whose rules have changed twice."""

    name, domain, newest_rules = "changed", "maths", 3

    def gold(self, task: Task) -> Annotation:
        return Annotation((), str(self.rule_version))


def test_a_source_applies_its_newest_rules_unless_a_version_is_named():
    source, task = Changed(), Task("changed", "", "1", "?")
    assert source.gold(task).answer == "3"
    assert [source.at_rules(version).gold(task).answer for version in (3, 2, 1)] == ["3", "2", "1"]
    assert source.gold(task).answer == "3", "the source itself does not change"


@pytest.mark.parametrize("version", [0, 4])
def test_an_unknown_version_is_refused_in_one_line(version):
    with pytest.raises(SpecError, match=f"versions 1 to 3, not {version}: a later release"):
        Changed().at_rules(version)


def test_a_stored_conversion_without_a_version_has_the_first_rules():
    value = REQUEST.as_json()
    assert "rule_version" not in value and rule_version_of(value) == 1
    assert Convert.from_json(value) == REQUEST
    assert Convert.from_json(value).open_source().rule_version == 1


def test_a_stored_conversion_keeps_its_version():
    value = REQUEST.as_json() | {"rule_version": open_source("wordmath").newest_rules + 1}
    conversion = Convert.from_json(value)
    assert conversion.as_json() == value and rule_version_of(value) == conversion.rule_version
    with pytest.raises(SpecError, match="a later release"):
        conversion.open_source()


def test_the_doubts_of_a_verdict_are_bounded():
    check = AnnotationCheck(open_source("wordmath"), Task("wordmath", "", "1", "?"), 1024, len)
    check.note_doubts([f"number: {number}" for number in range(MAX_DOUBTS + 5)])
    assert all(verdict.detail.endswith(f"number: {MAX_DOUBTS - 1}; and 5 more") for verdict in check.verdicts)
    assert {verdict.name for verdict in check.verdicts} == {"unsure"}
