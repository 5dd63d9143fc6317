"""What the LUMOS domains say to planner and grounder (spec/lumos.md 1.2 and 1.4, verbatim: typing errors included)."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from lumos_queue.actions.session import describe
from lumos_queue.errors import unknown
from lumos_queue.scoring.limit import AtLimit

PLAN_HEAD = "Please provide a reasonable subgoal-based plan to solve the given task.\n"

_GROUND = (
    "Please ground the given subgoal to corresponding executable actions for solving the given task. "
    "The grounded actions must be the one in available action list.\n\n"
)
_MATHS = (
    "The available action list is 'Calculator', 'SetEquation', 'SolveEquation', 'Count', 'SolveInequality', 'Code', "
    "and 'Define'.\n"
    "Calculator(formula): Calculate the input formula; SetEquation(equation): Set up an equation to be solved; "
    "SolveEquation(equation): Solve the previous set equation; "
    "Count(list): Count the number of elements in the given list; "
    "SolveInequality(inequality): Solve the previous set inequality; "
    "Code(pseudo_code): Generate a Python function that corresponds to the pseudo code; "
    "Define(variable/number): Define a variable or a number for latter usage.\n\n"
)
_COMPLEX_QA = (
    "The available action list is 'KnowledgeQuery', 'ParagraphRetrieve', 'QA', 'Calculator', and 'Code'.\n"
    "Calculator(formula): Calculate the input formula; "
    "KnowledgeQuery(query): Capture the relevant webpages according to the query; "
    "ParagraphRetrieve(context, query): Given a query, retrieve the most relevant paragraphs from the given context; "
    "QA(context, query): Given context, answer the given query; "
    "Calculator(formula): Calculate the input formula; "
    "Code(pseudo_code): Generate a Python function that corresponds to the pseudo code.\n\n"
)
_WEB_AGENT = (
    "The available action list is 'CLICK', 'TYPE', 'SELECT'.\n"
    "CLICK(Env, Query): Click the relevant html region in Env according to Query; "
    "TYPE(Env, Query, Text): Type Text into the relevant html region in Env according to Query; "
    "SELECT(Env, Query, Text): Select the value Text of the relevant selection box in Env according to Query.\n\n"
)
_WEBSHOP = (
    "The available action list is 'Search', 'FeatureRetrieve', 'Pick' and 'Click'.\n"
    "Search(Query): Search related items according to the Query; "
    "FeatureRetrieve(Feature_list, Query): Select the most relevant features from Feature_list according to Query; "
    "Pick(Item_names, Item_features, Query): Pick the most relevant item from Item_names according to Query, "
    "Item_names and Item_features; Click(Item): Click the Item to check more information.\n\n"
)


@dataclass(frozen=True, slots=True)
class Domain:
    """The wording of one domain."""

    name: str
    verified_ground_head: str | None  #: None when no released text says what the grounder was fitted on
    reports: str = "result"  #: what the planner is told after a subgoal: its 'result', or that it is 'done'
    shows_earlier: bool = False  #: whether the grounder is told the earlier results
    most_subgoals: int = 8  #: after which the iterative formulation gives up, unless it is told otherwise
    at_limit: str = AtLimit.WRONG  #: what an answer is worth there, unless it is told otherwise (limit.py)
    few_shot: int = 0  #: demonstrations that its conversations begin with; such domains have no word for stopping
    primes: str = ""  #: what the grounder's first reply is begun with
    calls: bool = True  #: whether actions are calls, `R1 = Name(…)`; else anything may follow `R1 = `
    session: tuple[str, str] | None = None  #: module and class whose docstrings make an instruction of our own

    @property
    def ground_head(self) -> str:
        """The instruction the grounder's first prompt begins with: the published one, else one of our own.

        Compatibility with released checkpoints can be claimed for `verified_ground_head` only.
        """
        if self.verified_ground_head is not None:
            return self.verified_ground_head
        assert self.session is not None
        module, name = self.session
        return _GROUND + describe(getattr(import_module(module), name))


DOMAINS = {
    domain.name: domain
    for domain in (
        Domain("maths", _GROUND + _MATHS, at_limit=AtLimit.CONCLUDE),
        Domain("complex_qa", _GROUND + _COMPLEX_QA, shows_earlier=True),
        Domain("web_agent", _GROUND + _WEB_AGENT, reports="done", most_subgoals=20),
        Domain(
            "multimodal", None, shows_earlier=True, session=("lumos_queue.actions.vision.interface", "VisionSession")
        ),
        Domain("webshop", _GROUND + _WEBSHOP, few_shot=2, primes="R1 = ", most_subgoals=6),
        Domain("intercode_sql", _GROUND, few_shot=3, calls=False),
    )
}


def domain_named(name: str) -> Domain:
    """Raises SpecError, listing the choices, when there is no such domain."""
    if name not in DOMAINS:
        raise unknown("domain", name, DOMAINS)
    return DOMAINS[name]
