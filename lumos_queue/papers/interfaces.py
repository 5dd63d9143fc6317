"""Table 8: the actions of each domain in the papers, and in this project as the code that executes them lists them."""

from __future__ import annotations

from collections.abc import Callable

from lumos_queue.actions.maths.interface import MathsActions
from lumos_queue.actions.session import public_actions
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.papers.figures import TABLE_8
from lumos_queue.papers.table_values import OfferedAction, TableRow


def actions_of(domain: str) -> dict[str, str]:
    """Return the actions of a domain in this project: their names with descriptions of one line."""
    definition = DOMAINS.load(domain)
    if definition.session:
        session = definition.session_class
        descriptions = {name: _first_line(method) for name, method in public_actions(session).items()}
        return descriptions or {"any SQL": _first_line(session.alias)}  # InterCode's actions are not calls
    actions = definition.open_stateless()
    assert isinstance(actions, MathsActions), f"the domain '{domain}' has no session"
    return {name: _first_line(method) for name, method in actions.actions.items() if name}


def _first_line(method: Callable) -> str:
    text = (method.__doc__ or "").strip()
    return text.splitlines()[0].rstrip(".") if text else ""


def interfaces() -> list[TableRow]:
    """Return a row for each action of the papers or of this project.

    The functions of tasks are not actions. Runs of expert models are left out, because another paper describes them.
    """
    rows = []
    domains = {name: DOMAINS.load(name) for name in sorted(DOMAINS) if name not in TABLE_8}
    other_domains = (
        name for name, definition in domains.items() if not definition.functions and not definition.experts
    )
    for domain in (*TABLE_8, *other_domains):
        paper_actions, own_actions = TABLE_8.get(domain, {}), actions_of(domain) if domain in DOMAINS else {}
        for name in dict.fromkeys((*paper_actions, *own_actions)):
            is_offered = name in own_actions
            row = TableRow(
                row=f"{domain}: {name}",
                column="action",
                published=paper_actions.get(name, "–"),
                source="[P]",
                ours=OfferedAction(name, own_actions[name]) if is_offered else None,
                status="offered" if is_offered else "not offered here",
            )
            rows.append(row)
    return rows
