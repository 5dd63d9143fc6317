"""Table 8: each domain's actions, the papers' and ours. Ours are read from the code that executes them."""

from __future__ import annotations

from importlib import import_module
from typing import Any, get_type_hints

from lumos_queue.actions.maths.interface import MathsActions
from lumos_queue.actions.registry import INTERFACES
from lumos_queue.actions.session import ActionSession, offered
from lumos_queue.papers.figures import TABLE_8


def actions_of(domain: str) -> dict[str, str]:
    """The actions that a domain offers here: name to a description in one line."""
    module, name = INTERFACES[domain]
    interface = getattr(import_module(module), name)
    session = get_type_hints(interface.begin)["return"]
    if isinstance(session, type) and issubclass(session, ActionSession):
        named = {name: _first_line(method) for name, method in offered(session).items()}
        return named or {"any SQL": _first_line(session.alias)}  # InterCode's actions are not calls
    assert interface is MathsActions, f"{name} has no session of actions"
    return {name: _first_line(method) for name, method in interface().actions.items() if name}


def _first_line(method: Any) -> str:
    text = (method.__doc__ or "").strip()
    return text.splitlines()[0].rstrip(".") if text else ""


def interfaces() -> list[dict[str, Any]]:
    """A row for each action that the papers or this project offer."""
    rows = []
    for domain in (*TABLE_8, *(name for name in INTERFACES if name not in TABLE_8)):
        theirs, ours = TABLE_8.get(domain, {}), actions_of(domain) if domain in INTERFACES else {}
        for name in dict.fromkeys((*theirs, *ours)):
            row: dict[str, Any] = {
                "row": f"{domain}: {name}",
                "column": "action",
                "published": theirs.get(name, "–"),
                "source": "[P]",
            }
            if name in ours:
                row |= {"ours": {"value": name, "does": ours[name]}, "status": "offered"}
            else:
                row["status"] = "not offered here"
            rows.append(row)
    return rows
