"""The action ParagraphRetrieve: select the five paragraphs of pages that fit a query best, as numbered evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lumos_queue.actions.qa.pages import TextPage
from lumos_queue.actions.ranking.base import Ranker, join_title, top_positions
from lumos_queue.errors import ActionError

EVIDENCES = 5
MAX_EVIDENCE = 3_000  #: characters of one paragraph in the value's text


async def evidence(pages: Sequence[TextPage], query: str, ranker: Ranker) -> dict[str, Any]:
    """Return the value of kind 'evidence': `evidence` lists title and text, best first.

    The value's text has the form of the research code: a line `Reference Table: …` if the first page has a table,
    then lines `Evidence 1: …`. Raises ActionError if the pages have no text.
    """
    passages = list(dict.fromkeys((page.title, text) for page in pages for text in page.paragraphs))
    table = pages[0].table if pages else ""
    if not passages and not table:
        raise ActionError("no_pages", "there is no paragraph to choose from: KnowledgeQuery found no page with text")
    scores = await ranker.scores(query, [join_title(*passage) for passage in passages]) if passages else []
    selection = [passages[position] for position in top_positions(scores, EVIDENCES)]
    lines = [f"Reference Table: {table}"] if table else []
    lines += [f"Evidence {number}: {_show(*passage)}" for number, passage in enumerate(selection, start=1)]
    records = [{"title": title, "text": text} for title, text in selection]
    return {"kind": "evidence", "text": "\n".join(lines), "evidence": records}


def _show(title: str, text: str) -> str:
    text = text[:MAX_EVIDENCE]
    return text if not title or text.startswith(title) else f"{title}: {text}"
