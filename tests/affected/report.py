"""A choice as text: each test file with its reason."""

from __future__ import annotations

from tests.affected.edges import Edge


def describe_chain(chain: list[Edge]) -> str:
    """Describe a chain from the test file to the changed file: `imports a.py, names b.py by 'key', reads c.html`."""
    if not chain:
        return "changed"
    return ", ".join(f"{edge.reason} {edge.target}{f' by {edge.key!r}' if edge.key else ''}" for edge in chain)


def describe_chains(chains: dict[str, list[Edge]]) -> list[str]:
    return [f"{test}: {describe_chain(chain)}" for test, chain in sorted(chains.items())]


def count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
