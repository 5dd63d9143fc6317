"""What `import lumos_queue as lq` gives: which names, each with an example that runs, and what importing them costs."""

import ast
import doctest
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import lumos_queue
from lumos_queue.benchmarks.wordmath.benchmark import SIZES

ROOT = Path(lumos_queue.__file__).parent.parent
NAMES = [
    "Action",
    "ActionError",
    "ActionSession",
    "AnnotatedSubgoal",
    "Annotation",
    "AnswerKind",
    "Ask",
    "BadRow",
    "Benchmark",
    "BoardResult",
    "Comparison",
    "Completion",
    "Demonstration",
    "Do",
    "Domain",
    "Ending",
    "EndpointDown",
    "EndpointScheme",
    "EpisodeResult",
    "Episodes",
    "Execution",
    "Formulation",
    "InfrastructureError",
    "JobHandle",
    "LumosError",
    "NeedsAttention",
    "Note",
    "Outcome",
    "Report",
    "Score",
    "Scorer",
    "Settings",
    "SimpleEndpoint",
    "SpecError",
    "Subgoal",
    "Task",
    "__version__",
    "action",
    "board",
    "convert",
    "episodes",
    "evaluate",
    "formulation",
    "get_job",
    "infer",
    "list_jobs",
    "read_actions",
    "scorer",
    "train",
]
DOCUMENTED = [name for name in NAMES if name != "__version__"]


def imported_for_type_checkers() -> dict[str, str]:
    """Name to the module that it is imported from under `if TYPE_CHECKING`."""
    tree = ast.parse(Path(lumos_queue.__file__).read_text(encoding="utf-8"))
    block = next(one for one in tree.body if isinstance(one, ast.If))
    return {
        name.asname or name.name: one.module
        for one in block.body
        if isinstance(one, ast.ImportFrom) and one.module
        for name in one.names
    }


def test_exactly_these_names_are_exported_wherever_they_are_listed():
    assert lumos_queue.__all__ == NAMES
    assert dir(lumos_queue) == NAMES
    assert sorted(imported_for_type_checkers()) == NAMES
    assert sorted([*lumos_queue._MODULE_OF, "__version__"]) == NAMES


def test_type_checkers_are_told_the_modules_that_names_come_from():
    told = imported_for_type_checkers()
    del told["__version__"]
    assert told == {name: f"lumos_queue.{module}" for name, module in lumos_queue._MODULE_OF.items()}


def test_each_name_is_the_object_that_it_says():
    for name in NAMES:
        found = getattr(lumos_queue, name)
        assert isinstance(found, str) if name == "__version__" else found.__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'evaluat'"):
        lumos_queue.evaluat  # noqa: B018


def test_the_package_says_that_it_is_typed():
    assert (ROOT / "lumos_queue" / "py.typed").is_file()


@pytest.mark.parametrize("name", DOCUMENTED)
def test_the_example_of_a_name_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    monkeypatch.setitem(SIZES, "train", 200)  # to generate all of it takes ten seconds
    found = getattr(lumos_queue, name)
    examples = doctest.DocTestParser().get_doctest(inspect.getdoc(found) or "", {}, name, None, None)
    assert examples.examples, f"{name} has no example"
    said: list[str] = []
    outcome = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples, out=said.append)
    assert outcome.failed == 0, "".join(said)


@pytest.mark.parametrize(
    ("code", "forbidden"),
    [
        ("import lumos_queue", {"sqlalchemy", "torch", "numpy", "pydantic", "typer", "celery"}),
        ("import lumos_queue as lq; lq.__version__; dir(lq)", {"sqlalchemy", "torch", "numpy", "pydantic"}),
        ("import lumos_queue as lq; lq.evaluate", {"sqlalchemy", "torch", "numpy"}),
        ("import lumos_queue as lq; [getattr(lq, name) for name in dir(lq)]", {"torch", "pandas", "typer", "celery"}),
    ],
)
def test_a_name_imports_only_what_it_needs(code, forbidden):
    script = f"import sys; {code}; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "lumos_queue" in done.stdout.split()
    assert not forbidden & set(done.stdout.split())
