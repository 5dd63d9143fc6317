"""The lab for short forms of the cases, on the servers of the test run."""

from __future__ import annotations

import pytest

from tests.faults.lab import Lab


@pytest.fixture
def lab(request, tmp_path) -> Lab:
    return Lab(tmp_path, 1, lambda name: request.getfixturevalue(f"{name}_server"))
