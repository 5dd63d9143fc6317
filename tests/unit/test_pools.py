"""Which worker sessions can run jobs of a pool, in words."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from db.kinds.pools import can_run, describe_gpus, describe_lack


def session(pools: str, gpus: int | None = None, mib: int | None = None) -> SimpleNamespace:
    return SimpleNamespace(pools=pools, gpus=gpus, gpu_mib=mib)


NOT_ASKED, WITHOUT, WITH = session("cpu,llm,gpu"), session("cpu,llm,gpu", 0, 0), session("gpu", 2, 81_559)
OTHER = session("cpu,llm")


def test_a_session_can_run_what_it_serves_and_gpu_jobs_unless_it_is_known_to_have_no_gpu():
    assert [can_run(each, "gpu") for each in (NOT_ASKED, WITHOUT, WITH, OTHER)] == [True, False, True, False]
    assert [can_run(each, "llm") for each in (NOT_ASKED, WITHOUT, WITH, OTHER)] == [True, True, False, True]


@pytest.mark.parametrize(
    ("sessions", "pool", "lack"),
    [
        ([], "gpu", ""),
        ([OTHER, WITHOUT, WITH], "gpu", ""),
        ([WITHOUT, NOT_ASKED], "gpu", ""),
        ([OTHER], "llm", ""),
        ([WITH], "llm", "no live worker serves the pool llm: start `lumos worker --pools llm`"),
        (
            [OTHER],
            "gpu",
            "no live worker serves the pool gpu: start `lumos worker --pools gpu` on a machine with a GPU",
        ),
        ([OTHER, WITHOUT], "gpu", "no live worker has a GPU: start `lumos worker --pools gpu` on a machine with a GPU"),
    ],
)
def test_a_job_that_no_live_session_can_run_says_what_to_start(sessions, pool, lack):
    assert describe_lack(sessions, pool) == lack


def test_gpus_are_told_with_their_memory():
    texts = [describe_gpus(each) for each in (NOT_ASKED, OTHER, WITHOUT, WITH, session("gpu", 1, 24_000))]
    assert texts == ["not asked", "", "none", "2, at least 85.5 GB each", "1, 25.2 GB"]
