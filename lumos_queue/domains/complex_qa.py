"""Questions whose answer needs several pages.

The persons and places in the demonstrations are invented, so that no model knows the answers. The demonstrations are
for models that were not trained on LUMOS data.
"""

from __future__ import annotations

from lumos_queue.domains.base import Demonstration, Domain


def _hop(number: int, page: str, question: str, answer: str, earlier: int = 0) -> tuple[str, str, str]:
    """Return a step: the subgoal of a question that a page answers, its line of three actions, and the answer.

    REF in texts is the answer of the subgoal `earlier`. The new subgoal names that subgoal, the actions its variable.
    """
    first, variable = 3 * number - 2, f"R{3 * earlier}"
    filled_question = question.replace("REF", variable)
    context = f"R{first + 1}, {variable}" if earlier else f"R{first + 1}"
    return (
        f"Subgoal {number}: Answer the question: {question.replace('REF', f'the result of Subgoal {earlier}')}",
        f"R{first} = KnowledgeQuery({page.replace('REF', variable)}); "
        f"R{first + 1} = ParagraphRetrieve(R{first}, Query: {filled_question}); "
        f"R{first + 2} = QA([{context}], Question: {filled_question})",
        answer,
    )


_DEMONSTRATIONS = (
    Demonstration(
        "In which town was the architect of the Velmar Opera House born?",
        (
            _hop(1, "Velmar Opera House", "Who designed the Velmar Opera House?", "Ilse Garvane"),
            _hop(2, "REF", "In which town was REF born?", "Brennick", earlier=1),
        ),
        "The Velmar Opera House was designed by Ilse Garvane. Ilse Garvane was born in Brennick.",
        "Brennick",
    ),
    Demonstration(
        "Is the Karsk Tower higher than the Holm Viaduct is long?",
        (
            _hop(1, "Karsk Tower", "How high is the Karsk Tower?", "212 metres"),
            _hop(2, "Holm Viaduct", "How long is the Holm Viaduct?", "340 metres"),
            ("Subgoal 3: Compare the results of Subgoal 1 and Subgoal 2.", "R7 = Calculator(R3 > R6)", "no"),
        ),
        "The Karsk Tower is 212 metres high. The Holm Viaduct is 340 metres long. 212 metres are less than 340 metres.",
        "no",
    ),
    Demonstration(
        "Who was born first, the painter Orla Finck or the painter Bastian Reuel?",
        (
            _hop(1, "Orla Finck", "When was Orla Finck born?", "3 May 1884"),
            _hop(2, "Bastian Reuel", "When was Bastian Reuel born?", "21 June 1879"),
            (
                "Subgoal 3: Answer the question: Who was born first, Orla Finck or Bastian Reuel?",
                "R7 = QA([R3, R6], Question: Who was born first, Orla Finck or Bastian Reuel?)",
                "Bastian Reuel",
            ),
        ),
        "Orla Finck was born on 3 May 1884. Bastian Reuel was born on 21 June 1879, which is earlier.",
        "Bastian Reuel",
    ),
    Demonstration(
        "Could the captain of the schooner Marwen have seen the lighthouse of Port Ostle at work?",
        (
            _hop(1, "Schooner Marwen", "Who was the captain of the schooner Marwen?", "Edda Kolvin"),
            _hop(2, "REF", "When did REF die?", "1931", earlier=1),
            _hop(3, "Port Ostle", "When was the lighthouse of Port Ostle first lit?", "1904"),
            (
                "Subgoal 4: Answer the question: Is the result of Subgoal 3 before the result of Subgoal 2?",
                "R10 = QA([R9, R6], Question: Is R9 before R6?)",
                "yes",
            ),
        ),
        "The captain of the schooner Marwen was Edda Kolvin. Edda Kolvin died in 1931. The lighthouse of Port Ostle "
        "was first lit in 1904, which is before 1931.",
        "yes",
    ),
)

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
    demonstrations=_DEMONSTRATIONS,
)
