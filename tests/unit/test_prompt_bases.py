"""Which earlier prompt a prompt is stored after."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from db.journal.prompt_bases import PromptBases
from lumos_queue.commands import ROOT


def test_outside_a_tree_the_latest_prompt_of_the_role_counts_alone():
    bases = PromptBases()
    assert bases.find("planner", "ab", None) is None
    bases.add("planner", "a", 0, 0, None)
    bases.add("grounder", "ab", 1, 0, None)
    assert bases.find("planner", "abc", None) == (0, "a")
    bases.add("planner", "ax", 2, 0, None)
    assert bases.find("planner", "abc", None) is None, "the one before it is no base"
    bases.add("planner", "abc", 3, 1, None)
    assert bases.find("planner", "abcd", None) is None, "nor one that stood beside another"


def test_in_a_tree_a_prompt_goes_on_from_its_path_or_from_an_elder_sibling():
    bases = PromptBases()
    bases.add("policy", "Task.", 0, 0, ROOT)
    bases.add_other(1, 0)  # an action
    bases.add("policy", "Task. a", 2, 0, 1)
    assert bases.find("policy", "Task. a, and not as before", 1) == (2, "Task. a"), "an elder sibling"
    assert bases.find("policy", "Task. ab", 2) == (2, "Task. a"), "the parent"
    bases.add("policy", "Task. a, and not as before", 3, 0, 1)
    assert bases.find("policy", "Task. a, and not as ever", 1) == (2, "Task. a")
    assert bases.find("policy", "Task. a, and not as before, nor else", ROOT) == (0, "Task."), "no path leads there"
    assert bases.find("other", "Task. ab", 2) is None
    assert bases.find("policy", "Task. ab", None) is None, "outside the tree"


def test_an_ancestor_is_found_where_nothing_nearer_fits():
    bases = PromptBases()
    bases.add("policy", "Task.", 0, 0, ROOT)
    bases.add("policy", "Task. Told otherwise.", 1, 0, 0)
    assert bases.find("policy", "Task. Done.", 1) == (0, "Task.")


@st.composite
def asks(draw):
    """Steps of an episode, (role, prompt, parent) each; role '' is an action. Prompts repeat one another a lot."""
    steps = []
    for _ in range(draw(st.integers(1, 14))):
        # A parent is a step of a tree: an episode may also have steps in none.
        parents = [None, ROOT, *(at for at, (_, _, parent) in enumerate(steps) if parent is not None)]
        role = draw(st.sampled_from(["policy", "policy", "policy", "other", ""]))
        known = [prompt for _, prompt, _ in steps]
        prompt = draw(st.sampled_from(["", *known])) + draw(st.text("ab", max_size=2))
        steps.append((role, prompt, draw(st.sampled_from(parents))))
    return steps


def path_of(steps, parent) -> list[int]:
    found = [ROOT]
    while parent != ROOT:
        found.append(parent)
        parent = steps[parent][2]
    return found


@given(asks())
def test_the_base_is_the_longest_of_the_path_and_its_elder_siblings_and_every_prompt_comes_back(steps):
    bases, stored = PromptBases(), []
    for position, (role, prompt, parent) in enumerate(steps):
        if not role:
            bases.add_other(position, parent)
            stored.append((None, ""))
            continue
        earlier = [(at, one) for at, one in enumerate(steps[:position]) if one[0] == role]
        if parent is None:
            possible = [(at, one[1]) for at, one in earlier if one[2] is None][-1:]
        else:
            path = path_of(steps, parent)
            possible = [(at, one[1]) for at, one in earlier if one[2] in path]
        longest = max((len(text) for _, text in possible if prompt.startswith(text)), default=None)
        found = bases.find(role, prompt, parent)
        assert (None if found is None else len(found[1])) == longest
        assert found is None or found in possible
        stored.append((None, prompt) if found is None else (found[0], prompt[len(found[1]) :]))
        bases.add(role, prompt, position, 0, parent)
    rebuilt: list[str] = []
    for base, delta in stored:
        rebuilt.append(delta if base is None else rebuilt[base] + delta)
    assert [text for text, (role, _, _) in zip(rebuilt, steps, strict=True) if role] == [
        prompt for role, prompt, _ in steps if role
    ]
