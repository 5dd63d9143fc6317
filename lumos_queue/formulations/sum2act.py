"""Sum2Act: a router chooses the next call from the state alone; a state manager records what each call contributed.

Each action needs two model calls, and there are at most 30 steps (arXiv:2402.18157). The paper's code is not public, so
each open question of the paper is a setting. The state is not stored, because replaying the steps restores it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from lumos_queue.commands import Ask, Commands, Do
from lumos_queue.endpoints.base import Sampling
from lumos_queue.endpoints.tool_calls import count_unmade_calls
from lumos_queue.formulations.answer_files import AnswerFiles
from lumos_queue.formulations.base import VERSION, Formulation, Setting
from lumos_queue.formulations.decision import GIVE_UP
from lumos_queue.formulations.descriptions import DESCRIBED
from lumos_queue.formulations.react import CALLING, POLICY_SAMPLING
from lumos_queue.formulations.settings import read_choice, read_number, read_yes_no
from lumos_queue.formulations.state_keeping import StateKeeping
from lumos_queue.limits import LimitReached, Limits
from lumos_queue.notation import REPEATED
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.function_list import DESCRIPTIONS
from lumos_queue.prompts.task_state import APPEND, REWRITE, StateRecord, TaskState, read_record, rewrite
from lumos_queue.prompts.tool_agent import (
    CALLS,
    DECOMPOSER,
    ROUTER,
    STATE_MANAGER,
    STATE_REWRITER,
    SYSTEM,
    call_style,
    describe_unmade_calls,
    first_prompt,
    list_functions,
    request,
)
from lumos_queue.records import Action, Ending, Execution, FinishReason, Outcome, Role, Task
from lumos_queue.text_calls.decision_form import DecisionForm
from lumos_queue.text_calls.three_lines import Reply, read_reply, same_call

WRITING = Sampling(max_tokens=1024, stop=())
_SUMMARISE = "Shorten this to at most {most} characters and keep every number and name:\n{text}"
_ONLY_FINISH = "\n\nThere is no further step: call Finish now, with the best answer that the results allow."
_AGAIN = "\n\nYour last reply could not be read: {reply}\n{problem}"
SUMMARY = 400  #: characters that a record's answer is shortened to
NOT_MADE = ("unknown_action", "invalid_arguments")  #: statuses of calls that the environment refused
REFLECTED = 4  #: version from which on the state manager is asked about these calls, too
_REFLECT = (
    "\n\nThe call was not made, so it is a failure. Work out from the descriptions which function and which arguments "
    "are right, and write them into the reason."
)


class _Run:
    """The run of an episode: its task, its settings, and the state so far."""

    def __init__(self, task: Task, agent: Agent, watch: Callable[[TaskState], None] | None, version: int):
        self.agent, self.settings, self._watch = agent, FORMULATION.read_settings(agent), watch
        self.listing = list_functions(task, agent, version)
        self.functions = {function.name: function for function in self.listing.functions}
        self.question, self.style = task.question.strip(), call_style(agent)
        self.asked, self._schemas = self.style.request(task, self.listing), self.style.schemas(self.listing)
        self.listed = request(task, self.listing)
        self.state = TaskState()
        self.guidance = ""
        self._version = version
        self._unmade = 0  #: calls of the router's latest reply that were not made

    def prompt(self, suffix: str = "") -> str:
        state_text = self.state.write(self.settings["state"])
        return first_prompt(self.style.router, f"{self.asked}{self.guidance}\n\n{state_text}{suffix}", self.agent)

    def add(self, record: StateRecord) -> None:
        self.state = self.state.add(record)

    def update(self, decision: Reply, execution: Execution) -> Commands[None]:
        """Add a call to the state. The state manager describes its contribution, or why it was not made."""
        call = (decision.action, decision.arguments)
        problem = execution.message or execution.result
        if is_recorded_alone(execution.status, self._version):
            self.add(StateRecord(False, *call, text=problem))
            return
        problem = problem if execution.status in NOT_MADE else ""
        if self.settings["update"] == REWRITE:
            call_text = self._tell(decision, execution, f"\n\nState so far:\n{self._number_records()}\n\nNewest call")
            reply = yield from Ask(Role.STATE_MANAGER, first_prompt(STATE_REWRITER, call_text, self.agent))
            self.state = rewrite(self.state, reply.text, *call, problem)
        else:
            call_text = self._tell(decision, execution, "\n\nCall")
            reply = yield from Ask(Role.STATE_MANAGER, first_prompt(STATE_MANAGER, call_text, self.agent))
            self.add(read_record(reply.text, *call, problem))

    def _number_records(self) -> str:
        records_text = self.state.write_numbered(self.settings["state"])
        return f"{records_text or 'no call'}\n\nThe newest call has the number {len(self.state.records) + 1}."

    def decide(self, suffix: str = "") -> Commands[Reply]:
        """Ask the router for its next decision; with the setting `repair`, again after a reply without an action."""
        if self._watch is not None:
            self._watch(self.state)
        suffix = f"\n\n{describe_unmade_calls(self._unmade)}{suffix}" if self._unmade else suffix
        decision, text = yield from self._ask_router(suffix)
        if not decision.action and self.settings["repair"]:
            again = _AGAIN.format(reply=text[:500], problem=self.style.describe_unread(decision))
            decision, _ = yield from self._ask_router(suffix + again)
        return decision

    def _ask_router(self, suffix: str) -> Commands[tuple[Reply, str]]:
        """Ask the router. Return its decision, and its reply as text."""
        reply = yield from Ask(Role.ROUTER, self.prompt(suffix), functions=self._schemas)
        decision = read_reply(reply.text, self._version, reply.finish_reason == FinishReason.LENGTH)
        self._unmade = count_unmade_calls(reply) if self.style.native and decision.action else 0
        return decision, reply.text

    def act(self, decision: Reply) -> Commands[Execution]:
        """Carry out a decision. With the setting `repeat_guard`, a call that was made before is refused."""
        call = (decision.action, decision.arguments)
        is_repeated = self.settings["repeat_guard"] and any(
            same_call(call, (record.action, record.arguments)) for record in self.state.records
        )
        name = REPEATED if is_repeated else decision.action
        return (yield from Do(Action((), name, decision.arguments, decision.action if is_repeated else "")))

    def _tell(self, decision: Reply, execution: Execution, label: str) -> str:
        """Return the text about a call for the state manager. For an unknown function it has the list of functions."""
        function = self.functions.get(decision.action)
        is_unknown = function is None and self._version >= REFLECTED
        request_text = self.listed if is_unknown else f"Request: {self.question}"
        return (
            f"{request_text}{label}: {decision.action} {decision.arguments}\n"
            f"Purpose: {decision.thought}\n{self.listing.describe(function)}\n\n"
            f"Returned: {_observation(execution, self.settings['observation'])}"
            f"{_REFLECT if execution.status in NOT_MADE else ''}"
        )

    def shorten(self) -> Commands[None]:
        """Ask for summaries of long answers, the oldest first, until the state is within its limit."""
        for index, record in enumerate(self.state.records):
            if len(self.state.write(10**9)) <= self.settings["state"]:
                return
            if len(record.text) > SUMMARY and not record.summary:
                prompt_text = _SUMMARISE.format(most=SUMMARY, text=record.text)
                reply = yield from Ask(Role.STATE_MANAGER, first_prompt(STATE_MANAGER, prompt_text, self.agent))
                records = list(self.state.records)
                records[index] = replace(record, summary=reply.text.strip()[:SUMMARY] or record.text[:SUMMARY])
                self.state = TaskState(tuple(records))


def sum2act(
    task: Task, agent: Agent, watch: Callable[[TaskState], None] | None = None, version: int = VERSION
) -> Commands[Outcome]:
    """Make steps until an answer, giving up, or the limit of steps. `watch` gets the state before each decision."""
    run = _Run(task, agent, watch, version)
    try:
        return (yield from _steps(run))
    except LimitReached as error:
        return Outcome(None, error.ending, str(error))


def _steps(run: _Run) -> Commands[Outcome]:
    if run.settings["decompose"]:
        parts = yield from Ask(Role.STATE_MANAGER, first_prompt(DECOMPOSER, run.listed, run.agent))
        run.guidance = f"\n\nThe parts of the request, as a guide:\n{parts.text.strip()}"
    step = 1
    while run.agent.limits.allows_step(step):
        step += 1
        decision = yield from run.decide()
        if not decision.action:
            run.add(StateRecord(False, "", "", text=run.style.describe_unread(decision)))
            continue
        execution = yield from run.act(decision)
        if (outcome := _outcome(execution)) is not None:
            return outcome
        yield from run.update(decision, execution)
        yield from run.shorten()
    if run.settings["force_finish"]:
        decision = yield from run.decide(_ONLY_FINISH)
        if decision.action == "Finish" and (outcome := _outcome((yield from run.act(decision)))) is not None:
            return replace(outcome, message="forced at the limit of steps")
    return Outcome(None, Ending.LIMIT, f"no answer in {run.agent.limits.steps} steps")


def _outcome(execution: Execution) -> Outcome | None:
    """Return the outcome of an episode whose last action this is; None if it continues."""
    if execution.ends:
        return Outcome(str(execution.values[0]["text"]), Ending.ANSWERED)
    return Outcome(None, Ending.GAVE_UP) if execution.status == GIVE_UP else None


def is_recorded_alone(status: str, version: int) -> bool:
    """Whether a call of this status is recorded without asking the state manager, because it was not made."""
    return status == REPEATED or (version < REFLECTED and status in NOT_MADE)


def _observation(execution: Execution, max_characters: int) -> str:
    """Return the result of a call, cut to `max_characters`. Other formulations show less of a long result."""
    value: Any = execution.values[0] if execution.values else {}
    text = str(value.get("full", execution.result))
    return text if len(text) <= max_characters else f"{text[:max_characters]}..."


def _manager(agent: Agent) -> str:
    """Return the prompt that the state manager is sent for most calls."""
    return STATE_REWRITER if agent.settings.get("update") == REWRITE else STATE_MANAGER


FORMULATION = Formulation(
    "sum2act",
    sum2act,
    (Role.ROUTER, Role.STATE_MANAGER),
    functions=True,
    versioned=True,
    settings={
        "repeat_guard": Setting("yes", "whether a call that was made before is refused", read_yes_no),
        "repair": Setting("yes", "whether the router is asked once more when its reply names no action", read_yes_no),
        "decompose": Setting("no", "whether the request is first divided into parts, as guidance", read_yes_no),
        "force_finish": Setting("no", "whether a last call at the limit of steps may only finish", read_yes_no),
        "update": Setting(
            APPEND, "append: a record is added; rewrite: all may be written anew", read_choice(APPEND, REWRITE)
        ),
        "observation": Setting("2048", "characters of what a call returned that are shown", read_number(100, 10**6)),
        "state": Setting("8000", "characters of the state that the router is shown", read_number(500, 10**6)),
        CALLS: CALLING,
        DESCRIPTIONS: DESCRIBED,
    },
    answer_files=AnswerFiles(DecisionForm.CHAIN, ROUTER),
    state=StateKeeping(sum2act, is_recorded_alone),
    limits=Limits(steps=30),
    samplings={Role.ROUTER: POLICY_SAMPLING, Role.STATE_MANAGER: WRITING},
    prefixes=lambda agent: {
        Role.ROUTER: SYSTEM + call_style(agent).router,
        Role.STATE_MANAGER: SYSTEM + _manager(agent),
    },
    callers=(Role.ROUTER,),
)
