"""Pages as HTML: a single file without external resources and without scripts.

The content security policy in the head of a page allows only its style, by the hash, and pictures as data URIs. A
script in a question is escaped, and would not run even without escaping. This module does not escape charts, because
`pages.charts` escapes the texts of their elements.
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
    """Return the page as an HTML document."""
    environment = make_environment("lumos_queue.pages")
    style = environment.get_template("style.css").render().strip()
    return environment.get_template("page.html").render(
        page=page, style=Markup("\n" + style + "\n"), policy=policy_for("\n" + style + "\n")
    )


def policy_for(style: str) -> str:
    """Return the content security policy for a page whose only style element has exactly the text `style`."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"


@cache
def make_environment(*packages: str) -> Environment:
    """Return an environment with the templates of these packages. If several have a template, the first counts.

    The environment escapes values and removes characters that could mislead a reader.
    """
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
    """Return a value without control characters and without marks that change the direction of writing."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return harmless(value.replace("\r\n", "\n"))
    return value
