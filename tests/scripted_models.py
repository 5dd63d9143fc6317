"""Models for all roles, domains and formulations whose replies depend only on the prompt, for fake endpoints.

They are wrong about a third of the time, stop late, err in their actions, and refuse now and then, so that their
stored episodes have everything that reports show. No state, no clock: the same prompt has the same reply for ever,
because stored expectations of the tests depend on it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

STOP = "Yes, I will stop planning."
STEPS = ("Find what the task begins with.", "Find what follows from it.", "Choose the answer.")
_DATES = re.compile(r"\d+")
_NAMES = re.compile(r"(?:Ann Berg|Acme|Ann|Bob) \d+")


def step_by_step(prompt: str) -> str:
    """What the iterative planner is asked is answered subgoal by subgoal; the other roles are played alike."""
    return _reply(prompt, _one_subgoal)


def all_at_once(prompt: str) -> str:
    """The one-pass planner, which is asked in the same words, gives its whole plan."""
    return _reply(prompt, _whole_plan)


def _reply(prompt: str, plan: Callable[[str], str]) -> str:
    if "Please convert natural language plans" in prompt:
        return _annotation(prompt)
    if "Please judge whether" in prompt:
        return "CORRECT" if _number(prompt) % 2 else "INCORRECT"
    if "Please describe this image" in prompt:
        return "An animal sits on a mat.\nIt is grey."
    if "Please answer the" in prompt:
        return _tool(prompt)
    # Demonstrations stand before the task; what was said about it follows.
    talk = prompt.rpartition("Please ground the given subgoal" if "Please ground" in prompt else "Please provide")[2]
    if "Please ground" in prompt:
        return _write_actions(talk)
    if "Please provide a reasonable" not in prompt:
        return "That is simple. Answer is 12." if _number(prompt) % 3 else "12"
    return _write_step(talk) if "The available action list" in talk or "Calculator(" in prompt else plan(talk)


def _number(text: str) -> int:
    """A number that follows from the text and differs from task to task."""
    return sum(map(int, (number[:6] for number in _DATES.findall(text)))) + len(text)


def _question(talk: str) -> str:
    return talk.partition("Task: ")[2].partition("; Initial Environment")[0].partition(" \n")[0]


def _read_limit(question: str) -> int:
    """How many subgoals the plan has."""
    return 1 + _number(question) % 3


def _one_subgoal(talk: str) -> str:
    turn, question = talk.count("<|assistant|>\n"), _question(talk)
    if turn > _read_limit(question):
        return STOP
    return f"{'No, I will keep planning. ' if turn > 1 else ''}Subgoal {turn}: {STEPS[turn - 1]}"


def _whole_plan(talk: str) -> str:
    return "; ".join(f"Subgoal {number}: {STEPS[number - 1]}" for number in range(1, _read_limit(_question(talk)) + 1))


def _write_step(talk: str) -> str:
    turn, question = talk.count("<|assistant|>\n"), _question(talk)
    if turn > _read_limit(question):
        return STOP
    return f"{_one_subgoal(talk)} Actions: {'; '.join(_maths(question, turn))}"


def _write_actions(talk: str) -> str:
    ground = next(function for name, function in _GROUNDINGS.items() if name in talk or not name)
    question = _question(talk)
    if whole := talk.rpartition("Subgoals to be grounded: ")[2] if "Subgoals to be grounded" in talk else "":
        numbers = [int(number) for number in re.findall(r"Subgoal (\d+):", whole)]
    else:
        numbers = [int(re.findall(r"Subgoal to be grounded: Subgoal (\d+)", talk)[-1])]
    action_line = "; ".join(action for number in numbers for action in ground(question, number))
    return action_line.removeprefix("R1 = ") if talk.endswith("R1 = ") else action_line


def _maths(question: str, number: int) -> Sequence[str]:
    """Two variables for each subgoal; the second of some tasks is an equation, and of others an error."""
    numbers = [int(date[:6]) for date in _DATES.findall(question)] or [2]
    last, kind = 2 * number, _number(question) % 5
    if number == 1:
        return f"R1 = Calculator({numbers[0]} * {len(numbers)})", f"R2 = Calculator(R1 + {numbers[-1]})"
    if number == 2 and kind == 1:
        return f"R{last - 1} = SetEquation(2 * x + 3 = R{last - 2})", f"R{last} = SolveEquation(R{last - 1})"
    if number == 2 and kind == 2:
        return f"R{last - 1} = Calculator(R{last - 2} / 0)", f"R{last} = Calculator(R{last - 1} + 1)"
    return f"R{last - 1} = Calculator(R{last - 2} - {numbers[0]})", f"R{last} = Calculator(R{last - 1} / 2)"


def _qa(question: str, number: int) -> Sequence[str]:
    names = _NAMES.findall(question) or ["Other"]
    if number == 1:
        subquestion = f"What is {names[0]} known for?"
        return (
            f"R1 = KnowledgeQuery({names[0]})",
            f"R2 = ParagraphRetrieve(R1, Query: {subquestion})",
            f"R3 = QA([R2], Question: {subquestion})",
        )
    if number == 2:
        return ("R4 = QA([R3], Question: What follows from R3?)",)
    return ("R5 = QA([R3, R4], Question: Is R4 the answer?)", "R6 = Calculator(1 + 1)")


def _web(question: str, number: int) -> Sequence[str]:
    page = f"R{number - 1}" if number > 1 else "Env"
    if number == 1:
        return (f"R1 = CLICK({page}, QUERY: Click the link Hats)",)
    if number == 2:
        return (f"R2 = TYPE({page}, QUERY: Type red into the search box colour, TEXT: red)",)
    return (f"R{number} = SELECT({page}, QUERY: Select the size, TEXT: M)",)


def _vision(question: str, number: int) -> Sequence[str]:
    if number == 1:
        return ("R1 = VQA([IMG], Question: What is on the mat?)",)
    if number == 2:
        return ("R2 = QA([R1], Question: Which kind of animal is R1?)",)
    task, _, choices = question.partition(" There're some choices: ")
    full_question = f"{task} We can also see that R2. There're some choices: {choices} You must choose one."
    return (f"R3 = VQA([IMG], Question: {full_question} Output only one letter!)",)


def _shop(question: str, number: int) -> Sequence[str]:
    if number == 1:
        return (f"R1 = Search({' '.join(question.split()[2:5])})",)
    if number == 2:
        return ("R2 = Pick(Item_names: R1, Query: the cheapest)", "R3 = Click(R2)")
    return ("R4 = FeatureRetrieve(R3, Query: blue)", "R5 = Click(buy now)")


def _sql(question: str, number: int) -> Sequence[str]:
    dates = _DATES.findall(question) or ["3"]
    if number == 1:
        return ("R1 = SHOW TABLES",)
    if number == 2:
        return ("R2 = name FROM hat",)
    return (f"R{number} = SELECT name FROM hat WHERE price > {dates[0]} ORDER BY price LIMIT 1",)


#: A word in the list of actions to the domain that has it; the last has no such list.
_GROUNDINGS = {
    "SetEquation": _maths,
    "KnowledgeQuery": _qa,
    "CLICK": _web,
    "VQA(": _vision,
    "FeatureRetrieve": _shop,
    "": _sql,
}


def _tool(prompt: str) -> str:
    """QA and VQA: a brief answer, a letter where one is wanted, and at times none."""
    number = _number(prompt)
    if "Output only one letter" in prompt:
        return "ABCD"[number % 4]
    if "according to the context" in prompt and number % 4 == 0:
        return "No answer"
    if "yes/no" in prompt:
        return "Answer: Yes" if number % 3 else "Answer: no"
    return f"Answer: {('ink', 'Oslo', 'a cat', str(number % 50))[number % 4]}"


def _annotation(prompt: str) -> str:
    """The teacher: right by the numbers of the plan, or wrong, unreadable or refused at first."""
    question = prompt.rpartition("natural language plan!\n\nTask: ")[2].partition("\n\nNatural language plan: ")
    number, again = _number(question[0]), "That is not accepted:" in prompt
    if not again and number % 5 == 1:
        return "I'm sorry, but I cannot help with that."
    if not again and number % 5 == 2:
        return "Subgoal 1: Begin.\nAction 1-1: R1 = Compute(1 + 1) = 2"
    choices = prompt.partition("they must be one of ")[2][:40]
    if "KnowledgeQuery" in choices:
        name = (_NAMES.findall(question[0]) or ["Other"])[0]
        return (
            f"Subgoal 1: Find {name}.\nAction 1-1: R1 = KnowledgeQuery({name}) = WikipediaPage({name})\n"
            f"Action 1-2: R2 = ParagraphRetrieve(R1, Query: What is it?) = Paragraph({name}-1)\n"
            f"Action 1-3: R3 = QA([R2], Question: {question[0]}) = Oslo"
        )
    if "CLICK" in choices:
        return "Subgoal 1: Open the hats.\nAction 1-1: R1 = CLICK(Env, QUERY: Click the link Hats)"
    if "VQA" in choices:
        return f"Subgoal 1: Look.\nAction 1-1: R1 = VQA([IMG], Question: {question[0]}) = {'ABCD'[number % 4]}"
    if "SQL" in choices:
        return f"Subgoal 1: Write the query.\nAction 1-1: R1 = (SELECT name FROM hat WHERE id > {number % 9})"
    numbers = [int(date[:6]) for date in _DATES.findall(question[0])][:2] or [1]
    return (
        f"Subgoal 1: Add the numbers of the task.\nAction 1-1: R1 = Calculator({' + '.join(map(str, numbers))}) "
        f"= {sum(numbers) + (number % 7 == 0)}"
    )
