"""Which tests a change is said to touch, in a small project that has each kind of edge once."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.affected.__main__ import ROOT, open_graph
from tests.affected.choice import choose_tests, reach
from tests.affected.graph import Graph, build_graph
from tests.affected.report import describe_chains
from tests.affected.rules import Rules, matches, read_rules
from tests.affected.tree import UnreadableTree, list_files, read_tree

RULES = """
product = ["shop"]
everything = ["pyproject.toml"]
untested = ["NOTES.md", "shop/prices.py"]
commands = ["shop/commands.py"]

[[added]]
source = "shop/store.py"
target = "shop/versions/*"
reason = "every version is run"

[[added]]
source = "shop/starter.py"
target = "Runfile"
reason = "it runs each line"

[[removed]]
source = "shop/label.py"
target = "shop/paper.py"
verb = "imports"
reason = "only its name is used"

[[silent]]
files = "weights/**"
reason = "files of models run nothing"

[[silent]]
files = "shop/adverts.py"
reason = "it praises fruit"
"""

#: Product code and data of the project.
SHOP = {
    "pyproject.toml": '[project.scripts]\nkeeper = "shop.main:run"\n',
    "NOTES.md": "For people.",
    "orphan.json": "{}",
    "Runfile": "till: python -m shop.till\n",
    "docs/prices.md": "What things cost; when, says hours.md.",
    "docs/hours.md": "When it is open.",
    "examples/buy.py": "from shop import prices\n",
    "weights/small/words.json": '{"pear": "keeper sell"}',
    "shop/__init__.py": "",
    "shop/prices.py": "def price(): ...",
    "shop/cart.py": "from shop.prices import price",
    "shop/late.py": "def pay():\n    from shop.cart import price",
    "shop/typed.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from shop.cart import price\n",
    "shop/fruit/__init__.py": "",
    "shop/fruit/apple.py": "FRUIT = 'apple'",
    "shop/fruit/pear.py": "FRUIT = 'pear'",
    "shop/fruit/plum_tree.py": "FRUIT = 'plum'",
    "shop/shelf.py": """
_ROOM = "shop.fruit"
FRUITS = {"apple": "shop.fruit.apple:FRUIT", "pear": f"{_ROOM}.pear:FRUIT", "plum-tree": f"{_ROOM}.plum_tree:FRUIT"}
def load(name): ...
""",
    "shop/pie.py": "import shop.shelf\nFRUIT = 'apple'",
    "shop/adverts.py": "import shop.shelf\nBEST = 'pear'",
    "shop/dyes.py": "def load(name):\n    return import_module(f'shop.colours.{name}')",
    "shop/colours/__init__.py": "",
    "shop/colours/red.py": "",
    "shop/main.py": "import shop.commands",
    "shop/commands.py": """
STOCK = {"count": "stock:count"}
TOP = {"Work": {"sell": "selling:sell", "stock": STOCK}}
""",
    "shop/selling.py": "def sell(): ...",
    "shop/stock.py": "def count(): ...",
    "shop/clerk.py": "import shop.main\nTASK = 'sell'",
    "shop/till.py": "CHILD = ['-m', 'shop.drawer']",
    "shop/drawer.py": "",
    "shop/starter.py": "",
    "shop/easy/__init__.py": "_NAMES = {'quick': ('buy', 'pay')}\ndef __getattr__(name): ...",
    "shop/easy/quick.py": "def buy(): ...",
    "shop/printer.py": "render('receipt.html')",
    "shop/templates/receipt.html": "{% extends 'frame.html' %}",
    "shop/templates/frame.html": "<html>",
    "shop/web/__init__.py": "",
    "shop/web/static/till.css": "",
    "shop/web/logo.svg": "",
    "shop/menu.py": "PAGE = 'web'",
    "shop/assets.py": "folder = files('shop.web') / 'static'",
    "shop/store.py": "def open_store(): ...",
    "shop/versions/v1.py": "",
    "shop/sign.py": "SHOWN = 'hours.md'",
    "shop/help.py": "TEXT = 'see shop.paper, too'",
    "shop/label.py": "import shop.paper",
    "shop/paper.py": "",
    "shop/clock.py": "",
    "shop/scales.py": "",
    "shop/coins.py": "",
    "shop/calendar.py": "",
    "shop/weather.py": "",
    "shop/alone.py": "import shop.paper",
}

#: Tests of the project, each for one kind of edge.
TESTS = {
    "tests/__init__.py": "",
    "tests/conftest.py": """
import pytest
from shop import clock, coins, scales
pytest_plugins = ["tests.plugin"]
from tests.helpers import lend
@pytest.fixture(autouse=True)
def hours(): clock.open()
@pytest.fixture
def scale(): return scales.new()
@pytest.fixture
def purse(scale): return [coins.new(), lend()]
""",
    "tests/plugin.py": """
from shop import calendar, weather
def pytest_configure(): calendar.today()
def umbrella(): return weather.ask()
""",
    "tests/helpers.py": """
def lend():
    from shop.store import open_store
def wrap():
    from shop.label import glue
""",
    "tests/data/orders.json": '{"fruit": "pear"}',
    "tests/test_cart.py": "from shop.cart import price",
    "tests/test_late.py": "from shop.late import pay",
    "tests/test_typed.py": "import shop.typed",
    "tests/test_apple.py": "from shop.shelf import load\nload('apple')",
    "tests/test_plum.py": "from shop.shelf import load\nload('plum-tree')",
    "tests/test_pie.py": "import shop.pie",
    "tests/test_adverts.py": "import shop.adverts",
    "tests/test_all_fruits.py": "from shop.shelf import FRUITS\nfor name in FRUITS: ...",
    "tests/test_one_fruit.py": "from shop.shelf import FRUITS\nFRUITS.get(input())",
    "tests/test_orders.py": "from shop.shelf import load\nload(json.load(open('orders.json')))",
    "tests/test_blue.py": "from shop.dyes import load\nload('blue')",
    "tests/test_colours.py": "run([python, '-m', f'shop.colours.{name}'])",
    "tests/test_prefix.py": "import_module('shop.colours.' + name)",
    "tests/test_red.py": "from shop.dyes import load\nload('red')",
    "tests/test_sell.py": "from shop.main import run\nrun('sell')",
    "tests/test_stock.py": "run(['keeper', 'stock', 'count'])",
    "tests/test_count.py": "run(['keeper', 'count'])",
    "tests/test_clerk.py": "import shop.clerk",
    "tests/test_module.py": "run([python, '-m', 'shop.till'])",
    "tests/test_program.py": "run([python, '-c', 'import shop.drawer; print(1)'])",
    "tests/test_runfile.py": "import shop.starter",
    "tests/test_easy.py": "from shop.easy import buy",
    "tests/test_easy_unknown.py": "from shop.easy import surprise",
    "tests/test_easy_others.py": "import shop.easy",
    "tests/test_printer.py": "import shop.printer",
    "tests/test_assets.py": "import shop.assets",
    "tests/test_menu.py": "import shop.menu",
    "tests/test_logo.py": "read(ROOT / 'logo.svg')",
    "tests/test_page.py": "page = ROOT / 'docs' / 'prices.md'",
    "tests/test_pages.py": "pages = (ROOT / 'docs').glob('*.md')",
    "tests/test_example.py": "def run(name): load(ROOT / 'examples' / f'{name}.py')",
    "tests/test_folder.py": "copy(ROOT / 'examples')",
    "tests/test_sign.py": "import shop.sign",
    "tests/test_help.py": "import shop.help",
    "tests/test_docstring.py": '"""Not as shop.paper."""',
    "tests/test_weights.py": "from shop.shelf import load\nopen_model('weights/small/words.json')",
    "tests/test_source.py": "text = (ROOT / 'shop' / 'alone.py').read_text()",
    "tests/test_style.py": "for file in (ROOT / 'shop').rglob('*.py'): file.read_text()",
    "tests/test_scale.py": "def test(scale): ...",
    "tests/test_purse.py": "def test(request): request.getfixturevalue('purse')",
    "tests/test_umbrella.py": "def test(umbrella): ...",
    "tests/test_any.py": "def test(request, name): request.getfixturevalue(name)",
    "tests/test_wrap.py": "from tests.helpers import wrap",
    "tests/deep/__init__.py": "",
    "tests/deep/conftest.py": "def unused(): ...",
    "tests/deep/test_deep.py": "",
}

EVERY_TEST = {Path(path).stem.removeprefix("test_") for path in TESTS if "/test_" in path}


@pytest.fixture(scope="module")
def rules(tmp_path_factory) -> Rules:
    file = tmp_path_factory.mktemp("rules") / "rules.toml"
    file.write_text(RULES)
    return read_rules(file)


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    write(folder, SHOP | TESTS)
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    return folder


@pytest.fixture(scope="module")
def graph(project, rules, tmp_path_factory) -> Graph:
    tree = read_tree(project, tmp_path_factory.mktemp("cache") / "facts")
    return build_graph(tree, rules, project)


def write(folder: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        ("tests/test_cart.py", "cart"),
        ("shop/prices.py", "cart late example"),  # imports, inside functions too
        ("shop/cart.py", "cart late"),  # and not for type checkers alone
        ("shop/fruit/apple.py", "apple pie all_fruits"),  # a registry, by the name that a test or the product says
        ("shop/fruit/pear.py", "all_fruits orders"),  # by a file of the test's; not by adverts, nor by weights
        ("shop/fruit/plum_tree.py", "plum all_fruits"),
        ("shop/colours/red.py", "red colours prefix"),  # an f-string with the name of a module
        ("shop/selling.py", "sell"),  # a command; product code calls none
        ("shop/stock.py", "stock"),  # by the name of its group alone; a console script in its own process
        ("shop/till.py", "module runfile"),  # `-m`, in a test and in a file that the product reads
        ("shop/drawer.py", "module program runfile"),
        ("Runfile", "runfile"),
        ("shop/easy/quick.py", "easy easy_unknown"),  # a package that imports on demand
        ("shop/easy/__init__.py", "easy easy_others easy_unknown"),
        ("shop/templates/receipt.html", "printer"),
        ("shop/templates/frame.html", "printer"),
        ("shop/web/static/till.css", "assets"),
        ("shop/web/logo.svg", "logo"),  # `web` is a package, too
        ("docs/prices.md", "page pages"),
        ("docs/hours.md", "pages"),
        ("examples/buy.py", "example folder"),
        ("weights/small/words.json", "weights"),
        ("tests/data/orders.json", "orders"),
        ("shop/versions/v1.py", "purse any"),  # a rule, behind a helper that a fixture uses
        ("shop/coins.py", "purse any"),
        ("shop/scales.py", "scale purse any"),
        ("shop/weather.py", "umbrella any"),  # a fixture of a plugin
        ("shop/label.py", "wrap"),  # a helper, function by function
        ("shop/alone.py", "source"),
        ("tests/helpers.py", "wrap purse any"),
        ("tests/deep/conftest.py", "deep"),
        ("shop/paper.py", ""),
    ],
)
def test_what_is_chosen(graph, changed, tests):
    chosen = names(choose_tests(graph, [changed]).chains)
    assert chosen - {"style"} == set(tests.split())
    assert ("style" in chosen) == (changed.startswith("shop/") and changed.endswith(".py")), "it reads all of the code"


@pytest.mark.parametrize(
    "changed",
    [
        "shop/clock.py",
        "shop/calendar.py",
        "tests/conftest.py",
        "tests/plugin.py",
        "tests/__init__.py",
        "shop/__init__.py",
    ],
)
def test_what_every_test_uses(graph, changed):
    chosen = names(choose_tests(graph, [changed]).chains)
    assert chosen >= EVERY_TEST - {"style"}
    assert not choose_tests(graph, [changed]).everything


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ("pyproject.toml", "pyproject.toml can touch every test"),
        ("orphan.json", "no test is known to reach orphan.json"),
    ],
)
def test_where_it_cannot_be_told_everything_is_run(graph, changed, reason):
    assert choose_tests(graph, ["shop/coins.py", changed]).everything == [reason]


def test_what_touches_no_test_runs_none(graph):
    choice = choose_tests(graph, ["NOTES.md"])
    assert not choice.chains and not choice.everything


def test_reading_the_text_of_code_is_not_running_it(graph):
    assert "shop/alone.py" not in reach(graph, "tests/test_style.py")


def test_reasons_are_chains(graph):
    chains = choose_tests(graph, ["shop/fruit/apple.py", "tests/test_cart.py"]).chains
    assert describe_chains(chains) == [
        "tests/test_all_fruits.py: goes through FRUITS, with shop/fruit/apple.py",
        "tests/test_apple.py: imports shop/shelf.py, names shop/fruit/apple.py by 'apple'",
        "tests/test_cart.py: changed",
        "tests/test_pie.py: imports shop/pie.py, imports shop/shelf.py, names shop/fruit/apple.py by 'apple'",
        "tests/test_style.py: lists the folder shop shop/fruit/apple.py",
    ]


def test_code_that_does_not_parse_is_an_error(project, tmp_path):
    broken = project / "shop" / "broken.py"
    broken.write_text("def")
    try:
        with pytest.raises(UnreadableTree, match="does not parse"):
            read_tree(project, tmp_path / "facts")
    finally:
        broken.unlink()


def test_facts_are_read_again_when_a_file_changes(tmp_path):
    write(tmp_path, {"shop/__init__.py": "", "shop/cart.py": "X = 'first'"})
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    assert "first" in read_tree(tmp_path, tmp_path / "facts").facts["shop/cart.py"].words
    (tmp_path / "shop/cart.py").write_text("X = 'second'")
    assert "second" in read_tree(tmp_path, tmp_path / "facts").facts["shop/cart.py"].words


def test_the_rules_of_this_project_match_files():
    rules = read_rules()
    files = list_files(ROOT)
    patterns = {f"{folder}/**" for folder in rules.product} | {rule.files for rule in rules.silent}
    patterns |= {*rules.everything, *rules.untested, *rules.commands}
    for pair in (*rules.added, *rules.removed):
        patterns |= {pair.source.partition("::")[0], pair.target}
    assert [pattern for pattern in patterns if not any(matches(file, pattern) for file in files)] == []


@pytest.mark.long  # reads every file of the project
def test_a_change_of_how_letters_are_read_touches_few_tests():
    chosen = choose_tests(open_graph(ROOT), ["lumos_queue/scoring/letters.py"])
    assert not chosen.everything
    assert len(chosen.chains) < 50, "a rule is missing for something that every test uses"
    expected = {"choices", "vision_gold", "vision_jobs", "vision_teacher", "benchmarks_images", "readers", "prompts"}
    assert names(chosen.chains) >= expected


def names(chains: dict) -> set[str]:
    return {Path(path).stem.removeprefix("test_") for path in chains}
