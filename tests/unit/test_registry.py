"""The one registry: names without imports, objects on demand, one clear line for an unknown name."""

from __future__ import annotations

import sys

import pytest

from lumos_queue.errors import SpecError
from lumos_queue.util.registry import Registry


@pytest.fixture
def registry(tmp_path, monkeypatch):
    (tmp_path / "loaded_on_demand.py").write_text("thing = [1, 2]\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "loaded_on_demand", raising=False)
    return Registry("widget", {"small": "loaded_on_demand:thing", "broken": "no_such_module_here:thing"})


def test_names_are_known_without_an_import(registry):
    assert registry.names == ("small", "broken") and list(registry) == ["small", "broken"]
    assert "small" in registry and "large" not in registry
    assert "loaded_on_demand" not in sys.modules


def test_an_object_is_imported_when_it_is_asked_for(registry):
    assert registry.load("small") == [1, 2]
    assert "loaded_on_demand" in sys.modules
    assert registry.load("small") is registry.load("small")


def test_an_unknown_name_lists_the_names(registry):
    with pytest.raises(
        SpecError, match=r"No widget called 'smal'\. Did you mean 'small'\? Choose one of: broken, small\."
    ):
        registry.load("smal")
