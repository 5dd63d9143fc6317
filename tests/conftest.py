"""Fixtures every suite may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch):
    """No setting of the person who runs the tests reaches them."""
    for name in list(os.environ):
        if name.startswith("LUMOS_"):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real benchmark records that lies beside the checkout; none of it is part of the project."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        message = "needs the benchmark records in ../shared/data"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return folder
