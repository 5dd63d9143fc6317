"""Which objects and modules a dotted name of a job may mean."""

from __future__ import annotations

import os
import sys

import pytest

import lumos_queue as lq
from lumos_queue.endpoints.functions import Function
from lumos_queue.errors import SpecError
from lumos_queue.formulations.base import Formulation
from lumos_queue.review.scorers.base import Scorer
from lumos_queue.util import plugins
from lumos_queue.util.plugins import TrustedModules
from lumos_queue.util.registry import Registry
from tests.plugin_packages import modules_of, write_files


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder on the path, and nothing that is trusted."""
    monkeypatch.setattr(plugins, "TRUSTED", TrustedModules())
    monkeypatch.setattr("lumos_queue.util.registry.TRUSTED", plugins.TRUSTED)
    path = tmp_path / "own"
    path.mkdir()
    with modules_of(path):
        yield path


def load(name: str, kind: type | None = None):
    registry: Registry[Function] = Registry("function", {}, "endpoints", kind)
    return registry.load(name)


TOOLS = """
import functools, operator, os, subprocess, sys, types
from functools import partial
from subprocess import Popen, getoutput
from mylab_library import Client, client, complete, decorate, plain_decorate, Proxy
import lumos_queue as lq
"""
LIBRARY = """
import functools
def complete(prompt): return "5"
class Client:
    def __call__(self, prompt): return "5"
    def reply(self, prompt): return "5"
client = Client()
class Proxy:
    def __getattr__(self, name): return Proxy()
    def __call__(self, prompt): return "5"
def decorate(function):
    @functools.wraps(function)
    def call(*values): return function(*values)
    return call
def plain_decorate(function):
    return lambda *values: function(*values)
"""
FOREIGN = [
    "getoutput",
    "os.system",
    "eval",
    "print",
    "Popen",
    "subprocess",
    "sys.stdout.write",
    "''.join",
    "str.upper",
    "list[int]",
    "partial(os.system)",
    "partial(partial(getoutput), 'x')",
    "functools.wraps(getoutput)(lambda text: '')",
    "functools.lru_cache(getoutput)",
    "functools.singledispatch(getoutput)",
    "staticmethod(getoutput)",
    "classmethod(getoutput)",
    "operator.methodcaller('upper')",
    "operator.attrgetter('x')",
    "types.MethodType(os.system, '')",
    "complete",
    "Client",
    "client",
    "client.reply",
    "Proxy()",
    "decorate(complete)",
    "lq.read_actions",
]
OWN = """
def reply(prompt): return "7"
async def later(prompt): return "7"
class Model:
    def __init__(self, *values): ...
    def __call__(self, prompt): return "7"
    def reply(self, prompt): return "7"
    @classmethod
    def ask(cls, prompt): return "7"
    @staticmethod
    def read(prompt): return "7"
class Extended(Client): ...
"""
DEFINED = [
    "reply",
    "later",
    "Model",
    "Model()",
    "Model().reply",
    "Model.ask",
    "Model.read",
    "Extended()",
    "Extended().reply",
    "lambda prompt: '7'",
    "partial(reply)",
    "functools.cache(reply)",
    "staticmethod(reply)",
    "decorate(reply)",
    "functools.singledispatch(reply)",
    "types.MethodType(reply, '')",
    "partial(decorate(Model().reply))",
]


def write_models(folder, expression):
    models = f"{TOOLS}{OWN}\nx = {expression}\n"
    texts = {"mylab/__init__.py": "", "mylab/models.py": models, "mylab_library.py": LIBRARY}
    write_files(folder, texts)


@pytest.mark.parametrize("expression", FOREIGN)
def test_what_a_listed_module_only_imports_is_refused(folder, expression):
    write_models(folder, expression)
    plugins.TRUSTED.add_listed("mylab.models")
    with pytest.raises(
        SpecError, match=r"^The function 'mylab\.models:x' is code of .*, which 'mylab\.models' only"
    ) as e:
        load("mylab.models:x")
    assert "\n" not in str(e.value) and str(e.value).endswith("or list its module in LUMOS_PLUGINS.")


@pytest.mark.parametrize("expression", DEFINED)
def test_what_a_listed_module_defines_is_loaded(folder, expression):
    write_models(folder, expression)
    plugins.TRUSTED.add_listed("mylab.models")
    assert load("mylab.models:x") is sys.modules["mylab.models"].x


def test_the_person_who_runs_the_process_may_name_any_object_of_a_module(folder):
    write_models(folder, "getoutput")
    plugins.TRUSTED.add_named("function:mylab.models:x")
    assert load("mylab.models:x") is sys.modules["mylab.models"].x
    with pytest.raises(SpecError, match="is code of 'subprocess', which"):
        load("mylab.models:getoutput")  # the module is trusted now; this object was not named


@pytest.mark.parametrize(
    ("listed", "name"),
    [
        ("mylab.models", "inner"),
        ("mylab", "inner"),
        ("mylab.models,mylab_library", "complete"),
        ("mylab.models,subprocess", "getoutput"),
    ],
)
def test_a_module_may_pass_on_objects_of_its_package_and_of_listed_modules(folder, listed, name):
    write_models(folder, name)
    models = (folder / "mylab" / "models.py").read_text()
    write_files(folder, {"mylab/models.py": f"from mylab.inner import inner\n{models}"})
    write_files(folder, {"mylab/inner.py": "def inner(prompt): return '7'\n"})
    plugins.TRUSTED.add_listed(listed)
    assert load("mylab.models:x").__name__ == name


def test_a_package_of_the_same_name_elsewhere_is_not_the_module_s_own(folder, tmp_path):
    """A namespace is shared: what is installed into it, or lies elsewhere, is another's."""
    write_files(folder, {"mylab/models.py": "import importlib\nx = importlib.import_module('mylab.' + 'theirs').x\n"})
    write_files(tmp_path / "site", {"mylab/theirs.py": "def x(prompt): ...\n", "a-1.dist-info/METADATA": ""})
    sys.path.append(str(tmp_path / "site"))
    plugins.TRUSTED.add_listed("mylab.models")
    with pytest.raises(SpecError, match=r"'mylab\.models:x' is code of 'mylab\.theirs', which 'mylab\.models' only"):
        load("mylab.models:x")


DECLARED = """
import lumos_queue as lq
from functools import partial
from lumos_queue.endpoints.urls import check_address
from mylab_library import complete
def own(*values): ...
class Session(lq.ActionSession): ...
class Sums(lq.Benchmark):
    name, domain, licence = "sums", "maths", "MIT"
"""


@pytest.mark.parametrize(
    "expression",
    [
        "Sums()",
        "lq.Formulation('f', own, ('solver',))",
        "lq.formulation('f', roles=('solver',))(own)",
        "lq.Scorer('s', lambda episode: True)",
        "lq.scorer('s')(own)",
        "lq.EndpointScheme('lumos_queue.endpoints.openai:OpenAI', partial(check_address, 'openai'))",
        "lq.EndpointScheme(open=lq.SimpleEndpoint, check=own)",
        "lq.Domain(name='d', session=Session, action_names=())",
        "lq.Domain(name='d', session='mylab.models:Session', action_names=())",
    ],
)
def test_what_a_module_declares_with_the_classes_of_the_project_is_loaded(folder, expression):
    write_files(folder, {"mylab/__init__.py": "", "mylab_library.py": LIBRARY})
    write_files(folder, {"mylab/models.py": f"{DECLARED}x = {expression}\n"})
    plugins.TRUSTED.add_listed("mylab.models")
    assert load("mylab.models:x", object) is sys.modules["mylab.models"].x


@pytest.mark.parametrize(
    ("declared", "kind"),
    [
        ("lq.Formulation('f', complete, ('solver',))", Formulation),
        ("lq.Scorer('s', complete)", Scorer),
        ("lq.EndpointScheme(open='mylab_library:Client')", lq.EndpointScheme),
        ("lq.Domain(name='d', session=Client, action_names=())", lq.Domain),
    ],
)
def test_what_another_module_has_declared_with_its_own_code_is_refused(folder, declared, kind):
    write_files(folder, {"mylab/__init__.py": "", "mylab/models.py": "from mylab_library import x\n"})
    write_files(folder, {"mylab_library.py": f"import lumos_queue as lq\n{LIBRARY}x = {declared}\n"})
    plugins.TRUSTED.add_listed("mylab.models")
    with pytest.raises(SpecError, match=r"is code of 'mylab_library', which 'mylab\.models' only imports"):
        load("mylab.models:x", kind)
    plugins.TRUSTED.add_listed("mylab_library")
    assert isinstance(load("mylab.models:x", kind), kind)


def trusted_folder(folder) -> TrustedModules:
    trusted = TrustedModules()
    trusted.add_listed(str(folder))
    return trusted


def test_a_listed_folder_lets_in_what_python_imports_from_it_and_nothing_else(folder, tmp_path):
    files = ["mylab/__init__.py", "mylab/inner.py", "mylab_space/inner/deep.py", "csv/rows.txt", "profile/cpu.txt"]
    write_files(folder, dict.fromkeys([*files, "code/__init__.py", "mylab_data/words.txt", "mylab/__main__.py"], ""))
    write_files(tmp_path / "elsewhere", {"linked/__init__.py": "", "file.py": "", "linked/inner.py": ""})
    (folder / "mylab_linked").symlink_to(tmp_path / "elsewhere" / "linked")
    (folder / "mylab" / "linked").symlink_to(tmp_path / "elsewhere" / "linked")
    (folder / "mylab_file.py").symlink_to(tmp_path / "elsewhere" / "file.py")
    (folder / "mylab_alias.py").symlink_to(folder / "mylab" / "inner.py")
    trusted = trusted_folder(folder)
    sys.path.remove(str(folder))  # as a worker has it: searched after all others
    for module in ("mylab", "mylab.inner", "mylab_space.inner.deep", "mylab_alias"):
        assert trusted.has(module), module
    for module in ("csv", "profile", "code", "test.support", "os", "sys", "mylab_data", "mylab_space", "mylab.none"):
        assert not trusted.has(module), module
    for module in (
        "mylab_linked",
        "mylab.linked",
        "mylab.linked.inner",
        "mylab_file",
        "mylab.__main__",
        "__main__",
        "",
    ):
        assert not trusted.has(module), module
    assert "mylab" not in sys.modules  # nothing is imported by looking


def test_a_module_that_leads_python_out_of_the_listed_folder_is_not_trusted_once_it_is_imported(folder, tmp_path):
    write_files(tmp_path / "far", {"inner.py": ""})
    write_files(folder, {"mylab/__init__.py": f"__path__.insert(0, {str(tmp_path / 'far')!r})\n", "mylab/inner.py": ""})
    trusted = trusted_folder(folder)
    assert trusted.has("mylab.inner")
    __import__("mylab.inner")
    assert sys.modules["mylab.inner"].__file__ == os.path.join(tmp_path, "far", "inner.py")
    assert trusted.has("mylab") and not trusted.has("mylab.inner")
