"""The complex QA actions: KnowledgeQuery, ParagraphRetrieve, QA, Calculator and Code (spec/lumos.md 5.2)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from lumos_queue.actions.code.interface import CodeRunner
from lumos_queue.actions.maths.interface import MathsActions
from lumos_queue.actions.options import check_option_names
from lumos_queue.actions.qa.answer import NO_ANSWER, WITH_CONTEXT, YES_NO, answer_question, live_pages, read_answer
from lumos_queue.actions.qa.arguments import (
    context_and_question,
    full_text,
    inline_variables,
    pages_in,
    short_text,
    value_of,
)
from lumos_queue.actions.qa.comparison import Unclear, calculate, is_question
from lumos_queue.actions.qa.corpus import record_page
from lumos_queue.actions.qa.index import Index
from lumos_queue.actions.qa.library import Library, prepare_corpus
from lumos_queue.actions.qa.original import (
    LUMOS,
    OPTION,
    OWN,
    PROTOCOLS,
    is_answer,
    list_operands,
    withhold_no_answers,
)
from lumos_queue.actions.qa.pages import TextPage, pages_value
from lumos_queue.actions.qa.retrieve import evidence
from lumos_queue.actions.ranking.base import Ranker
from lumos_queue.actions.ranking.registry import open_prepared, prepare_ranker
from lumos_queue.actions.session import ActionSession, Value, action
from lumos_queue.episode import StepContext
from lumos_queue.errors import ActionError, SpecError, unknown
from lumos_queue.notation import strip_label, variables_in
from lumos_queue.records import Action, Execution, Role, Task
from lumos_queue.settings import Settings, read_settings
from lumos_queue.util.launch_folder import from_launch

OPTIONS = {
    "corpus": "where KnowledgeQuery looks: a folder of texts, a .jsonl file or a Wikipedia dump; else the task's own "
    "paragraphs",
    "knowledge": "'live': ask Wikipedia, where the job allows live or recorded calls; 'local' (default): the corpus",
    "ranker": "what ParagraphRetrieve ranks with: 'lexical' (default), 'dpr:DIR', 'cross-encoder:DIR'",
    OPTION: "'own' (default), or 'lumos': a 'No answer' and a Calculator are treated as in LUMOS's evaluation",
}
PARAGRAPHS = "paragraphs"  #: the task's input with its own pages: a list of {"title", "text"}


class QaActions:
    """The actions of the domain complex_qa, as a job uses them."""

    domain = "complex_qa"
    roles = (Role.QA,)
    defaults: Mapping[str, str] = {
        "corpus": "the task's own paragraphs",
        "ranker": "lexical",
        OPTION: OWN,
    }

    def __init__(self, tools: Mapping[str, str] | None = None, settings: Settings | None = None):
        """Raises SpecError if a corpus or a ranker's weights are missing, or changed since submission."""
        tools = tools or {}
        self.live = tools.get("knowledge") == "live"
        self.is_original = tools.get(OPTION) == LUMOS  #: whether the rules are those of original.py
        self.ranker: Ranker = open_prepared(tools)
        self.library: Library | None = None
        if "corpus" in tools:
            home = (settings or read_settings()).home
            self.library = Library(from_launch(tools["corpus"]), tools["corpus_sha256"], home)
        self.maths, self.code = MathsActions(), CodeRunner()

    @staticmethod
    def prepare(tools: Mapping[str, str]) -> dict[str, str]:
        check_option_names(tools, "complex_qa", OPTIONS)
        if (source := tools.get("knowledge", "local")) not in ("local", "live"):
            raise unknown("source of knowledge", source, ("local", "live"))
        if (protocol := tools.get(OPTION, OWN)) not in PROTOCOLS:
            raise unknown("protocol of complex_qa", protocol, PROTOCOLS)
        if source == "live" and "corpus" in tools:
            raise SpecError("knowledge=live asks Wikipedia and does not use corpus=PATH: leave one of the two out.")
        options = prepare_ranker(tools)
        if "corpus" in tools:
            options |= prepare_corpus(from_launch(Path(tools["corpus"]).expanduser()), read_settings().home)
        return options

    def begin(self, task: Task) -> QaSession:
        return QaSession(self, task)

    async def close(self) -> None:
        await self.maths.close()
        await self.code.close()
        await self.ranker.close()


class QaSession(ActionSession):
    """The session of one question. Without a corpus, the first query indexes the task's own paragraphs."""

    def __init__(self, actions: QaActions, task: Task):
        self._actions, self._task = actions, task
        self._own_index: Index | None = None

    async def execute(self, action: Action, context: StepContext) -> Execution:
        """Run one action. The name ParagraphRetrieval, which the paper also uses, means ParagraphRetrieve."""
        if action.name == "ParagraphRetrieval":
            action = Action(action.variables, "ParagraphRetrieve", action.arguments, action.raw)
        execution = await super().execute(action, context)
        return withhold_no_answers(execution) if self._actions.is_original and execution.ok else execution

    async def close(self) -> None:
        if self._own_index is not None:
            self._own_index.close()

    @action("KnowledgeQuery(query)")
    async def KnowledgeQuery(self, text: str, context: StepContext) -> Value:
        """Capture the relevant webpages according to the query."""
        query = inline_variables(text.removeprefix("Query: "), context.variables)
        if not query:
            raise ActionError("unreadable", "expected something to look for, for example: KnowledgeQuery(Eiffel Tower)")
        if self._actions.live:
            pages = await live_pages(query, context)
        else:
            index = await self._index()
            pages = await asyncio.to_thread(index.pages, query)
        if not pages:
            raise ActionError("no_pages", f"no page fits '{query[:80]}'")
        return pages_value(pages)

    @action("ParagraphRetrieve(context, query)")
    async def ParagraphRetrieve(self, text: str, context: StepContext) -> Value:
        """Given a query, retrieve the most relevant paragraphs from the given context."""
        facts, query = context_and_question(text, "Query", context.variables)
        pages: list[TextPage] = []
        for value in facts:
            if isinstance(value, str):
                pages.append(TextPage("", [value]))
            elif value.get("kind") == "pages":
                pages += pages_in(value)
            else:
                pages.append(TextPage("", str(value["text"]).splitlines()))
        return await evidence(pages, query, self._actions.ranker)

    @action("QA(context, query)")
    async def QA(self, text: str, context: StepContext) -> Value:
        """Given context, answer the given query."""
        facts, question = context_and_question(text, "Question", context.variables)
        facts_text = "\n".join(full_text(value) for value in facts)
        if context.final:
            final_question = (
                f"{question} {YES_NO}" if context.final.answer_by == "yes/no" else self._task.question.strip()
            )
            final_answer = await answer_question(
                facts_text, final_question, context, self._actions.ranker, search=False
            )
            if context.final.answer_by == "yes/no" or final_answer["answer"] != NO_ANSWER:
                return final_answer
        return await answer_question(facts_text, question, context, self._actions.ranker, self._actions.live)

    @action("")
    async def Conclude(self, text: str, context: StepContext) -> Value:
        """Answer the task's question from earlier answers, as LUMOS does when its planner stops (spec/lumos.md 5.2).

        The question is unchanged, even if a word looks like a variable. ` yes/no` after the list requests yes or no.
        Each answer in the prompt ends in `;`, as in the original; resumed jobs of formulation version 1 omit the last
        `;` (formulations/answer.py).
        """
        names, yes_no = text.removesuffix(" yes/no").strip("[]").split(", "), text.endswith(" yes/no")
        values, is_original = [value_of(name, context.variables) for name in names], self._actions.is_original
        answers = "; ".join(full_text(value) for value in values if is_answer(value) or not is_original)
        facts = f"{answers};" if context.final and answers else answers
        question = self._task.question.strip() + (f" {YES_NO}" if yes_no else "")
        search = self._actions.live and not is_original
        return await answer_question(facts, question, context, self._actions.ranker, search, is_original)

    @action("Calculator(formula)")
    async def Calculator(self, text: str, context: StepContext) -> Value:
        """Calculate the input formula."""
        if self._actions.is_original and context.subgoal:
            return await self._ask_subgoal(text, context)
        reason = ""
        try:
            value = await calculate(text, context.variables, self._actions.maths)
        except Unclear as error:
            value, reason = None, str(error)
        if context.final and context.final.answer_by == "yes/no" and context.final.subgoal:
            return await self._ask_yes_or_no(text, context, context.final.subgoal, value)
        if value is None:
            return await self._ask_for_result(text, context, reason)
        return {**value, "question": inline_variables(text, context.variables), "answer": value["text"]}

    @action("Code(pseudo_code)")
    async def Code(self, text: str, context: StepContext) -> Value:
        """Generate a Python function that corresponds to the pseudo code."""
        output = await self._actions.code.run(text, context.variables)
        truth = {"True": "yes", "False": "no"}.get(output["text"])
        return {"kind": "boolean", "text": truth} if truth else output

    async def _ask_subgoal(self, text: str, context: StepContext) -> Value:
        """Ask a model to answer the subgoal from the values in its formula, as in the original."""
        facts, sentence = list_operands(text, context.variables), strip_label(context.subgoal)
        answer_by = context.final.answer_by if context.final else ""
        questions = [f"{sentence} {YES_NO}" if answer_by == "yes/no" else sentence]
        questions += [self._task.question.strip()] if answer_by == "qa" else []
        value: Value = {}
        for question in questions:
            value = await answer_question(facts, question, context, self._actions.ranker, search=False)
            if value["answer"] != NO_ANSWER:
                break
        return value

    async def _ask_for_result(self, text: str, context: StepContext, reason: str) -> Value:
        """Ask a model for the result of an unreadable formula, as in the original. Return a value of kind 'model'."""
        formula = inline_variables(text, context.variables)
        question = f"Is it true that {formula}? {YES_NO}" if is_question(text) else f"What is the result of {formula}?"
        prompt = WITH_CONTEXT.format(question=question, context="\n".join([text, *_variable_lines(text, context)]))
        answer = read_answer((await context.ask(Role.QA, prompt)).text) or NO_ANSWER
        return {"kind": "model", "text": answer, "question": question, "answer": answer, "why": reason}

    async def _ask_yes_or_no(self, text: str, context: StepContext, subgoal: str, value: Value | None) -> Value:
        """Ask a model to answer the last subgoal with yes or no, from its formula and the formula's value."""
        formula = text if value is None else f"{text} = {value['text']}"
        facts = "\n".join([formula, *_variable_lines(text, context)])
        return await answer_question(facts, f"{subgoal} {YES_NO}", context, self._actions.ranker, search=False)

    async def _index(self) -> Index:
        if self._actions.library is not None:
            return await self._actions.library.index()
        if self._own_index is None:
            records = self._task.inputs.get(PARAGRAPHS)
            if not records:
                raise ActionError("no_corpus", "there is nothing to look in: give --tool corpus=PATH")
            pages = [page for item in records if isinstance(page := record_page(item), TextPage)]
            self._own_index = await asyncio.to_thread(Index.build, pages)
        return self._own_index


def _variable_lines(text: str, context: StepContext) -> list[str]:
    """Return a line for each variable of a formula: its name and its value."""
    return [f"{name}: {short_text(context.variables[name])}" for name in variables_in(text)]
