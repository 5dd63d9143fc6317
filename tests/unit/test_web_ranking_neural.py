"""The web actions with a neural ranker."""

from __future__ import annotations

import asyncio

import pytest

from lumos_queue.domains.registry import DOMAINS
from lumos_queue.episode import StepContext
from lumos_queue.errors import SpecError
from lumos_queue.notation import read_actions
from tests.tiny_rankers import make_deberta
from tests.unit.test_web_actions import TASK


def test_a_model_of_mindact_s_kind_ranks(tmp_path):
    make_deberta(tmp_path / "model")
    tools = DOMAINS.load("web_agent").prepare_tools({"ranker": f"swapped-cross-encoder:{tmp_path / 'model'}"})
    assert len(tools["ranker_sha256"]) == 64

    async def go():
        actions = DOMAINS.load("web_agent").open_actions(tools)
        try:
            line = read_actions("R1 = CLICK(Env, QUERY: hats)")[0]
            return actions.fitted, await actions.begin(TASK).execute(line, StepContext(0, 0, {}, []))  # type: ignore[attr-defined]
        finally:
            await actions.close()

    fitted, done = asyncio.run(go())
    assert fitted and done.ok and len({score for _, score in done.values[0]["ranked"]}) == 3
    with pytest.raises(SpecError, match="sha256"):
        DOMAINS.load("web_agent").open_actions(tools | {"ranker_sha256": "0" * 64})
