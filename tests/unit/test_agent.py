"""What an agent is stored as: jobs made before a field was there keep their digests and go on as they began."""

from __future__ import annotations

import json
from dataclasses import replace

from lumos_queue.endpoints.base import Sampling
from lumos_queue.limits import Limits
from lumos_queue.prompts.agent import Agent
from lumos_queue.settings import read_settings
from lumos_queue.submission.agents import make_agent

#: As the code before `bos` stored them.
STORED = {
    framing: {
        "roles": {"planner": "tgi://h:1", "grounder": "tgi://h:1"},
        "domain": "maths",
        "framing": framing,
        "sampling": {"temperature": 0.0, "top_p": 1.0, "max_tokens": 512, "stop": ["\n"]},
        "max_subgoals": 8,
        "tools": {},
        "shots": 0,
        "answer_by": "last",
        "weights": {},
    }
    for framing in ("train", "eval")
}


def test_agents_stored_before_are_sent_with_bos_and_are_written_as_they_were():
    for framing, stored in STORED.items():
        agent = Agent.from_json(stored)
        assert (agent.framing, agent.sampling.bos) == (framing, True)
        assert json.loads(json.dumps(agent.as_json()["sampling"])) == stored["sampling"]


def test_a_new_agent_leaves_bos_out_where_its_framing_does(monkeypatch, tmp_path):
    monkeypatch.setenv("LUMOS_BROKER_URL", "redis://127.0.0.1:9/0")  # nobody is asked who they are
    roles = {"planner": "tgi://h:1", "grounder": "tgi://h:1"}
    made = {name: make_agent(roles, "maths", Sampling(), 8, name, read_settings(), print) for name in ("train", "eval")}
    assert json.loads(json.dumps(made["train"].as_json()["sampling"])) == STORED["train"]["sampling"]
    assert made["eval"].as_json()["sampling"]["bos"] is False
    with_bos = replace(made["eval"], sampling=Sampling())
    assert with_bos.digest != made["eval"].digest
    assert Agent.from_json(json.loads(json.dumps(made["eval"].as_json()))) == made["eval"]


def test_limits_settings_and_samplings_of_roles_are_stored_where_they_were_asked_for_and_only_there():
    plain = Agent.from_json(STORED["train"])
    assert not {"limits", "settings", "samplings"} & plain.as_json().keys()
    assert (plain.limits, plain.settings, plain.samplings) == (Limits(), {}, {})
    parts = {
        "limits": Limits(calls=3),
        "settings": {"children": "2"},
        "samplings": {"planner": Sampling(temperature=1.0, bos=False)},
    }
    for name, value in parts.items():
        agent = replace(plain, **{name: value})
        stored = json.loads(json.dumps(agent.as_json()))
        assert stored.keys() - plain.as_json().keys() == {name}
        assert Agent.from_json(stored) == agent
        assert agent.digest != plain.digest
