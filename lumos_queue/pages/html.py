"""Pages as HTML: one file that needs nothing else, and in which nothing runs.

The policy in its head forbids everything but the style in it, by its hash, and pictures that are in it as data. So a
question that holds a script shows as text, and would not run if it did not. Charts are the only texts that are not
escaped here: they were, element by element, when they were drawn.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from lumos_queue.pages.blocks import Document, Episodes, Figure, Table, Text
from lumos_queue.util.display import harmless


def render_html(page: Document) -> str:
    """The page as one HTML document."""
    environment = make_environment("lumos_queue.pages")
    style = environment.get_template("style.css").render().strip()
    return environment.get_template("page.html").render(
        page=page, style=Markup("\n" + style + "\n"), policy=policy_for("\n" + style + "\n")
    )


def policy_for(style: str) -> str:
    """The content security policy of a page whose one style element holds this text, to the character."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"


@cache
def make_environment(*packages: str) -> Environment:
    """Templates of these packages, the first that has one; every value is escaped, and has nothing that misleads."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in packages]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_clean,
    )
    environment.filters["svg"] = Markup
    environment.tests |= {
        "a_text": lambda block: isinstance(block, Text),
        "a_table": lambda block: isinstance(block, Table),
        "a_figure": lambda block: isinstance(block, Figure),
        "episodes": lambda block: isinstance(block, Episodes),
    }
    return environment


def _clean(value: Any) -> Any:
    """What a template puts out: no control characters, and nothing that turns the direction of writing."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return harmless(value.replace("\r\n", "\n"))
    return value
