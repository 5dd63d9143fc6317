"""Which constraints, candidates, beams and samplings a job may ask for together, and what is said of its endpoints."""

from __future__ import annotations

import pytest

from lumos_queue.endpoints.base import Sampling
from lumos_queue.errors import SpecError
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.prompts.agent import Agent
from lumos_queue.submission.search_settings import check_search

SYNTHESIS = FORMULATIONS.load("model-synthesis")
LOCAL, TGI, OPENAI, CHAT = "local:/m", "tgi://a:1", "openai://a:1", "chat://a:1?model=m"


def check(url=LOCAL, sampling=None, formulation=SYNTHESIS, **settings):
    """The remarks about an agent with such a planner."""
    told = []
    samplings = {"planner": sampling or Sampling(stop=())}
    check_search(formulation, Agent({"planner": url}, "experts", samplings=samplings, settings=settings), told.append)
    return told


@pytest.mark.parametrize(
    ("url", "sampling", "settings"),
    [
        (TGI, Sampling(), {}),
        (TGI, Sampling(beams=1), {}),
        (LOCAL, Sampling(), {"candidates": "5"}),
        (LOCAL, Sampling(beams=5, epsilon=0.2), {"candidates": "5", "decoding": "constrained", "goal": "free"}),
        (LOCAL, Sampling(beams=30), {"decoding": "constrained", "search": "apart"}),
        (LOCAL, Sampling(temperature=1.0), {"decoding": "constrained"}),
        (TGI, Sampling(), {"decoding": "constrained"}),
    ],
)
def test_what_goes_together(url, sampling, settings):
    assert check(url, sampling, **settings) == []


@pytest.mark.parametrize(
    ("url", "sampling", "settings", "message"),
    [
        (
            LOCAL,
            Sampling(beams=2),
            {"candidates": "3"},
            "--setting candidates=3 is more than --sampling planner.beams=2: give at most as many candidates as beams.",
        ),
        (
            TGI,
            Sampling(),
            {"candidates": "3"},
            "The planner at tgi://a:1 gives no candidates with log-probabilities (3 candidates)",
        ),
        (CHAT, Sampling(beams=3), {}, "gives no candidates with log-probabilities (--sampling planner.beams=3)"),
        ("scripted:x", Sampling(), {"candidates": "2"}, "gives no candidates with log-probabilities (2 candidates)"),
        (
            LOCAL,
            Sampling(temperature=0.5),
            {"candidates": "2"},
            "--setting candidates=2 needs --sampling planner.temperature=0",
        ),
        (LOCAL, Sampling(temperature=0.5, beams=2), {}, "--sampling planner.beams=2 needs"),
        (LOCAL, Sampling(epsilon=0.2), {}, "--sampling planner.epsilon=0.2 draws from several candidates"),
        (
            LOCAL,
            Sampling(),
            {"goal": "free"},
            "--setting goal=free has no effect without --setting decoding=constrained",
        ),
        (LOCAL, Sampling(), {"search": "apart"}, "--setting search=apart has no effect"),
        (LOCAL, Sampling(), {"candidates": "0"}, "candidates must be a whole number from 1 to 1000"),
        (LOCAL, Sampling(), {"decoding": "beam"}, "decoding must be one of free, constrained"),
    ],
)
def test_what_makes_no_sense_is_one_line(url, sampling, settings, message):
    with pytest.raises(SpecError) as caught:
        check(url, sampling, **settings)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_a_formulation_without_candidates_has_no_epsilon_to_use():
    with pytest.raises(SpecError, match="draws from several candidates"):
        check(sampling=Sampling(epsilon=0.1), formulation=FORMULATIONS.load("iterative"))
    assert check(sampling=Sampling(beams=3), formulation=FORMULATIONS.load("iterative")) == []


@pytest.mark.parametrize(
    ("url", "remark"),
    [
        (LOCAL, ""),
        (TGI, ""),
        (OPENAI, "The planner at openai://a:1 enforces the constraint if it is vLLM"),
        (CHAT, "The planner at chat://a:1?model=m cannot enforce a constraint: its replies are judged afterwards."),
        ("scripted:x", "The planner at scripted:x cannot enforce a constraint"),
    ],
)
def test_what_is_said_of_endpoints_that_are_only_judged(url, remark):
    told = check(url, decoding="constrained")
    assert len(told) == bool(remark) and (not remark or told[0].startswith(remark))
    assert check(url) == []
