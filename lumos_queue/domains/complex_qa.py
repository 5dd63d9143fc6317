"""Questions whose answer needs several pages."""

from __future__ import annotations

from lumos_queue.domains.base import Domain

DOMAIN = Domain(
    name="complex_qa",
    interface="lumos_queue.actions.qa.interface:QaActions",
    session="lumos_queue.actions.qa.interface:QaSession",
    action_names=("KnowledgeQuery", "ParagraphRetrieve", "QA", "Calculator", "Code"),
    concludes_by_qa=True,
    shows_earlier=True,
    # spec/lumos.md 1.4, verbatim: the Calculator is listed twice
    published_actions=(
        "The available action list is 'KnowledgeQuery', 'ParagraphRetrieve', 'QA', 'Calculator', and 'Code'.\n"
        "Calculator(formula): Calculate the input formula; "
        "KnowledgeQuery(query): Capture the relevant webpages according to the query; "
        "ParagraphRetrieve(context, query): Given a query, retrieve the most relevant paragraphs from the given "
        "context; "
        "QA(context, query): Given context, answer the given query; "
        "Calculator(formula): Calculate the input formula; "
        "Code(pseudo_code): Generate a Python function that corresponds to the pseudo code.\n\n"
    ),
    # In the original's CoT data a rationale is its facts alone, without the questions after them.
    cot_cut="We need to answer these questions:",
    cot_ending="Based on these evidences and decomposed questions, the answer is {answer}.",
)
