"""The packages that no test module may import at collection, and the import statements that broke this rule.

They take seconds to import, in every process that collects the tests. A test imports them where it uses them: in the
test, in a fixture or in a helper function. As a plugin (`pytest -p tests.suite.collection`) this module watches a whole
collection, and the run fails if a heavy package was imported.
"""

from __future__ import annotations

import importlib.abc
import sys
from pathlib import Path
from types import FrameType

import pytest

ROOT = Path(__file__).resolve().parents[2]

#: Top-level packages.
HEAVY = frozenset(
    {
        "accelerate",
        "cv2",
        "datasets",
        "diffusers",
        "gguf",
        "libcst",
        "matplotlib",
        "openai",
        "pandas",
        "peft",
        "pint",
        "playwright",
        "pyarrow",
        "safetensors",
        "scipy",
        "sentencepiece",
        "statsmodels",
        "sympy",
        "tokenizers",
        "torch",
        "transformers",
        "trl",
    }
)


class ImportWatch(importlib.abc.MetaPathFinder):
    """Remembers which statements of the project led to the first import of each heavy package."""

    def __init__(self, packages: frozenset[str] = HEAVY):
        self.packages = packages
        self._statements: dict[str, list[str]] = {}

    def start(self) -> None:
        sys.meta_path.insert(0, self)

    def stop(self) -> None:
        sys.meta_path.remove(self)

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        """Called for each module that is not loaded yet; the finders after this one load it."""
        if fullname in self.packages and fullname not in self._statements:
            self._statements[fullname] = project_statements(sys._getframe(1))

    def offences(self) -> list[str]:
        """One line for each heavy package that is loaded: its name, and the chain of imports that led to it."""
        lines = []
        for package in sorted(self.packages & sys.modules.keys()):
            statements = self._statements.get(package, ["imported before the watch began"])
            lines.append(f"{package}: {' > '.join(statements) or 'imported by no module of the project'}")
        return lines


def project_statements(frame: FrameType | None) -> list[str]:
    """The lines of the project's modules that are being executed, the outermost first: `tests/unit/test_x.py:12`."""
    statements: list[str] = []
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if frame.f_code.co_name == "<module>" and path.is_relative_to(ROOT) and ".venv" not in path.parts:
            statements.append(f"{path.relative_to(ROOT)}:{frame.f_lineno}")
        frame = frame.f_back
    return statements[::-1]


def pytest_configure(config: pytest.Config) -> None:
    config.stash[WATCH] = ImportWatch()
    config.stash[WATCH].start()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    watch = session.config.stash[WATCH]
    watch.stop()
    if offences := watch.offences():
        raise pytest.UsageError("heavy packages are imported at collection:\n" + "\n".join(offences))


WATCH = pytest.StashKey[ImportWatch]()
