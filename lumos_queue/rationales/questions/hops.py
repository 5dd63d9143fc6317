"""Writes the rationale and the annotation of a question that is answered in hops, each from its own pages.

A hop becomes a subgoal with the actions KnowledgeQuery, ParagraphRetrieve and QA; a hop without pages is a QA over
earlier answers. For `#1` in a hop's question, the subgoal contains `the result of Subgoal 1`, and the actions contain
the variable of that answer, which is also in the list of the last QA: `QA([R5, R3], Question: When was R3 crowned?)`.
So an action refers to the result without its text, and a grounder that cannot see results can write the action. For the
same reason a page is retrieved by its title only if the hop's question or an earlier answer contains the title, and
otherwise by the question: no query names the page that is the answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lumos_queue.rationales.questions.word_matches import content, occurs, words
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.rationales.steps import Steps, reject_variables
from lumos_queue.records import Annotation

REFERENCE = re.compile(r"#([1-9][0-9]?)(?![0-9])")
_IN_BRACKETS = re.compile(r" \([^()]*\)$")
_WITH_ARTICLE = re.compile(rf"(?:\b([Tt])he )?{REFERENCE.pattern}")


@dataclass(frozen=True, slots=True)
class Hop:
    """One intermediate question. `#2` in the question means the answer of the second hop."""

    question: str
    answer: str
    titles: Sequence[str] = ()  #: of the pages that answer it
    paragraphs: Sequence[str] = ()  #: the paragraphs that answer it, `Title-3`
    subgoal: str = ""  #: the subgoal's text; '': `Answer the question: …`

    @property
    def earlier(self) -> list[int]:
        """The numbers of the hops to which this hop refers, without repetitions."""
        return list(dict.fromkeys(int(number) for number in REFERENCE.findall(f"{self.question} {self.subgoal}")))


def rationale(facts: Sequence[str], questions: Sequence[tuple[str, Sequence[str]]], answer: str) -> str:
    """Return a plan in natural language, as in LUMOS annotations: each question with the paragraphs that answer it."""
    steps = []
    for number, (question, paragraphs) in enumerate(questions, start=1):
        paragraph_names = ", ".join(f"'{paragraph}'" for paragraph in paragraphs)
        steps.append(
            f"{number}. {question}"
            + (f" (Can be answered based on paragraph {paragraph_names})" if paragraph_names else "")
        )
    return (
        f"We find relevant facts: {' '.join(facts)} We need to answer these questions: {' '.join(steps)} "
        f"Based on these evidences and decomposed questions, the answer is {answer}."
    )


def annotation(hops: Sequence[Hop], answer: str) -> Annotation:
    """Return the annotation, with one subgoal for each hop. Raises NotConvertible."""
    steps, variables = Steps(), []
    for number, hop in enumerate(hops, start=1):
        if any(earlier >= number for earlier in hop.earlier):
            raise NotConvertible("undefined_step")
        reject_variables(hop.question, *hop.titles, *hop.paragraphs)
        variables.append(steps.add(_subgoal(hop), _actions(hop, steps.last, variables, hops)))
    return steps.finish(answer)


def _subgoal(hop: Hop) -> str:
    question = re.sub(r"^#", "The #", hop.question)
    text = hop.subgoal or f"Answer the question: {question}"
    return _WITH_ARTICLE.sub(lambda match: f"{match[1] or 't'}he result of Subgoal {match[2]}", text)


def _actions(hop: Hop, last: int, variables: Sequence[str], hops: Sequence[Hop]) -> list[tuple[str, str, str]]:
    """Return a hop's actions, which set the variables after R`last`. `variables`: those of earlier hops' answers."""
    question = _WITH_ARTICLE.sub(lambda match: variables[int(match[2]) - 1], hop.question)
    context = [variables[number - 1] for number in hop.earlier]
    if not hop.titles:
        return [("QA", f"[{', '.join(context or variables)}], Question: {question}", hop.answer)]
    pages = _pages(hop, question, variables, hops)
    return [
        ("KnowledgeQuery", pages, ", ".join(f"WikipediaPage({title})" for title in hop.titles)),
        ("ParagraphRetrieve", f"R{last + 1}, Query: {question}", ", ".join(f"Paragraph({p})" for p in hop.paragraphs)),
        ("QA", f"[{', '.join([f'R{last + 2}', *context])}], Question: {question}", hop.answer),
    ]


def _pages(hop: Hop, question: str, variables: Sequence[str], hops: Sequence[Hop]) -> str:
    """Return the query for the pages: their names if the question or earlier answers contain all, else the question."""
    variable_of = {hops[number - 1].answer.casefold(): variables[number - 1] for number in hop.earlier}
    names: dict[str, None] = {}
    for title in hop.titles:
        name = strip_brackets(title)
        reference = (
            variable_of.get(title.casefold())
            or variable_of.get(name.casefold())
            or (name if _says(hop.question, name) else "")
        )
        if not reference:
            return question
        names[reference] = None
    return ", ".join(names)


def _says(question: str, name: str) -> bool:
    """Return whether a question contains all words of a name."""
    question_words = set(words(question))
    return occurs(name, question) or (bool(content(name)) and question_words.issuperset(content(name)))


def strip_brackets(title: str) -> str:
    """Return the title without a note in brackets at its end: `Acme (firm)` becomes `Acme`."""
    return _IN_BRACKETS.sub("", title)
