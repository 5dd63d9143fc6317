"""The facts about the text of one file that the graph needs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

#: A word: a key of a registry, a command, a name. `one-pass` is a word; the graph compares words with `_` for `-`.
WORD = re.compile(r"[A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)*")
_FIRST = 5  #: words of a line that can be a command
_PATH = re.compile(r"[^\s/]{1,80}(?:/[^\s/]{1,80}){0,9}/?")
FILE_NAME = re.compile(r"[\w*@-]*(?:\.[\w*@-]+)+")
ANY_FIXTURE = "*"  #: the word for a fixture whose name is only known at run time
#: `package.module`, `package.module:attribute` and, with holes of an f-string, `package.{}:attribute`.
DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.(?:\w+|\{\}))+(?::[\w{}]+)?")
IMPORTED = re.compile(r"^\s*(?:>>> )?(?:from|import)\s+([A-Za-z_][\w.]*)", re.MULTILINE)
SCRIPT = re.compile(r"(?:^|(?<=[\s\"'`/(]))[a-z][\w-]*(?=$|[\s\"'`,)\]\\])", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Mention:
    """A text that can be the name of a module."""

    name: str  #: `a.b.c`, `a.b:attribute`, `module:function`; `{}` for what is only known at run time
    key: str = ""  #: of the dictionary that has it as a value; '' if none
    is_whole: bool = True  #: whether the name is the whole string


@dataclass(frozen=True, slots=True)
class Facts:
    """Empty for a file that is not text."""

    mentions: tuple[Mention, ...] = ()
    identifiers: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()  #: words in strings
    commands: frozenset[str] = frozenset()  #: words that can be commands: among the first of a line of a string
    #: strings that are a single word: names by which code looks up plug-ins and tables
    literals: frozenset[str] = frozenset()
    file_paths: frozenset[str] = frozenset()  #: strings that can be the path or name of a file or folder
    file_names: frozenset[str] = frozenset()  #: parts of strings that look like file names
    scripts: frozenset[str] = frozenset()  #: words that can be names of console scripts
    imports: frozenset[str] = frozenset()  #: `module.name` of each import statement
    patterns: frozenset[str] = frozenset()  #: patterns by which it lists files: `*.md`; `*` for all files
    listed: frozenset[str] = frozenset()  #: constants that are used in another way than to look up a name
    located: frozenset[str] = frozenset()  #: names X of `X.__file__`: the file may read files beside that module
    lazy_names: dict[str, tuple[str, ...]] = field(default_factory=dict)  #: of a package that imports on demand
    automatic: frozenset[str] = frozenset()  #: of a conftest.py or plugin: autouse fixtures and hooks
    plugins: frozenset[str] = frozenset()  #: modules that a conftest.py names in `pytest_plugins`
    parts: dict[str, Facts] = field(default_factory=dict)  #: of a helper module: the facts of each name


def find_words(texts: Iterable[str]) -> set[str]:
    return {word.replace("-", "_") for text in texts for word in WORD.findall(text)}


def find_commands(texts: Iterable[str]) -> set[str]:
    """`python -m shop.main sell` has the command at its fourth place; other words follow."""
    lines = (line.split(maxsplit=_FIRST)[:_FIRST] for text in texts for line in text.splitlines())
    return find_words(word for line in lines for word in line)


def is_path(text: str) -> bool:
    return _PATH.fullmatch(text) is not None


def find_file_names(text: str) -> set[str]:
    return set(FILE_NAME.findall(text)) if "." in text else set()


def find_embedded_mentions(text: str) -> set[Mention]:
    """Names of modules inside a longer text: a command line, a program, a page."""
    names = {*DOTTED.findall(text), *IMPORTED.findall(text)}
    return {Mention(name, is_whole=False) for name in names}


def read_text_facts(text: str) -> Facts:
    """The facts of a file that is not Python: a page, a shell script, a table."""
    return Facts(
        mentions=tuple(find_embedded_mentions(text)),
        words=frozenset(find_words([text])),
        commands=frozenset(find_commands([text])),
        file_names=frozenset(find_file_names(text)),
        scripts=frozenset(SCRIPT.findall(text)),
    )
