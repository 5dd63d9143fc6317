"""The tool that verifies a renaming, without a mapping: local variables, docstrings and formatting may change."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.rename_trees import compare_texts, write_tree
from tests.structure.rename_only.mapping import Mapping
from tests.structure.rename_only.trees import compare_trees

ROOT = Path(__file__).resolve().parents[2]
LOCAL_RENAMINGS = {
    "a local variable": ("def f():\n    one = 1\n    return one\n", "def f():\n    row = 1\n    return row\n"),
    "a loop": (
        "def f(a):\n    for one in a:\n        print(one)\n",
        "def f(a):\n    for row in a:\n        print(row)\n",
    ),
    "a comprehension": ("x = [one for one in y if one]\n", "x = [row for row in y if row]\n"),
    "nested comprehensions": (
        "x = {one: [one, other] for one in y for other in one}\n",
        "x = {a: [a, b] for a in y for b in a}\n",
    ),
    "a comprehension in a class": (
        "class A:\n    x = 1\n    y = [one for one in (x,)]\n",
        "class A:\n    x = 1\n    y = [row for row in (x,)]\n",
    ),
    "a walrus in a comprehension": (
        "def f(a):\n    x = [one for b in a if (one := b)]\n    return one\n",
        "def f(a):\n    x = [row for b in a if (row := b)]\n    return row\n",
    ),
    "a lambda": ("f = lambda one, *more: one(more)\n", "f = lambda row, *rest: row(rest)\n"),
    "an f-string": (
        "def f(a):\n    one = a\n    return f'{one!r:>{one}} one'\n",
        "def f(a):\n    row = a\n    return f'{row!r:>{row}} one'\n",
    ),
    "a match statement": (
        "def f(a):\n    match a:\n        case [one, *more]: return one, more\n"
        "        case {'k': other, **left} as said: return other, left, said\n",
        "def f(a):\n    match a:\n        case [row, *rows]: return row, rows\n"
        "        case {'k': value, **extra} as text: return value, extra, text\n",
    ),
    "an exception": (
        "def f():\n    try: g()\n    except E as one: print(one)\n",
        "def f():\n    try: g()\n    except E as error: print(error)\n",
    ),
    "a nonlocal variable": (
        "def f():\n    one = 1\n    def g():\n        nonlocal one\n        one += 1\n    return one, g\n",
        "def f():\n    row = 1\n    def g():\n        nonlocal row\n        row += 1\n    return row, g\n",
    ),
    "an alias of a local import": (
        "def f():\n    import os as one\n    return one\n",
        "def f():\n    import os as system\n    return system\n",
    ),
    "with, del and unpacking": (
        "def f(a):\n    with a as (one, [other]):\n        del one\n    return other\n",
        "def f(a):\n    with a as (file, [lock]):\n        del file\n    return lock\n",
    ),
    "a swap of two names": (
        "def f(a):\n    one, other = a\n    return one - other\n",
        "def f(a):\n    other, one = a\n    return other - one\n",
    ),
    "names of *arguments": (
        "def f(a, /, *b, **c):\n    return a, b, c\n",
        "def f(x, /, *y, **z):\n    return x, y, z\n",
    ),
    "a docstring and a comment": (
        '"""Old."""\ndef f():\n    """Of one."""\n    return 1  # so\n',
        '"""New."""\ndef f():\n    # why\n    return 1\n',
    ),
    "a docstring that replaces pass": ("class A:\n    pass\n", 'class A:\n    """Text."""\n'),
    "formatting": ("x = [1,\n  'a' 'b']  # fmt: skip\n", 'x = [\n    1,\n    "ab",\n]\n'),
    "an annotation in a string": (
        "def f(a):\n    one: 'list[int]' = a\n    return one\n",
        'def f(a):\n    row: "list[int]" = a\n    return row\n',
    ),
}


@pytest.mark.parametrize("case", LOCAL_RENAMINGS)
def test_local_variables_docstrings_comments_and_formatting_may_change(tmp_path, case):
    report = compare_texts(tmp_path, *LOCAL_RENAMINGS[case])
    assert (report.problems, report.renamed) == ([], 1)


REFUSALS = {
    "a string": ("x = 'one'\n", "x = 'row'\n", "a.py:1: the string 'one' became 'row'"),
    "a prompt": ("PROMPT = '''\nAnswer.\n'''\n", "PROMPT = '''\nReply.\n'''\n", "the string '\\nAnswer"),
    "text of an f-string": ("x = f'one {y}'\n", "x = f'row {y}'\n", "the string 'one '"),
    "a debugging f-string": (
        "def f(a):\n    one = a\n    return f'{one=}'\n",
        "def f(a):\n    row = a\n    return f'{row=}'\n",
        "the string 'one='",
    ),
    "a format": ("x = f'{y:3}'\n", "x = f'{y:4}'\n", "the string '3'"),
    "a conversion": ("x = f'{y!r}'\n", "x = f'{y!s}'\n", "a.py:1: conversion: 114 became 115"),
    "a number": ("\nx = 1\n", "\nx = 2\n", "a.py:2: 1 became 2"),
    "a number's type": ("x = 1\n", "x = 1.0\n", "a.py:1: 1 became 1.0"),
    "a bool": ("x = 1\n", "x = True\n", "a.py:1: 1 became True"),
    "bytes": ("x = b'one'\n", "x = b'row'\n", "b'one' became b'row'"),
    "a string as bytes": ("x = 'one'\n", "x = b'one'\n", "'one' became b'one'"),
    "a text that is no docstring": ("x = 1\n'one'\n", "x = 1\n'row'\n", "the string 'one'"),
    "an operator": ("x = a + b\n", "x = a - b\n", "a.py:1: Add became Sub"),
    "a comparison": ("x = a < b\n", "x = a <= b\n", "became"),
    "a literal of a type": (
        "def f(a: 'Literal[\"one\"]'): ...\n",
        "def f(a: 'Literal[\"row\"]'): ...\n",
        "the string 'one' became 'row'",
    ),
    "metadata of a type": (
        "def f(a: Annotated[int, 'one']): ...\n",
        "def f(a: Annotated[int, 'row']): ...\n",
        "the string 'one' became 'row'",
    ),
    "a keyword": (
        "f(one=1)\n",
        "f(row=1)\n",
        "a.py:1: the keyword 'one' became 'row', which the mapping does not list",
    ),
    "a keyword of a builtin": ("x = dict(one=1)\n", "x = dict(row=1)\n", "the keyword 'one' became 'row'"),
    "a keyword that became **": ("f(one=1)\n", "f(**one)\n", "a.py:1: f(one=1) became f(**one)"),
    "one keyword more": ("f(a=1)\n", "f(a=1, b=2)\n", "f(a=1) became f(a=1, b=2)"),
    "a literal with the name of a variable": (
        "def f(a):\n    one: Literal['one'] = a\n    return one\n",
        "def f(a):\n    row: Literal['row'] = a\n    return row\n",
        "a.py:2: the string 'one' became 'row'",
    ),
    "one argument more": ("f(1)\n", "f(1, 2)\n", "1 of 'args' became 2"),
    "swapped statements": (
        "def f(a, b):\n    one = a\n    other = b\n    return one, other\n",
        "def f(a, b):\n    other = b\n    one = a\n    return one, other\n",
        "a.py:2: 'a' became 'b'",
    ),
    "swapped calls": ("f()\ng()\n", "g()\nf()\n", "a.py:1: 'f' became 'g'"),
    "swapped imports": ("import b\nimport c\n", "import c\nimport b\n", "imports are in another order"),
    "another import": (
        "from b import c\n",
        "from b import d\n",
        "'from b import c' is missing, 'from b import d' was added",
    ),
    "an alias of a global import": ("import b as one\n", "import b as row\n", "the variable 'one' became 'row'"),
    "a statement that is gone": ("f()\ng()\n", "f()\n", "a statement is gone: g()"),
    "a statement that was added": ("f()\n", "f()\n\ng()\n", "a.py:3: a statement was added: g()"),
    "pass for code": ("def f():\n    g()\n", "def f():\n    pass\n", "a statement is gone: g()"),
    "async": ("def f(): ...\n", "async def f(): ...\n", "became async def"),
    "a decorator": ("@b\ndef f(): ...\n", "@c\ndef f(): ...\n", "'b' became 'c'"),
    "a decorator that is gone": ("@b\ndef f(): ...\n", "def f(): ...\n", "1 of 'decorator_list' became 0"),
    "a default": ("def f(a=1): ...\n", "def f(a=2): ...\n", "1 became 2"),
    "an annotation": ("def f(a: int): ...\n", "def f(a: str): ...\n", "'int' became 'str'"),
    "an annotation in a string": ("def f(a: 'int'): ...\n", "def f(a: 'str'): ...\n", "'int' became 'str'"),
    "a parameter": ("def f(one): ...\n", "def f(row): ...\n", "a.py:1: the parameter 'one' of f became 'row'"),
    "parameters in another order": ("def f(a, b): ...\n", "def f(b, a): ...\n", "the parameter 'a' of f became 'b'"),
    "a parameter by keyword only": ("def f(a): ...\n", "def f(*, a): ...\n", "the parameters of"),
    "a function": ("def one(): ...\n", "def row(): ...\n", "the function 'one' became 'row'"),
    "an inner function": (
        "def f():\n    def one(): ...\n",
        "def f():\n    def row(): ...\n",
        "the function 'one' of f became 'row'",
    ),
    "a class": ("class One: ...\n", "class Row: ...\n", "the class 'One' became 'Row'"),
    "a base": ("class A(B): ...\n", "class A(C): ...\n", "'B' became 'C'"),
    "a keyword of a class": ("class A(b=1): ...\n", "class A(c=1): ...\n", "arg: 'b' became 'c'"),
    "a field": (
        "class A:\n    one: int\n",
        "class A:\n    row: int\n",
        "a.py:2: the attribute 'one' of A became 'row'",
    ),
    "an attribute": ("x.one = 1\n", "x.row = 1\n", "the attribute 'one' became 'row'"),
    "an attribute in a pattern": (
        "match x:\n    case A(one=1): ...\n",
        "match x:\n    case A(row=1): ...\n",
        "a.py:2: the attribute 'one' became 'row'",
    ),
    "a global variable": ("one = 1\n", "row = 1\n", "the variable 'one' became 'row'"),
    "a global variable of a function": (
        "one = 1\ndef f():\n    global one\n    one = 2\n",
        "one = 1\ndef f():\n    global row\n    row = 2\n",
        "'one' became 'row'",
    ),
    "a global that became local": (
        "one = 1\ndef f():\n    global one\n    one = 2\n",
        "one = 1\ndef f():\n    nonlocal one\n    one = 2\n",
        "became",
    ),
    "a name of a builtin": ("x = list\n", "x = tuple\n", "'list' became 'tuple', which is bound outside"),
    "two names that become one": (
        "def f(a):\n    one, other = a\n    return one\n",
        "def f(a):\n    row, row = a\n    return row\n",
        "a.py:2: 'other' and 'one' became one name, 'row'",
    ),
    "one name that becomes two": (
        "def f():\n    one = 1\n    return one\n",
        "def f():\n    row = 1\n    return one\n",
        "a.py:3: 'one'",
    ),
    "a local that captures a global": (
        "row = 1\ndef f():\n    one = 2\n    return one + row\n",
        "row = 1\ndef f():\n    row = 2\n    return row + row\n",
        "a.py:4: 'row' became 'row', which is a variable of another scope",
    ),
    "a local that captures a builtin": (
        "def f(a):\n    one = a\n    return list(one)\n",
        "def f(a):\n    list = a\n    return list(list)\n",
        "'list' became 'list', but a variable 'list' captures it",
    ),
    "a local that hides a builtin": (
        "def f(a):\n    one = a\n    return one\n",
        "def f(a):\n    id = a\n    return id\n",
        "which hides the builtin",
    ),
    "an inner variable that captures an outer one": (
        "def f(a):\n    return [a for one in a]\n",
        "def f(a):\n    return [a for a in a]\n",
        "another scope",
    ),
    "a lambda that captures": (
        "def f(a):\n    return lambda one: a\n",
        "def f(a):\n    return lambda a: a\n",
        "another scope",
    ),
    "a variable of another scope": (
        "def f():\n    one = 1\n    def g():\n        one = 2\n    return one\n",
        "def f():\n    one = 1\n    def g():\n        nonlocal one\n        one = 2\n    return one\n",
        "became",
    ),
    "a read that became a write": ("x = [a, b]\n", "x = [a, (b := a)]\n", "b became (b := a)"),
    "__all__": ("__all__ = ['f']\ndef f(): ...\n", "__all__ = ['g']\ndef f(): ...\n", "the export 'f' became 'g'"),
    "__slots__": (
        "class A:\n    __slots__ = ('one',)\n",
        "class A:\n    __slots__ = ('row',)\n",
        "the slot 'one' became 'row'",
    ),
    "getattr": ("getattr(x, 'one')\n", "getattr(x, 'row')\n", "the string 'one' became 'row'"),
    "a reference": (
        "x = 'a:one'\ndef one(): ...\n",
        "x = 'a:row'\ndef one(): ...\n",
        "the string 'a:one' became 'a:row'",
    ),
    "a file that is gone": ({"a.py": "", "b.py": ""}, {"a.py": ""}, "b.py:1: the file is gone"),
    "a file that was added": ({"a.py": ""}, {"a.py": "", "b.py": ""}, "b.py:1: the file was added"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_everything_else_is_refused_with_its_place(tmp_path, case):
    old, new, problem = REFUSALS[case]
    report = compare_texts(tmp_path, old, new)
    assert any(problem in text for text in report.problems), report.problems
    assert report.refused == isinstance(old, str)


def test_other_files_are_compared_and_listed(tmp_path):
    files = {"a.py": "", "same.md": "x", "changed.md": "x", "gone.toml": "x", ".git/config": "x", "build/log": "x"}
    report = compare_texts(
        tmp_path, files, {"a.py": "", "same.md": "x", "changed.md": "y", "added.sql": "x", ".git/config": "y"}
    )
    assert report.other_files == ["added.sql: added", "changed.md: changed", "gone.toml: gone"]
    assert (report.problems, report.equal) == ([], 1)


def test_a_tree_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(ValueError, match="is not a folder"):
        compare_trees(tmp_path / "nothing", tmp_path, Mapping())
    with pytest.raises(ValueError, match="has no Python file"):
        compare_texts(tmp_path, {"a.md": ""}, {"a.md": ""})
    with pytest.raises(ValueError, match=r"b\.py' does not parse"):
        compare_texts(tmp_path, {"b.py": "def"}, {"b.py": "def"})


def test_the_command_prints_the_lists_and_exits_with_1_if_something_else_changed(tmp_path):
    def run(*options: str) -> subprocess.CompletedProcess[str]:
        command = [
            sys.executable,
            "-m",
            "tests.structure.rename_only",
            str(tmp_path / "old"),
            str(tmp_path / "new"),
            *options,
        ]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)

    write_tree(tmp_path / "old", {"a.py": "def one(): ...\n", "b.md": "x"})
    write_tree(tmp_path / "new", {"a.py": "def row(): ...\n", "b.md": "y"})
    (tmp_path / "map").write_text("function one -> row\n")
    refused, accepted = run(), run("--map", str(tmp_path / "map"))
    assert (refused.returncode, accepted.returncode) == (1, 0)
    assert "Refused:\n    a.py:1: the function 'one' became 'row', which the mapping does not list\n" in refused.stdout
    assert "Other files that differ:\n    b.md: changed\n" in accepted.stdout
    assert "1 renamed or reworded (1 names), 0 refused; 0 problems, 0 to check" in accepted.stdout
