"""The functions of a prompt, as a model is shown them: their tools, and each function with its arguments.

From version 4 of the formulations on, models are shown what ToolBench shows: the description of each argument, and a
numbered list of the tools with theirs (decision 0057). Earlier versions, and the setting `descriptions=no`, leave these
out of prompts. Exported answer files have the same texts (`FunctionList.export`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lumos_queue.actions.tools.functions import FINISH, Function
from lumos_queue.commands import FunctionSchema
from lumos_queue.notation import without_roles

DESCRIPTIONS = "descriptions"  #: the setting that says whether a model is shown the descriptions of tools and arguments
SHOWN, HIDDEN = "yes", "no"  #: its values
DESCRIBED_SINCE = 4  #: the version of the formulations from which on descriptions are shown
MIXED = "mixed"  #: of data that has prompts of both forms
_FINISH = FINISH.describe()
_TOOLS = "Tools; their functions are called by their own names:"


def shows_descriptions(settings: Mapping[str, str], version: int) -> bool:
    """Whether an agent with these settings is shown descriptions, in this version of its formulation."""
    return version >= DESCRIBED_SINCE and settings.get(DESCRIPTIONS, SHOWN) == SHOWN


@dataclass(frozen=True, slots=True)
class FunctionList:
    """The functions that a prompt lists, in order. `is_described`: whether with all descriptions, as in ToolBench."""

    functions: Sequence[Function]
    is_described: bool = True

    def without_finish(self) -> FunctionList:
        """Return the list without Finish, for models that do not finish an episode."""
        return replace(self, functions=[function for function in self.functions if function is not FINISH])

    def write(self) -> str:
        """Return the list for prompts of text calls, with the tools before the functions."""
        lines = "\n".join(function.describe(self.is_described) for function in self.functions)
        return f"{self.write_tools()}Functions:\n{lines}\n\n"

    def write_tools(self) -> str:
        """Return the numbered list of the tools; '' without descriptions, or if no tool has a description.

        A tool without a description is left out, as a tool without a document is in ToolBench.
        """
        tools = self.describe_tools()
        lines = "\n".join(f"{number}. {tool}" for number, tool in enumerate(tools, start=1))
        return f"{_TOOLS}\n{lines}\n\n" if tools else ""

    def describe_tools(self) -> list[str]:
        """Return `NAME: DESCRIPTION` of each tool that has a description; [] without descriptions."""
        if not self.is_described:
            return []
        descriptions: dict[str, str] = {}
        for function in self.functions:
            if description := function.describe_tool():
                descriptions.setdefault(function.tool, description)
        return list(descriptions.values())

    def describe(self, function: Function | None) -> str:
        """Return the text about a single function, with its tool, for the record of its call; '' for None."""
        if function is None:
            return "Function: "
        tool = f"Tool: {function.describe_tool()}\n" if self.is_described and function.tool_description else ""
        return f"{tool}Function: {function.describe(self.is_described)}"

    def schemas(self) -> tuple[FunctionSchema, ...]:
        """Return the schemas for native calls. They have the descriptions of arguments in any case."""
        return tuple(function.native_schema() for function in self.functions)

    def export(self) -> list[dict[str, Any]]:
        """Return the schemas for an answer file, with exactly those descriptions that `write` shows."""
        return [_as_written(function).schema(self.is_described) for function in self.functions]

    def export_tools(self) -> str:
        """Return the list of the tools for the system's message of an answer file; '' if prompts have none."""
        return without_roles(self.write_tools()).rstrip("\n")


def _as_written(function: Function) -> Function:
    """Return the function with its descriptions as they are in a prompt: on one line, without marks of roles."""
    parameters = tuple(
        replace(parameter, description=without_roles(parameter.description)) for parameter in function.parameters
    )
    return replace(function, description=without_roles(" ".join(function.description.split())), parameters=parameters)


def find_form(prompt: str) -> str:
    """Return SHOWN if a prompt of text calls shows descriptions, HIDDEN if it leaves them out, '' if it may be either.

    A prompt without Finish may be either if it shows none: perhaps its functions have no descriptions.
    """
    if _FINISH in prompt:
        return SHOWN if f"{_FINISH}\n  " in prompt else HIDDEN
    for mark in ("\nFunctions:\n", "\nFunction: "):
        before, marker, rest = prompt.partition(mark)
        if marker and (_has_tools(before) or "\n  " in rest.partition("\n\n")[0]):
            return SHOWN
    return ""


def join_forms(forms: Collection[str]) -> str:
    """Return the form of a set of prompts: SHOWN, HIDDEN or MIXED; '' if it may be either."""
    definite_forms = {form for form in forms if form}
    return MIXED if len(definite_forms) > 1 else next(iter(definite_forms), "")


def _has_tools(text: str) -> bool:
    return f"\n{_TOOLS}\n" in text or "\nTool: " in text
