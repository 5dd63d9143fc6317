"""A short form of `python -m tests.faults.killing`: workers die at random instants, the job does not notice."""

from __future__ import annotations

import pytest

from tests.faults.killing import kill_and_count


def check(result: dict, calls: int | None = None) -> None:
    assert result["state"] == "done"
    assert result["items"] == {"done": result["episodes"]}
    assert result["right"] == result["episodes"]
    assert result["broken_invariants"] == {}
    assert result["calls_recorded"] == result["calls_needed"], "a recorded model call was repeated"
    assert 0 <= result["wasted"] <= result["bound"]


@pytest.mark.parametrize("formulation", ["iterative", "one-pass"])
def test_an_embedded_job_survives_its_killed_processes(tmp_path, formulation):
    url = f"sqlite:///{tmp_path / 'lumos.db'}"
    check(kill_and_count(url, kills=2, episodes=120, formulation=formulation, latency=0.3, seed=1))


def test_a_deployed_job_survives_its_killed_process_groups(postgres_url, redis_url):
    check(
        kill_and_count(
            postgres_url, broker_url=redis_url, kills=2, episodes=150, formulation="iterative", latency=0.3, seed=2
        )
    )
