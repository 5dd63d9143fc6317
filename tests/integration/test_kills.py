"""Tool agents whose process is killed with SIGKILL go on where they were; all steps and more kills: `make kills`."""

from __future__ import annotations

import pytest

from tests.kills.experts import kill_experts
from tests.kills.many import kill_often
from tests.kills.search import ROW, kill_at, make_recorded_search, prepare
from tests.recorded_search import answer_files

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # a child uses no thread of this process


def test_a_recorded_search_goes_on_from_every_fortieth_step(shared_data, tmp_path):
    search = prepare(*make_recorded_search(dict(answer_files(shared_data))[ROW]), "I3-inst", tmp_path)
    stored = search.expected[ROW]
    assert (len(stored["completion"]), len(stored["execution"])) == (43, 43)
    assert search.steps == 86 + len(stored["tool_call"])
    for step in range(1, search.steps, 40):
        assert kill_at(search, step) == (step, search.steps - step, 0)


def test_a_job_goes_on_after_kills_at_random_instants(tmp_path):
    account = kill_often(tmp_path, many=20, kills=5, seed=0, longest=0.8)
    assert (account.repeated, account.different, account.episodes) == (0, 0, 20)
    assert account.asked >= account.stored and account.worked >= 2


@pytest.mark.long
def test_plans_of_experts_go_on_after_kills_and_run_nothing_that_is_stored(tmp_path):
    account = kill_experts(tmp_path, kills=5, seed=0, longest=1.0)
    assert (account.repeated, account.different, account.orphans, account.episodes) == (0, 0, 0, 30)
    assert account.worked >= 2
