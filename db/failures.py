"""What kind of infrastructure failure ended an episode, told from the message that is stored with its ending."""

from __future__ import annotations

import re
from collections import Counter
from enum import StrEnum
from functools import lru_cache

from sqlalchemy import Connection, func, select

from db.endings import TAKEN_BACK
from db.models import EpisodeRow, Item
from db.states import ItemState


class FailureClass(StrEnum):
    """Kinds of failures beside models and tasks. Each has another remedy."""

    REFUSED = "refused"  #: a model server kept refusing this request and answered others (endpoints/evidence.py)
    UNFIT = "unfit"  #: the endpoint of a role cannot do what is asked, or there is none: images, candidates, beams
    SCRIPT = "script"  #: a script of replies (scripted:FILE) has none for the prompt
    IMAGE = "image"  #: the database has an image no more that the task or a step names
    DATABASE = "database"  #: the database refuses the episode's rows
    FAULT = "fault"  #: an error in Lumos, or in an extension, with the name of the exception
    DIED = "died"  #: quarantined: too many processes died while this item was all they worked on
    OTHER = "other"  #: none of these: messages of earlier versions, and of code that is not ours


#: The first that fits counts. What a server or a row said may be anything: patterns begin where the message does.
_PATTERNS = (
    (FailureClass.DATABASE, r"the database refuses its rows: "),
    (FailureClass.IMAGE, r"the database holds no image "),
    (FailureClass.SCRIPT, r"no rule of the script fits |the script of \d+ replies is used up"),
    (FailureClass.UNFIT, r"no endpoint for the role |images belong to a turn "),
    (FailureClass.UNFIT, r"\S+ (?:gives no candidates with log-probabilities|takes no images): "),
    (FailureClass.REFUSED, r"\S*[^\s:] answered \d{3}\b"),
    (FailureClass.FAULT, r"[A-Za-z_][A-Za-z0-9_]*: "),
)
_KNOWN = tuple((kind, re.compile(pattern)) for kind, pattern in _PATTERNS)


@lru_cache(maxsize=1024)
def classify(message: str) -> FailureClass:
    """The class of an `infra_error` by its message."""
    return next((kind for kind, pattern in _KNOWN if pattern.match(message)), FailureClass.OTHER)


def count_failures(connection: Connection, job: str) -> dict[FailureClass, int]:
    """How many items of the job infrastructure ended, by class, the commonest first."""
    failed = select(EpisodeRow.message, func.count()).where(EpisodeRow.job == job, EpisodeRow.ending == TAKEN_BACK)
    found: Counter[FailureClass] = Counter()
    for message, episodes in connection.execute(failed.group_by(EpisodeRow.message)):
        found[classify(message)] += episodes
    died = select(func.count()).where(Item.job == job, Item.state == ItemState.QUARANTINED)
    found[FailureClass.DIED] += connection.execute(died).scalar_one()
    order = tuple(FailureClass)
    ranked = sorted(found.items(), key=lambda one: (-one[1], order.index(one[0])))
    return {kind: count for kind, count in ranked if count}


def failed_items(connection: Connection, job: str, wanted: FailureClass) -> list[int]:
    """The items (their keys) of the job whose episodes ended in a failure of that class."""
    failed = select(EpisodeRow.id, EpisodeRow.message).where(EpisodeRow.job == job, EpisodeRow.ending == TAKEN_BACK)
    return [item for item, message in connection.execute(failed) if classify(message) == wanted]
