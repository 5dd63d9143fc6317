"""A second, independent reading of the original's layout rules (spec/lumos.md 2.3, 2.4, 3.1, 3.2, annex A).

Written line by line from the specification, and where it is silent from what the original's script does with the same
text, and not from the product: tests compare the two byte for byte.
"""

from __future__ import annotations

import json

PLAN_HEAD = "Please provide a reasonable subgoal-based plan to solve the given task.\n"
INSTRUCTION = (
    "Please ground the given subgoal to corresponding executable actions for solving the given task. The grounded "
    "actions must be the one in available action list.\n\n"
)
LISTS = {
    "maths": "The available action list is 'Calculator', 'SetEquation', 'SolveEquation', 'Count', 'SolveInequality', "
    "'Code', and 'Define'.\nCalculator(formula): Calculate the input formula; SetEquation(equation): Set up an "
    "equation to be solved; SolveEquation(equation): Solve the previous set equation; Count(list): Count the number "
    "of elements in the given list; SolveInequality(inequality): Solve the previous set inequality; "
    "Code(pseudo_code): Generate a Python function that corresponds to the pseudo code; Define(variable/number): "
    "Define a variable or a number for latter usage.\n\n",
    "complex_qa": "The available action list is 'KnowledgeQuery', 'ParagraphRetrieve', 'QA', 'Calculator', and "
    "'Code'.\nCalculator(formula): Calculate the input formula; KnowledgeQuery(query): Capture the relevant webpages "
    "according to the query; ParagraphRetrieve(context, query): Given a query, retrieve the most relevant paragraphs "
    "from the given context; QA(context, query): Given context, answer the given query; Calculator(formula): "
    "Calculate the input formula; Code(pseudo_code): Generate a Python function that corresponds to the pseudo "
    "code.\n\n",
    "web_agent": "The available action list is 'CLICK', 'TYPE', 'SELECT'.\nCLICK(Env, Query): Click the relevant html "
    "region in Env according to Query; TYPE(Env, Query, Text): Type Text into the relevant html region in Env "
    "according to Query; SELECT(Env, Query, Text): Select the value Text of the relevant selection box in Env "
    "according to Query.\n\n",
}


def blocks(plan: str) -> list[tuple[str, list[str]]]:
    """2.3: cut at the first `Subgoal 1`, split on empty lines; a block's first line is the subgoal."""
    plan = plan[plan.find("Subgoal 1") :]
    subgoal_blocks = []
    for block in plan.split("\n\n"):
        subgoal, *actions = block.split("\n")
        subgoal_blocks.append((subgoal, actions))
    return subgoal_blocks


def find_closing(line: str, start: int) -> int:
    depth = 0
    for index in range(start, len(line)):
        depth += (line[index] == "(") - (line[index] == ")")
        if depth == 0:
            return index
    return len(line)


def parse(line: str, web: bool) -> tuple[list[str], str, str, str]:
    """2.4: (variables, name, arguments, result) of an action line."""
    variables = line[line.find(":") + 2 : line.find(" = ")].split(", ")
    after, p = line.find(" = ") + 3, line.find("(")
    last_equals = line.rfind(" = ")
    name = line[after:p]
    if web:
        return variables, name, line[p + 1 : line.rfind(")")], ""
    if p == -1:
        return variables, "", line[after:last_equals].strip(), line[last_equals + 3 :].strip()
    q = find_closing(line, p)
    if q + 2 >= len(line):
        arguments = line[p + 1 : line.rfind(")")]
        return variables, name, arguments, arguments
    if line[q + 2] != "=":
        return variables, name, line[p + 1 : last_equals - 1], line[last_equals + 3 :].strip()
    return variables, name, line[p + 1 : q], line[q + 3 :].strip()


def write_action(action: tuple[list[str], str, str, str]) -> str:
    variables, name, arguments, _ = action
    return f"{', '.join(variables)} = {name}({arguments})"


class LastNumber:
    """8, number 34: the number of the last variable, left over from the previous example."""

    number: int | None = None


def rename(variable: str, text: str, counter: LastNumber) -> str | None:
    """2.5, 3.2: the text with its outputs numbered; None where the example is dropped."""
    if variable[:1] == "R":
        try:
            counter.number = int(variable[1:])
        except ValueError:
            return None
        return text
    if variable == "" or counter.number is None:
        return None
    return text.replace("Output", f"R{counter.number + 1}")


def rows(raws: list[dict], domain: str, module: str, formulation: str) -> list[str]:
    records, counter = [], LastNumber()
    for raw in raws:
        task, parts, web = raw["task"], blocks(raw["subgoal_plan"]), domain == "web_agent"
        head = f"{INSTRUCTION}{LISTS[domain]}Task: {task} \n"
        first = f"{PLAN_HEAD}Task: {task}; Initial Environment Description: None."
        subgoals = [subgoal for subgoal, _ in parts]
        if formulation == "onetime" and module == "plan":
            messages = [first, "; ".join(subgoals)]
        elif formulation == "onetime":
            actions = [write_action(parse(line, web)) for _, lines in parts for line in lines]
            messages = [f"{head}Subgoals to be grounded: {'; '.join(subgoals)}\n", "; ".join(actions)]
        elif module == "plan":
            messages = _plan(first, parts, web, counter)
        else:
            messages = _ground(head, parts, domain, counter)
        if messages is not None:
            roles = ("user", "assistant") * len(messages)
            records.append(
                json.dumps(
                    {
                        "dataset": domain,
                        "id": f"{domain}_{len(records)}",
                        "messages": [
                            {"role": role, "content": text} for role, text in zip(roles, messages, strict=False)
                        ],
                    }
                )
            )
    return records


def _plan(first: str, parts: list[tuple[str, list[str]]], web: bool, counter: LastNumber) -> list[str] | None:
    messages = [first]
    for number, (subgoal, lines) in enumerate(parts, 1):
        if not lines:
            return None
        last = lines[-1]
        if web:
            text = subgoal[subgoal.find(": ") + 2 :]
            turn = ("We have already " + text[:1].lower() + text[1:]).strip(".").strip() + ". Should we stop planning?"
        else:
            result = last[last.rfind("=") + 2 :].strip().strip(".")
            turn = f"The executed result for Subgoal {number} is {result}".strip() + ". Should we stop planning?"
        label = last.split(" = ")[0].split(":")
        if len(label) == 1:  # no colon: a blank line
            return None
        reply = rename(label[1].strip().split(", ")[-1], turn, counter)
        if reply is None:
            return None
        messages += [subgoal if number == 1 else f"No, I will keep planning. {subgoal}", reply]
    return [*messages, "Yes, I will stop planning."]


def _ground(head: str, parts: list[tuple[str, list[str]]], domain: str, counter: LastNumber) -> list[str] | None:
    messages: list[str] = []
    results: dict[str, str] = {}
    for subgoal, lines in parts:
        if not lines:
            return None
        turn = f"Subgoal to be grounded: {subgoal}"
        if not messages:
            turn = head + turn
        elif domain == "complex_qa":
            turn += " The grounding could be based on the following results:" + "".join(
                f" The execution result for {label} is {results[label]}" for label in sorted(results)
            )
        actions = [parse(line, domain == "web_agent") for line in lines]
        results[subgoal[: subgoal.find(":")]] = actions[-1][3]
        reply = rename(actions[-1][0][-1], "; ".join(map(write_action, actions)), counter)
        if reply is None:
            return None
        messages += [turn + "\n", reply]
    return messages
