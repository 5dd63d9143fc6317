"""A planner and a policy for the two open-ended tasks, scripted: they know the tasks, and answer what they are asked.

    python -m tests.fake_endpoint --script tests.open_ended_models:reply

The planner's second list is what it writes after any refusal. The policy does each line with one call, but for those
that the answers to it decide: the name of a picture, the price of a night.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tests.tool_scripts import call, finish

LISTS = {
    "artwork": (
        (
            "Paint the lighthouse with text_to_image_generation",
            "Write a poem of it with write_file",
            "Tell what was made",
        ),
        (
            "Search for how to compose the picture with search",
            "Paint the lighthouse with text_to_image_generation",
            "Write a poem of it with write_file",
            "Compose music in its mood with compose_melody",
            "Tell what was made and why it belongs together",
        ),
    ),
    "report": (
        ("Find out about Ombry with search", "Write the report with write_file"),
        (
            "Find out about Ombry with search",
            "Find a room with search",
            "Work out what it costs with calculator",
            "Draw the town with text_to_image_generation",
            "Write the report with write_file",
        ),
    ),
}
POEM = "Light that turns above the foam,\nstorm that cannot find a home."
_LINE = re.compile(r"Now do line (\d+), and nothing else: (.*)")


def reply(prompt: str) -> str | None:
    """Answer as the role that the prompt addresses; None for a prompt of neither role."""
    task = "artwork" if "Make an artwork" in prompt else "report"
    if "You plan how" in prompt:
        lines = LISTS[task]["does not approve" in prompt]
        return "My plan:\n" + "\n".join(f"{number}. {line}" for number, line in enumerate(lines, start=1))
    matches = _LINE.findall(prompt)
    if not matches:
        return None
    observations = re.findall(r"Observation: (.*)", prompt[prompt.index("Now do line") :])
    return _do(matches[-1][1], observations, prompt)


def _do(line: str, observations: Sequence[str], prompt: str) -> str:
    for words, (first, after) in _LINES.items():
        if line.startswith(words):
            return after(observations[-1]) if observations else first(prompt)
    return finish(f"{line}: {_memory(prompt)}")


def _memory(prompt: str) -> str:
    """What the lines before gave, as the policy is told."""
    sections = re.findall(r"Done so far:\n(.*?)\n\nNow do line", prompt, re.DOTALL)
    return " ".join(sections[-1].split()) if sections else "nothing yet"


def _say(words: str) -> Callable[[str], str]:
    return lambda observation: finish(f"{words} {_response(observation)}")


def _response(observation: str) -> str:
    """What a function returned, in short: its answer may be cut, and is then no JSON."""
    match = re.search(r'"response": "?(.{1,60})', observation)
    return match[1].split('"}')[0] if match else "nothing"


_LINES: dict[str, tuple[Callable[[str], str], Callable[[str], str]]] = {
    "Search for how": (lambda _: call("search", query="composition of a picture"), _say("Composition:")),
    "Paint": (lambda _: call("text_to_image_generation", text="a lighthouse in a storm"), _say("The painting:")),
    "Write a poem": (lambda _: call("write_file", name="poem.txt", text=POEM), _say("The poem:")),
    "Compose": (lambda _: call("compose_melody", text="a stormy evening"), _say("The music:")),
    "Find out": (lambda _: call("search", query="Ombry harbour town"), _say("Ombry:")),
    "Find a room": (lambda _: call("search", query="inn in Ombry night breakfast"), _say("A room: 64 euros a night.")),
    "Work out": (lambda _: call("calculator", formula="2 * 64 + 2 * 39 + 3 * 15"), _say("It costs")),
    "Draw": (lambda _: call("text_to_image_generation", text="a harbour town with white houses"), _say("Picture:")),
    "Write the report": (
        lambda prompt: call("write_file", name="report.md", text=f"# Three days in Ombry\n\n{_memory(prompt)}"),
        lambda observation: finish(f"The report is in report.md. {_response(observation)}"),
    ),
}
