"""Jobs with endpoints of plug-ins: those that take a call, and those that take its fields as arguments, as before."""

from __future__ import annotations

import sys

import pytest

from lumos_queue.util.plugins import entry_points_of
from tests.plugin_packages import write_distribution

#: Three endpoints whose replies name what they were asked with. `Plain` and `Derived` are of the old signature.
MODELS = """
import lumos_queue as lq

def describe(sampling, seed, episode, images, constraint, n):
    return f"{sampling.temperature} {seed} {episode} {len(images)} {constraint} {n}"

class Plain:
    admission = None

    def __init__(self, url, settings):
        self.url = url

    async def generate(self, prompt, sampling, seed, episode="", images=(), constraint=None, n=1):
        text = describe(sampling, seed, episode, images, constraint, n)
        return lq.Completion(text, "stop", prompt_tokens=len(prompt), seconds=0.5)

    async def identity(self):
        return {"model": "plain"}

    async def close(self):
        pass

class Derived(lq.SimpleEndpoint):
    async def generate(self, prompt, sampling, seed, episode="", images=(), constraint=None, n=1):
        self.text = describe(sampling, seed, episode, images, constraint, n)
        return await super().generate(prompt, sampling, seed, episode, images, constraint=constraint, n=n)

    async def reply(self, prompt, sampling):
        return self.text

class Calls(lq.SimpleEndpoint):
    async def generate(self, call):
        self.text = describe(call.sampling, call.seed, call.episode, call.images, call.constraint, call.candidates)
        return await super().generate(call)

    async def reply(self, prompt, sampling):
        return self.text

PLAIN, DERIVED, CALLS = (lq.EndpointScheme(open=kind) for kind in (Plain, Derived, Calls))
"""
SCHEMES = ("plain", "derived", "calls")
#: What the endpoints of the old signature were asked with before ModelCall.
DATASET = "f3232e5ecac262df00b173a1d05a14be62e6af6fdd820f28bf844a02fafdfd1d"
FIRST = f"0.7 2053756886 {DATASET} test-0 0 0 None 1"
SECOND = f"0.7 1342284494 {DATASET} test-1 0 0 None 1"


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """An installed plug-in with the schemes of `MODELS`."""
    site = tmp_path / "site"
    site.mkdir()
    points = {scheme: f"own_models:{scheme.upper()}" for scheme in SCHEMES}
    write_distribution(site, "own-models", {"own_models.py": MODELS}, {"endpoints": points})
    monkeypatch.syspath_prepend(site)
    entry_points_of.cache_clear()
    yield
    entry_points_of.cache_clear()
    sys.modules.pop("own_models", None)


def test_plug_ins_of_the_old_signature_and_of_the_new_are_asked_the_same_in_a_real_job(plugin, lumos):
    replies = {}
    for scheme in SCHEMES:
        options = ("--formulation", "direct", "--solver", f"{scheme}:1", "--temperature", "0.7", "--limit", "2")
        report = lumos("evaluate", "wordmath", *options, "--json").json
        assert report["finished"] == 2
        steps = [lumos("show", f"{report['job']}-{item}", "--json").json["steps"][0] for item in range(2)]
        replies[scheme] = [step["what"] for step in steps]
    assert replies["plain"] == replies["derived"] == replies["calls"] == [FIRST, SECOND]
