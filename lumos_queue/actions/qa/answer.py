"""The action QA: a model answers a question from the context, else from its own knowledge, else from a search.

The prompts are LUMOS's, word for word (spec/lumos.md 5.2), because answers depend on them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from lumos_queue.actions.qa.pages import TextPage, page_of
from lumos_queue.actions.qa.retrieve import evidence
from lumos_queue.actions.ranking.base import Ranker
from lumos_queue.episode import StepContext
from lumos_queue.errors import ActionError
from lumos_queue.records import Role

WITH_CONTEXT = (
    "Please answer the following question according to the context. Please answer with one brief entity, beginning "
    "with 'Answer: '. If the answer can't be found in the context, answer 'No answer'. No more details and "
    "explanations.\n\nQuestion: {question}\nContext: {context}\n"
)
CLOSED_BOOK = (
    "Please answer the following question. Please answer with one brief entity, beginning with 'Answer: '. If the "
    "answer can't be answered, output 'No answer'. No more details and explanations.\n\nQuestion: {question}\n"
)
FORCED_YES_NO = (
    "Please answer the following question. Please answer with one brief entity, beginning with 'Answer: '.\n\n"
    "Question: {question}\n"
)
YES_NO = "Must answer yes/no."  #: the end of a question that must be answered with yes or no
NO_ANSWER = "No answer"
MAX_CONTEXT = 20_000  #: characters
MAX_ADDRESS = 2_000  #: characters of a hit's address; splitting takes quadratic time outside ASCII
MAX_ANSWER = 300  #: characters; the model was asked for one brief entity
HITS = 3  #: of a search

#: Between the line's beginning and the label there may be any signs, line breaks included. The search begins at the
#: word before them, so that they are read once.
_ANSWER = re.compile(r"(?:\A|\w[^\w\n]*+\n)\W*+Answer:[ \t]*+(\S.*)", re.IGNORECASE)
_NO_ANSWER = re.compile(r"\W*no answer\b", re.IGNORECASE)


def read_answer(reply: str) -> str:
    """Return the text after the first `Answer: ` at the start of a line, else the first line; '' without an answer."""
    match = _ANSWER.search(reply)
    text = match[1] if match else next(iter(reply.strip().splitlines()), "")
    text = text.strip()
    return "" if _NO_ANSWER.match(text) or not text.strip(" .") else text[:MAX_ANSWER].rstrip()


async def answer_question(
    facts: str, question: str, context: StepContext, ranker: Ranker, search: bool, always_context: bool = False
) -> dict[str, Any]:
    """Return the value of a QA: kind 'answer' with `question`, `answer` and `source` (context, model, search, none).

    `search`: whether to search Wikipedia, live or recorded, if the model has no answer. If the search has no answer
    either, the value is `No answer`, so that the episode continues. `always_context`: ask also with empty `facts`.
    """
    has_context = bool(facts) or always_context
    prompts = [("context", WITH_CONTEXT.format(question=question, context=facts[:MAX_CONTEXT]))] if has_context else []
    is_yes_no = question.endswith(YES_NO)
    prompts.append(("model", (FORCED_YES_NO if is_yes_no else CLOSED_BOOK).format(question=question)))
    for source, prompt in prompts:
        if answer := read_answer((await context.ask(Role.QA, prompt)).text):
            return _value(question, answer, source)
    if search and (answer := await _answer_from_search(question, context, ranker)):
        return _value(question, answer, "search")
    return _value(question, NO_ANSWER, "none")


async def live_pages(query: str, context: StepContext) -> list[TextPage]:
    """Return the pages that the tool `wikipedia` finds. Raises ActionError if its call fails."""
    execution = await context.call("wikipedia", query=query)
    if not execution.ok:
        raise ActionError(execution.status, execution.message)
    return [page_of(page) for page in execution.values[0].get("pages") or ()]


async def _answer_from_search(question: str, context: StepContext, ranker: Ranker) -> str:
    """Return an answer from the first HITS pages that a search for the question finds; '' if no page has an answer."""
    query = question.removesuffix(YES_NO).strip()
    execution = await context.call("search", query=f"{query} Wikipedia")
    hits: Sequence[Any] = execution.values[0].get("hits") or () if execution.ok else ()
    for hit in [hit for hit in hits if _on_wikipedia(hit)][:HITS]:
        try:
            pages = await live_pages(hit["url"], context)
            facts = (await evidence(pages, query, ranker))["text"]
        except ActionError:
            continue  # a page that no longer exists: the next one may have the answer
        prompt = WITH_CONTEXT.format(question=question, context=facts[:MAX_CONTEXT])
        if answer := read_answer((await context.ask(Role.QA, prompt)).text):
            return answer
    return ""


def _on_wikipedia(hit: object) -> bool:
    url = hit.get("url") if isinstance(hit, dict) else None
    if not isinstance(url, str) or len(url) > MAX_ADDRESS:
        return False
    try:
        address = urlsplit(url)
    except ValueError:
        return False
    return address.hostname == "en.wikipedia.org" and address.path.startswith("/wiki/")


def _value(question: str, answer: str, source: str) -> dict[str, Any]:
    return {"kind": "answer", "text": answer, "question": question, "answer": answer, "source": source}
