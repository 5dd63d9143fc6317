"""The packages that no test module may import at collection, and the import statements that break this rule.

Each of them takes up to two seconds to import, in every process that collects the tests. A test imports it where it
uses it: in the test, in a fixture or in a helper function.

As a plugin (`pytest -p tests.suite.collection`) this module watches the collection of a run, and refuses the run if
such a package was imported. Other plugins call `ImportWatch.start` before the collection and `offences` after it.
"""

from __future__ import annotations

import importlib.abc
import sys
from pathlib import Path
from types import FrameType

import pytest

ROOT = Path(__file__).resolve().parents[2]

#: Names of top-level packages.
HEAVY = frozenset(
    """
    accelerate cv2 datasets diffusers gguf libcst matplotlib openai pandas peft pint playwright pyarrow safetensors
    scipy sentencepiece statsmodels sympy tokenizers torch transformers trl
    """.split()  # noqa: SIM905
)


class ImportWatch(importlib.abc.MetaPathFinder):
    """Remembers which statements of the project lead to the first import of each heavy package."""

    def __init__(self, packages: frozenset[str] = HEAVY, root: Path = ROOT):
        self.packages, self.root = packages, root
        self._statements: dict[str, list[str]] = {}

    def start(self) -> None:
        sys.meta_path.insert(0, self)

    def stop(self) -> None:
        sys.meta_path.remove(self)

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        """Python calls this for each module that is not loaded yet; the finders after this one load it."""
        if fullname in self.packages and fullname not in self._statements:
            self._statements[fullname] = self._find_statements(sys._getframe(1))

    def _find_statements(self, frame: FrameType | None) -> list[str]:
        """The lines of the project that are being executed, the outermost first."""
        statements: list[str] = []
        while frame is not None:
            path = Path(frame.f_code.co_filename)
            if path.is_relative_to(self.root) and ".venv" not in path.parts:
                statements.append(f"{path.relative_to(self.root)}:{frame.f_lineno}")
            frame = frame.f_back
        return statements[::-1]

    def offences(self) -> list[str]:
        """For each heavy package that is loaded, its name and how it was imported:
        `torch: tests/unit/test_a.py:12 > tests/tiny_b.py:8`."""
        return [
            f"{package}: {' > '.join(self._statements.get(package, [])) or 'imported outside the project or too early'}"
            for package in sorted(self.packages & sys.modules.keys())
        ]


_WATCH = pytest.StashKey[ImportWatch]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_WATCH] = watch = ImportWatch()
    watch.start()
    config.add_cleanup(watch.stop)


def pytest_collection_finish(session: pytest.Session) -> None:
    if offences := session.config.stash[_WATCH].offences():
        raise pytest.UsageError("\n".join(["These packages are imported at collection:", *offences]))
