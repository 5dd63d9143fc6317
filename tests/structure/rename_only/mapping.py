"""The mapping file: which modules, functions, classes, attributes, parameters and global variables get another name.

One entry on a line, `KIND OLD -> NEW`; `#` begins a comment:

    module db.queries.episode_names -> db.queries.episode_names
    function tell_seconds -> format_seconds
    function lumos_queue.util.text:tell_seconds -> format_seconds
    class db.queue.wait_reasons:Stop -> JobStop
    attribute db.queue.wait_reasons:Stop.told -> message
    parameter db.queue.wait_reasons:stop_jobs.wanted -> query
    variable db.queue.wait_reasons:TOLD -> MESSAGES

OLD may begin with the module that defines it (`MODULE:`), and with its class or function (`OWNER.`). Without a module,
the entry applies wherever the name is defined. A method is a `function`, a field of a class an `attribute`, a global
variable of a module a `variable`; local variables need no entry. A package that is renamed moves all its modules.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

KINDS = ("module", "function", "class", "attribute", "parameter", "variable")
BUILTINS = frozenset(dir(builtins))

_LINE = re.compile(r"(?P<kind>\w+)\s+(?P<old>\S+)\s+->\s+(?P<new>\S+)")


@dataclass(eq=False)
class Entry:
    kind: str
    module: str | None  #: the module that defines the name; None: any
    owner: str | None  #: the class or function in which the name is defined; None: any
    old: str
    new: str
    line: int  #: in the mapping file
    is_used: bool = False

    def __str__(self) -> str:
        scope = f"{self.module}:" if self.module else ""
        owner = f"{self.owner}." if self.owner else ""
        return f"{self.kind} {scope}{owner}{self.old} -> {self.new}"

    def applies(self, module: str, owner: str) -> bool:
        """Is a name defined in this module and owner (`Class.method`, or "") meant?"""
        owners = {owner, owner.rpartition(".")[2]}
        return self.module in (None, module) and (self.owner is None or self.owner in owners)


@dataclass
class Mapping:
    entries: list[Entry] = field(default_factory=list)
    conflicts: dict[str, None] = field(default_factory=dict)  #: entries that contradict each other, once each

    def __post_init__(self) -> None:
        self._by_name: dict[str, list[Entry]] = {}
        for entry in self.entries:
            self._by_name.setdefault(entry.old, []).append(entry)

    def named(self, old: str, kinds: Collection[str]) -> list[Entry]:
        return [entry for entry in self._by_name.get(old, ()) if entry.kind in kinds]

    def rename(self, kinds: Collection[str], module: str, owner: str, name: str) -> str:
        """The new name of what is defined as `name` in a module and owner; the old one if no entry applies."""
        matches = [entry for entry in self.named(name, kinds) if entry.applies(module, owner)]
        for entry in matches:
            entry.is_used = True
        if len({entry.new for entry in matches}) > 1:
            self.conflicts[f"ambiguous entries for '{name}' of {module}: {'; '.join(map(str, matches))}"] = None
        return matches[0].new if matches else name

    def rename_module(self, name: str) -> str:
        """The new dotted path of a module: by its own entry, or by that of the nearest package around it."""
        parts = name.split(".")
        for length in range(len(parts), 0, -1):
            for entry in self.named(".".join(parts[:length]), ("module",)):
                entry.is_used = True
                return ".".join([entry.new, *parts[length:]])
        return name

    def words(self) -> frozenset[str]:
        """The old names; of modules the last part."""
        return frozenset(entry.old.rpartition(".")[2] for entry in self.entries)


def read_mapping(file: Path) -> Mapping:
    """Raises ValueError, with file and line, for a line that is no entry, and for an entry that is there twice."""
    entries: list[Entry] = []
    lines: dict[tuple[str, str | None, str | None, str], int] = {}
    for number, text in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        text = text.partition("#")[0].strip()
        if not text:
            continue
        try:
            entry = _read_entry(text, number)
        except ValueError as error:
            raise ValueError(f"{file}:{number}: {error}") from None
        key = (entry.kind, entry.module, entry.owner, entry.old)
        if key in lines:
            raise ValueError(f"{file}:{number}: '{text}' renames what line {lines[key]} renames; keep one of them.")
        lines[key] = number
        entries.append(entry)
    return Mapping(entries)


def _read_entry(text: str, line: int) -> Entry:
    match = _LINE.fullmatch(text)
    if match is None or match["kind"] not in KINDS:
        raise ValueError(f"'{text}' is no entry; write 'KIND OLD -> NEW', KIND being {', '.join(KINDS)}.")
    kind, old, new = match["kind"], match["old"], match["new"]
    if kind == "module":
        old, new = (_convert_path(path) for path in (old, new))
        module, owner = None, None
        names = [*old.split("."), *new.split(".")]
    else:
        module, _, qualified_name = old.rpartition(":")
        owner, _, old = qualified_name.rpartition(".")
        names = [*module.split("."), *owner.split("."), old, new]
        names = [name for name in names[:-2] if name] + names[-2:]
    for name in names:
        if not name.isidentifier() or keyword.iskeyword(name):
            raise ValueError(f"'{name}' in '{text}' is no name of Python.")
    if old == new:
        raise ValueError(f"'{text}' renames nothing; remove the line.")
    return Entry(kind, module or None, owner or None, old, new, line)


def _convert_path(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
