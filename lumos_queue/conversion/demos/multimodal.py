"""Worked examples of questions about an image with choices: look, think, and choose. The images do not exist."""

from __future__ import annotations

from lumos_queue.conversion.demos import Demo

_CHOOSE = "You must choose one from 'A', 'B', 'C' or 'D'. Output only one letter!"

_BOAT = (
    "What will the man in the boat most likely do next? There're some choices: A. fish, B. row, C. swim, D. sleep.",
    "The man holds a long rod over the water. A net lies beside him. Overall, the final answer is 'fish'.",
)
_STALL = (
    "In which season was this stall set up? There're some choices: A. spring, B. summer, C. autumn, D. winter.",
    "The stall sells pumpkins and chestnuts. The leaves on the ground are brown. Overall, the final answer is "
    "'autumn'.",
)
_CLOCK = (
    "Is the shop open at the time that the clock shows? There're some choices: A. yes, B. no, C. only on Sundays, "
    "D. only at noon.",
    "The clock shows eight in the evening. The sign says that the shop closes at six. Overall, the final answer is "
    "'no'.",
)
_TOOL = (
    "What is the tool on the bench used for? There're some choices: A. cutting, B. measuring, C. painting, D. gluing.",
    "A folding rule lies on the bench. It has marks for every centimetre. Overall, the final answer is 'measuring'.",
)
_BOAT_ASKED, _STALL_ASKED, _CLOCK_ASKED, _TOOL_ASKED = (
    task.replace(" There're", "{} There're") + f" {_CHOOSE}" for task, _ in (_BOAT, _STALL, _CLOCK, _TOOL)
)


def _vqa(question: str, observation: str) -> str:
    """Return the arguments of the last action: the question, the earlier observation as text, and the choices."""
    return f"[IMG], Question: {question.format(f' We can also see that {observation}.')}"


DEMOS = {
    "high": (
        Demo(
            *_BOAT,
            f"""
Subgoal 1: Look at what the man holds and what lies beside him.
Action 1-1: R1 = VQA([IMG], Question: What does the man hold?) = a long rod over the water
Action 1-2: R2 = VQA([IMG], Question: What lies beside the man?) = a net

Subgoal 2: Choose what the man will most likely do next.
Action 2-1: R3 = VQA({_vqa(_BOAT_ASKED, "the man holds a long rod over the water, a net lies beside him")}) = A""",
        ),
        Demo(
            *_STALL,
            f"""
Subgoal 1: Look at the goods of the stall and at the ground, and think when both are seen.
Action 1-1: R1 = VQA([IMG], Question: What does the stall sell?) = pumpkins and chestnuts
Action 1-2: R2 = VQA([IMG], Question: What do the leaves on the ground look like?) = brown
Action 1-3: R3 = QA([R1, R2], Question: In which part of the year are such goods sold and leaves seen?) = autumn

Subgoal 2: Choose the season in which the stall was set up.
Action 2-1: R4 = VQA({_vqa(_STALL_ASKED, "the goods and the leaves are those of autumn")}) = C""",
        ),
        Demo(
            *_CLOCK,
            f"""
Subgoal 1: Read the clock and the sign.
Action 1-1: R1 = VQA([IMG], Question: Which time does the clock show?) = eight in the evening
Action 1-2: R2 = VQA([IMG], Question: When does the sign say that the shop closes?) = at six

Subgoal 2: Think whether the shop is open then.
Action 2-1: R3 = QA([R1, R2], Question: Is the shop still open at the time of the clock?) = no

Subgoal 3: Choose the answer.
Action 3-1: R4 = VQA({_vqa(_CLOCK_ASKED, "the shop is closed by then")}) = B""",
        ),
        Demo(
            *_TOOL,
            f"""
Subgoal 1: Find out which tool lies on the bench and what is special about it.
Action 1-1: R1 = VQA([IMG], Question: Which tool lies on the bench?) = a folding rule
Action 1-2: R2 = VQA([IMG], Question: What is on the tool?) = marks for every centimetre

Subgoal 2: Choose what the tool is used for.
Action 2-1: R3 = VQA({_vqa(_TOOL_ASKED, "a folding rule with marks for every centimetre lies there")}) = B""",
        ),
    ),
    "low": (
        Demo(
            *_BOAT,
            f"""
Subgoal 1: Look at what the man holds.
Action 1-1: R1 = VQA([IMG], Question: What does the man hold?) = a long rod over the water

Subgoal 2: Look at what lies beside him.
Action 2-1: R2 = VQA([IMG], Question: What lies beside the man?) = a net

Subgoal 3: Choose what the man will most likely do next.
Action 3-1: R3 = VQA({_vqa(_BOAT_ASKED, "the man holds a long rod over the water, a net lies beside him")}) = A""",
        ),
        Demo(
            *_STALL,
            f"""
Subgoal 1: Look at the goods of the stall.
Action 1-1: R1 = VQA([IMG], Question: What does the stall sell?) = pumpkins and chestnuts

Subgoal 2: Look at the leaves on the ground.
Action 2-1: R2 = VQA([IMG], Question: What do the leaves on the ground look like?) = brown

Subgoal 3: Think when such goods are sold and such leaves are seen.
Action 3-1: R3 = QA([R1, R2], Question: In which part of the year are such goods sold and leaves seen?) = autumn

Subgoal 4: Choose the season in which the stall was set up.
Action 4-1: R4 = VQA({_vqa(_STALL_ASKED, "the goods and the leaves are those of autumn")}) = C""",
        ),
        Demo(
            *_CLOCK,
            f"""
Subgoal 1: Read the clock.
Action 1-1: R1 = VQA([IMG], Question: Which time does the clock show?) = eight in the evening

Subgoal 2: Read the sign.
Action 2-1: R2 = VQA([IMG], Question: When does the sign say that the shop closes?) = at six

Subgoal 3: Think whether the shop is open then.
Action 3-1: R3 = QA([R1, R2], Question: Is the shop still open at the time of the clock?) = no

Subgoal 4: Choose the answer.
Action 4-1: R4 = VQA({_vqa(_CLOCK_ASKED, "the shop is closed by then")}) = B""",
        ),
        Demo(
            *_TOOL,
            f"""
Subgoal 1: Find out which tool lies on the bench.
Action 1-1: R1 = VQA([IMG], Question: Which tool lies on the bench?) = a folding rule

Subgoal 2: Find out what is on the tool.
Action 2-1: R2 = VQA([IMG], Question: What is on the tool?) = marks for every centimetre

Subgoal 3: Choose what the tool is used for.
Action 3-1: R3 = VQA({_vqa(_TOOL_ASKED, "a folding rule with marks for every centimetre lies there")}) = B""",
        ),
    ),
}
