"""Answer the requests to a task's generated APIs. The task's input `world` describes them:

    {"seed": "1000 7", "filler": 0, "parts": [[LINK, …], …]}

A LINK is a step from an id to a value. It has the APIs that return the value, and look-alikes, which do not:

    {"of": "shipment", "gives": "depot", "argument": "SH-48213", "value": "DE-20417", "former": "DE-70611",
     "other": ["SH-31155", "DE-90233"], "apis": [{"tool": "Amber Desk", "api": "find_depot_of_shipment",
     "kind": "answers", "fault": "misspelt", "parameter": "shipment_id"}]}

An answer depends on the request, on how many equal requests the episode made before (a rate limit), and on the calls of
its path (a look-alike that locks its part). The recorded call contains all three, so that a replay is exact.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lumos_queue.actions.tools.answers import Answer
from lumos_queue.actions.tools.functions import Function
from lumos_queue.actions.tools.records import Record

ANSWERS = "answers"  #: the kind of an API that returns the link's value; all other kinds are look-alikes
FORMER, TYPES, NOTES = "former", "types", "notes"
LOOKALIKES = (FORMER, TYPES, NOTES)
GONE, RATE_LIMITED, MISSPELT, OTHER_ENTITY, EMPTY = "gone", "rate_limited", "misspelt", "other_entity", "empty"
FAULTS = (GONE, RATE_LIMITED, MISSPELT, OTHER_ENTITY, EMPTY)
LASTING = (GONE, EMPTY)  #: the faults of a link that cannot be followed
MAX_FILLER = 150_000  #: characters of an answer beside its facts
_WORDS = (
    "record",
    "archive",
    "register",
    "entry",
    "volume",
    "annex",
    "folio",
    "ledger",
    "section",
    "issue",
    "margin",
    "index",
    "chapter",
    "copy",
    "draft",
    "notice",
)
Api = tuple[str, str]  #: its tool and its name, in the document's spelling


@dataclass(frozen=True, slots=True)
class Link:
    """A step in a part of the task. It leads from an id to the next id, or to a value."""

    part: int  #: counted from 0
    of: str  #: kind of the argument, and name of its field in an answer
    gives: str  #: kind of the value, and name of its field
    argument: str
    value: str
    former: str  #: the value that a look-alike returns
    target: tuple[str, str]  #: argument and value of another entity


@dataclass(frozen=True, slots=True)
class WorldApi:
    """A generated API of a link: it returns the link's value, or is a look-alike, which does not."""

    link: Link
    kind: str = ANSWERS
    fault: str = ""
    parameter: str = ""  #: the name that the server accepts, where the document misspells it
    locks: bool = False  #: a look-alike after which every API of its part is locked


class World:
    """The generated APIs of one task."""

    def __init__(self, seed: str, filler: int, apis: Mapping[Api, WorldApi]):
        self._seed, self._filler, self._apis = seed, filler, apis

    def serve(self, function: Function) -> Function:
        """Return the function as its server checks requests: with the right name of a parameter that is misspelt."""
        api = self._apis.get((function.tool, function.api))
        if api is None or not api.parameter or not function.parameters:
            return function
        first, *rest = function.parameters
        return replace(function, parameters=(replace(first, name=api.parameter, written=api.parameter), *rest))

    def is_locked(self, function: Function, calls: Iterable[Function]) -> bool:
        """Return whether the function's part is locked, because `calls`, which succeeded before, include a lock."""
        api = self._apis.get((function.tool, function.api))
        if api is None:
            return False
        called_apis = (self._apis.get((call.tool, call.api)) for call in calls)
        return any(
            called_api is not None and called_api.locks and called_api.link.part == api.link.part
            for called_api in called_apis
        )

    def answer(self, function: Function, arguments: Mapping[str, Any], nth: int, is_locked: bool) -> Answer | None:
        """Return the answer to the nth equal request, counted from 0; None for an API outside this world."""
        api = self._apis.get((function.tool, function.api))
        if api is None:
            return None
        link = api.link
        if is_locked:
            return _error(f"the {link.of} is locked: it was opened for editing by your session", 11)
        if api.fault == GONE:
            return _error("this endpoint does not exist any more", 6)
        if api.fault == RATE_LIMITED and nth == 0:
            return _error("too many requests, try again", 9)
        argument = str(next(iter(arguments.values()), ""))
        if argument.strip() != link.argument:
            return _error(f"no {link.of} with the id '{argument[:40]}' is known here", 11)
        return Answer("", self._body(function, api), 0, "synthetic")

    def _body(self, function: Function, api: WorldApi) -> dict[str, Any]:
        link = api.link
        if api.locks:
            body: dict[str, Any] = {link.of: link.argument, "status": "opened for editing"}
        elif api.kind == FORMER:
            body = {link.of: link.argument, f"former_{link.gives}": link.former}
        elif api.kind == TYPES:
            body = {link.of: link.argument, f"{link.gives}_types": ["standard", "special"]}
        elif api.kind == NOTES:
            body = {link.of: link.argument, f"{link.gives}_notes": "nothing was noted"}
        elif api.fault == EMPTY:
            body = {"results": [], "total": 0}
        elif api.fault == OTHER_ENTITY:
            body = {link.of: link.target[0], link.gives: link.target[1]}
        else:
            body = {link.of: link.argument, link.gives: link.value}
        if self._filler:
            body["remarks"] = _filler(f"{self._seed} {function.tool} {function.api}", self._filler)
        return body


class WorldAnswers:
    """A source of answers (answer_source.py): a world at one step of an episode."""

    def __init__(self, world: World, is_locked: bool):
        self._world, self._is_locked = world, is_locked

    def find(self, function: Function, arguments: Mapping[str, Any], nth: int = 0) -> Answer | None:
        return self._world.answer(function, arguments, nth, self._is_locked)

    def nearest(self, function: Function, arguments: Mapping[str, Any], nth: int = 0) -> Answer | None:
        """Return None, because `find` answers every request to an API of the world."""
        return None

    def examples(self, function: Function, limit: int) -> list[Record]:
        """Return no examples, because no model simulates an API of the world."""
        return []


def read_world(value: Any) -> World:
    """Read the world in a task's input.

    Raises ValueError for an input that does not have the expected form. The message names the location of the error.
    """
    if not isinstance(value, Mapping):
        raise ValueError("it is not an object")
    filler = value.get("filler", 0)
    if isinstance(filler, bool) or not isinstance(filler, int) or not 0 <= filler <= MAX_FILLER:
        raise ValueError(f"filler is {filler!r:.40}: expected a whole number from 0 to {MAX_FILLER:,}")
    apis: dict[Api, WorldApi] = {}
    for number, part in enumerate(_list(value.get("parts"), "parts")):
        for position, link in enumerate(_list(part, f"part {number + 1}")):
            _read_link(link, number, f"part {number + 1}, link {position + 1}", apis)
    return World(str(value.get("seed", "")), filler, apis)


def _read_link(node: Any, part: int, where: str, apis: dict[Api, WorldApi]) -> None:
    texts = [_text(node, name, where) for name in ("of", "gives", "argument", "value", "former")]
    other_entity = _list(node.get("other"), f"{where}: other")
    if len(other_entity) != 2:
        raise ValueError(f"{where}: other has {len(other_entity)} entries: expected an id and a value")
    of, gives, argument, value, former = texts
    link = Link(part, of, gives, argument, value, former, (str(other_entity[0]), str(other_entity[1])))
    for entry in _list(node.get("apis"), f"{where}: apis"):
        key = _text(entry, "tool", where), _text(entry, "api", where)
        if key in apis:
            raise ValueError(f"{where}: the API '{key[1][:80]}' of '{key[0][:80]}' is there twice")
        kind, fault = entry.get("kind", ANSWERS), entry.get("fault", "")
        if kind != ANSWERS and kind not in LOOKALIKES:
            raise ValueError(f"{where}: {kind!r:.40} is not a kind of API: expected {ANSWERS}, {', '.join(LOOKALIKES)}")
        if fault and fault not in FAULTS:
            raise ValueError(f"{where}: {fault!r:.40} is not a fault: expected one of {', '.join(FAULTS)}")
        parameter = _text(entry, "parameter", where) if fault == MISSPELT else ""
        apis[key] = WorldApi(link, kind, fault, parameter, entry.get("locks") is True)


def _list(value: Any, where: str) -> Sequence[Any]:
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"{where}: expected a list")
    return value


def _text(node: Any, name: str, where: str) -> str:
    value = node.get(name) if isinstance(node, Mapping) else None
    if not isinstance(value, str) or not value:
        raise ValueError(f"{where}: '{name}' is missing, or no text")
    return value


def _error(message: str, code: int) -> Answer:
    return Answer(message, "", code, "synthetic")


def _filler(seed: str, size: int) -> str:
    """Return `size` characters of meaningless words, which are always the same for a seed."""
    draw = random.Random(f"filler {seed}")
    words = [_WORDS[int(draw.random() * len(_WORDS))] for _ in range(min(size, 400) // 4 + 1)]
    text = " ".join(words) + " "
    return (text * (size // len(text) + 1))[:size]
