"""The tool that verifies a renaming, with a mapping of functions, classes, attributes, parameters and modules."""

from __future__ import annotations

import pytest

from tests.rename_trees import compare_texts
from tests.structure.rename_only.mapping import read_mapping

LISTED = {
    "a function and its uses": (
        {"a.py": "def one(): ...\none()\n", "b.py": "import a\nfrom a import one\none()\na.one()\n"},
        {"a.py": "def row(): ...\nrow()\n", "b.py": "import a\nfrom a import row\nrow()\na.row()\n"},
        "function one -> row",
    ),
    "a function of one module": (
        {"a.py": "def one(): ...\n", "b.py": "def one(): ...\n"},
        {"a.py": "def row(): ...\n", "b.py": "def one(): ...\n"},
        "function a:one -> row",
    ),
    "a function through a package": (
        {
            "p/__init__.py": "from .a import one\n",
            "p/a.py": "def one(): ...\n",
            "b.py": "from p import one as f\nf()\n",
        },
        {
            "p/__init__.py": "from .a import row\n",
            "p/a.py": "def row(): ...\n",
            "b.py": "from p import row as f\nf()\n",
        },
        "function p.a:one -> row",
    ),
    "imports in the order of new names": (
        {"a.py": "from b import a, one\nfrom c import d\n", "b.py": "a = 1\ndef one(): ...\n", "c.py": "d = 1\n"},
        {
            "a.py": "from b import a_row, b_row\nfrom c import d\n",
            "b.py": "b_row = 1\ndef a_row(): ...\n",
            "c.py": "d = 1\n",
        },
        "variable b:a -> b_row\nfunction b:one -> a_row",
    ),
    "a class, a method and a field": (
        "class One:\n    kept: int\n    def told(self): return self.kept\nOne(kept=1).told()\nOne.told\n"
        "x.kept\nmatch x:\n    case One(kept=1): ...\ny: 'list[One]'\n",
        "class Row:\n    held: int\n    def tell(self): return self.held\nRow(held=1).tell()\nRow.tell\n"
        "x.held\nmatch x:\n    case Row(held=1): ...\ny: 'list[Row]'\n",
        "class One -> Row\nattribute One.kept -> held\nfunction a:One.told -> tell",
    ),
    "a member of a base": (
        "class A:\n    def told(self): ...\nclass B(A):\n    def told(self): super().told()\n",
        "class A:\n    def tell(self): ...\nclass B(A):\n    def tell(self): super().tell()\n",
        "function told -> tell",
    ),
    "a parameter and its keywords": (
        {
            "a.py": "def f(one=1): return one\nclass A:\n    def __init__(self, one): ...\n",
            "b.py": "from functools import partial\nfrom a import A, f\n"
            "f(one=2)\nA(one=3)\npartial(f, one=4)\nx(one=1)\n",
        },
        {
            "a.py": "def f(row=1): return row\nclass A:\n    def __init__(self, row): ...\n",
            "b.py": "from functools import partial\nfrom a import A, f\n"
            "f(row=2)\nA(row=3)\npartial(f, row=4)\nx(one=1)\n",
        },
        "parameter f.one -> row\nparameter A.__init__.one -> row",
    ),
    "a global variable": (
        "one = 1\ndef f():\n    global one\n    one = 2\n",
        "row = 1\ndef f():\n    global row\n    row = 2\n",
        "variable a:one -> row",
    ),
    "a global variable beside a field": (
        "one = 1\nclass A:\n    one = 2\n    def f(self): return one\n",
        "row = 1\nclass A:\n    one = 2\n    def f(self): return row\n",
        "variable one -> row",
    ),
    "a module": (
        {
            "p/__init__.py": "",
            "p/a.py": "x = 1\n",
            "b.py": "import p.a\nfrom p import a\nfrom p.a import x\na.x\np.a.x\n",
            "p/c.py": "from . import a\nfrom .a import x\n",
        },
        {
            "p/__init__.py": "",
            "p/d.py": "x = 1\n",
            "b.py": "import p.d\nfrom p import d\nfrom p.d import x\nd.x\np.d.x\n",
            "p/c.py": "from . import d\nfrom .d import x\n",
        },
        "module p/a.py -> p.d  # a path with slashes, too",
    ),
    "a package": (
        {"p/__init__.py": "", "p/a.py": "from .b import x\n", "p/b.py": "x = 1\n", "c.py": "import p.a\np.a.x\n"},
        {"q/__init__.py": "", "q/a.py": "from .b import x\n", "q/b.py": "x = 1\n", "c.py": "import q.a\nq.a.x\n"},
        "module p -> q",
    ),
    "__all__ and __slots__": (
        "__all__ = ['One']\nclass One:\n    __slots__ = ('kept',)\n    def f(self): self.kept = 1\n",
        "__all__ = ['Row']\nclass Row:\n    __slots__ = ('held',)\n    def f(self): self.held = 1\n",
        "class One -> Row\nattribute kept -> held",
    ),
}


@pytest.mark.parametrize("case", LISTED)
def test_what_the_mapping_lists_may_be_renamed_and_is_refused_without_it(tmp_path, case):
    old, new, mapping = LISTED[case]
    assert compare_texts(tmp_path, old, new, mapping).problems == []
    assert compare_texts(tmp_path, old, new).problems


MAPPING_REFUSALS = {
    "an unused entry": ("x = 1\n", "x = 1\n", "function one -> row", "mapping:1: 'function one -> row' is unused"),
    "an unknown module": ("x = 1\n", "x = 1\n", "function b:one -> row", "there is no module 'b'"),
    "an entry of another kind": (
        "def one(): ...\n",
        "def row(): ...\n",
        "class one -> row",
        "the function 'one' became 'row'",
    ),
    "another name than the entry's": (
        "def one(): ...\n",
        "def two(): ...\n",
        "function one -> row",
        "'one' is 'two', by the mapping it must be 'row'",
    ),
    "a definition that stays": (
        "def one(): ...\n",
        "def one(): ...\n",
        "function one -> row",
        "'one' is 'one', by the mapping it must be 'row'",
    ),
    "one of two definitions stays": (
        {"a.py": "def one(): ...\n", "b.py": "def one(): ...\n"},
        {"a.py": "def row(): ...\n", "b.py": "def one(): ...\n"},
        "function one -> row",
        "b.py:1: the function 'one' is 'one'",
    ),
    "an import that stays": (
        {"a.py": "def one(): ...\n", "b.py": "from a import one\n"},
        {"a.py": "def row(): ...\n", "b.py": "from a import one\n"},
        "function one -> row",
        "'from a import row' is missing",
    ),
    "a use that stays": (
        {"a.py": "def one(): ...\n", "b.py": "import a\na.one()\n"},
        {"a.py": "def row(): ...\n", "b.py": "import a\na.one()\n"},
        "function one -> row",
        "b.py:2: the attribute 'one' is 'one', by the mapping it must be 'row'",
    ),
    "a keyword that stays": (
        "def f(one): ...\nf(one=1)\n",
        "def f(row): ...\nf(one=1)\n",
        "parameter f.one -> row",
        "the keyword 'one' is 'one'",
    ),
    "a keyword of a builtin": (
        "def f(one): ...\nx = dict(one=1)\n",
        "def f(row): ...\nx = dict(row=1)\n",
        "parameter one -> row",
        "a.py:2: the keyword 'one' became 'row'",
    ),
    "an attribute that stays": (
        "class A:\n    one = 1\nx.one\n",
        "class A:\n    row = 1\nx.one\n",
        "attribute one -> row",
        "the attribute 'one' stays",
    ),
    "an attribute that no class defines": (
        "x.one()\n",
        "x.row()\n",
        "attribute one -> row",
        "the attribute 'one' became 'row'",
    ),
    "two names of a module become one": (
        "def one(): ...\ndef row(): ...\n",
        "def row(): ...\ndef row(): ...\n",
        "function one -> row",
        "'row' and 'one' became one name, 'row'",
    ),
    "two members become one": (
        "class A:\n    one = 1\n    row = 2\n",
        "class A:\n    row = 1\n    row = 2\n",
        "attribute one -> row",
        "'one' and 'row' of 'A' become one name, 'row'",
    ),
    "a member becomes that of a base": (
        "class A:\n    def row(self): ...\nclass B(A):\n    def one(self): ...\n",
        "class A:\n    def row(self): ...\nclass B(A):\n    def row(self): ...\n",
        "function one -> row",
        "a.py:3: 'one' and 'row' of 'B' become one name, 'row'",
    ),
    "a method that no longer overrides": (
        "class A:\n    def one(self): ...\nclass B(A):\n    def one(self): ...\n",
        "class A:\n    def one(self): ...\nclass B(A):\n    def row(self): ...\n",
        "function B.one -> row",
        "'B.one' and that of a base class get different names",
    ),
    "a parameter that captures": (
        "def f(one, row): ...\n",
        "def f(row, row_): ...\n",
        "parameter one -> row",
        "the parameter 'row' of f became 'row_'",
    ),
    "a function that hides a builtin": (
        "def one(): ...\n",
        "def id(): ...\n",
        "function one -> id",
        "hides the builtin",
    ),
    "a function that captures a builtin": (
        "def one(): ...\nid(1)\n",
        "def id(): ...\nid(1)\n",
        "function one -> id",
        "a variable 'id' captures it",
    ),
    "entries that contradict each other": (
        "def one(): ...\n",
        "def row(): ...\n",
        "function one -> row\nfunction a:one -> two",
        "ambiguous entries for 'one' of a",
    ),
    "two modules become one": (
        {"a.py": "", "b.py": ""},
        {"b.py": ""},
        "module a -> b",
        "the modules 'a' and 'b' become one, 'b'",
    ),
    "a string with the name of an attribute": (
        "class A:\n    one = 1\nx = {'one': 1}\n",
        "class A:\n    row = 1\nx = {'row': 1}\n",
        "attribute one -> row",
        "a.py:3: the string 'one' became 'row'",
    ),
    "an export that stays": (
        "__all__ = ['f']\ndef f(): ...\n",
        "__all__ = ['f']\ndef g(): ...\n",
        "function f -> g",
        "the export 'f' is 'f'",
    ),
}


@pytest.mark.parametrize("case", MAPPING_REFUSALS)
def test_a_mapping_that_is_unused_ambiguous_or_not_followed_is_refused(tmp_path, case):
    old, new, mapping, problem = MAPPING_REFUSALS[case]
    report = compare_texts(tmp_path, old, new, mapping)
    assert any(problem in text for text in report.problems), report.problems


TO_CHECK = {
    "getattr": (
        "class A:\n    one = 1\ngetattr(x, 'one')\n",
        "class A:\n    row = 1\ngetattr(x, 'row')\n",
        "attribute one -> row",
        "a.py:3: the name in the string 'one' became 'row'",
    ),
    "getattr that stays": (
        "class A:\n    one = 1\ngetattr(x, 'one')\n",
        "class A:\n    row = 1\ngetattr(x, 'one')\n",
        "attribute one -> row",
        "a.py:3: the string 'one' stays",
    ),
    "a key that stays": (
        "class A:\n    one = 1\nx = {'one': 1}\n",
        "class A:\n    row = 1\nx = {'one': 1}\n",
        "attribute one -> row",
        "a.py:3: the string 'one' stays",
    ),
    "a field": ("class A:\n    one = 1\n", "class A:\n    row = 1\n", "attribute one -> row", "is it a column"),
    "a reference": (
        "x = 'a:one'\ndef one(): ...\n",
        "x = 'a:row'\ndef row(): ...\n",
        "function one -> row",
        "the string 'a:one' became 'a:row'",
    ),
    "a reference that stays": (
        "x = 'a:one'\ndef one(): ...\n",
        "x = 'a:one'\ndef row(): ...\n",
        "function one -> row",
        "the string 'a:one' stays; by the mapping it is 'a:row'",
    ),
    "the path of a file": (
        {"a.py": "x = 'p/b.py'\n", "p/b.py": ""},
        {"a.py": "x = 'p/c.py'\n", "p/c.py": ""},
        "module p.b -> p.c",
        "the string 'p/b.py' became 'p/c.py'",
    ),
    "parametrize": (
        "@parametrize('one, b', [])\ndef f(one, b): ...\n",
        "@parametrize('row, b', [])\ndef f(row, b): ...\n",
        "parameter f.one -> row",
        "a.py:1: the name in the string 'one, b'",
    ),
    "an attribute of a scoped entry": (
        "class A:\n    one = 1\nx.one\ny.one\n",
        "class A:\n    row = 1\nx.row\ny.one\n",
        "attribute a:A.one -> row",
        "a.py:4: the attribute 'one' stays",
    ),
    "an attribute of two classes": (
        "class A:\n    one = 1\nclass B:\n    one = 2\nx.one\n",
        "class A:\n    row = 1\nclass B:\n    one = 2\nx.row\n",
        "attribute A.one -> row",
        "a.py:5: the attribute 'one' became 'row'; a:B has another",
    ),
    "locals()": (
        "def f():\n    one = 1\n    return locals()\n",
        "def f():\n    row = 1\n    return locals()\n",
        "",
        "locals()",
    ),
    "an option": (
        "def f(one: Annotated[int, Option()]): ...\n",
        "def f(row: Annotated[int, Option()]): ...\n",
        "parameter one -> row",
        "is it an option",
    ),
    "a lambda": ("x = lambda one: one\nx(one=1)\n", "x = lambda row: row\nx(one=1)\n", "", "is it called with 'one='?"),
    "a docstring that is read": (
        "def f():\n    'Old.'\nf.__doc__\n",
        "def f():\n    'New.'\nf.__doc__\n",
        "",
        "reads __doc__",
    ),
}


@pytest.mark.parametrize("case", TO_CHECK)
def test_what_only_a_person_can_decide_is_accepted_and_listed(tmp_path, case):
    old, new, mapping, text = TO_CHECK[case]
    report = compare_texts(tmp_path, old, new, mapping)
    assert report.problems == []
    assert any(text in line for line in report.to_check), report.to_check


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("function one row", "'function one row' is no entry"),
        ("method one -> row", "is no entry; write 'KIND OLD -> NEW'"),
        ("function one -> class", "'class' in 'function one -> class' is no name of Python"),
        ("function a:1.one -> row", "'1' in"),
        ("function one -> one", "renames nothing"),
        ("function x -> y", "renames what line 1 renames"),
    ],
)
def test_a_line_that_is_no_entry_is_named(tmp_path, line, problem):
    (tmp_path / "map").write_text(f"function x -> y\n# a comment\n{line}\n")
    with pytest.raises(ValueError, match=r"map:3: ") as caught:
        read_mapping(tmp_path / "map")
    assert problem in str(caught.value)
