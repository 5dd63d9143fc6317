"""A command that waits for a job in its own process returns when the work is over, not when it would look again."""

from __future__ import annotations

import json
import time

from lumos_queue.cli import live
from lumos_queue.cli.main import main


def test_the_end_of_the_work_wakes_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path))
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps([{"contains": "", "reply": "Subgoal 1: Add.", "delay": 0.2}]))
    update, seconds = live.Progress._update, 300.0

    def look_seldom(self) -> None:
        update(self)
        self.pause = seconds

    monkeypatch.setattr(live.Progress, "_update", look_seldom)
    began = time.monotonic()
    model = f"scripted:{rules}"
    code = main(
        [
            "evaluate",
            "wordmath",
            "--limit",
            "4",
            "--formulation",
            "one-pass",
            "--planner",
            model,
            "--grounder",
            model,
            "--json",
        ]
    )
    assert time.monotonic() - began < seconds, "it has waited for its next look"
    assert code == 0 and json.loads(capsys.readouterr().out)["state"] == "done"
