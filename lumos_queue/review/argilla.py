"""Labels as the records of an Argilla 2 dataset: what `dataset.records.to_json` writes and `from_json` reads.

A file is a list of records. Written and read of each:

    id                        JOB-NUMBER of the episode
    fields                    the texts that a labeller reads (written only)
    metadata.audit, .place, .episode   which place it is; metadata.episode, or else id, is what counts
    metadata.labellers        `USER_ID NAME` for each person: Argilla knows people by the id of an account
    responses.label[]         {"value": right, wrong or unsure, "user_id"}; drafts and discarded ones are left out
    responses.note[]          {"value": text, "user_id"}
    suggestions.label         {"value", "score", "agent"}: written only, once a place has all its labels

The dataset has text fields question, steps, answer, gold and benchmark, a label question `label` and a text question
`note`, and allows extra metadata.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from lumos_queue.errors import BadRow
from lumos_queue.review.exported_slots import ExportedPlace


def write_record(one: ExportedPlace) -> dict[str, Any]:
    """A place as a record."""
    users = {label.labeller: str(uuid.uuid5(uuid.NAMESPACE_URL, f"labeller {label.labeller}")) for label in one.labels}
    responses: dict[str, list[dict[str, str]]] = {}
    for label in one.labels:
        responses.setdefault("label", []).append({"value": label.value, "user_id": users[label.labeller]})
        if label.note:
            responses.setdefault("note", []).append({"value": label.note, "user_id": users[label.labeller]})
    suggestion = {"value": one.suggestion, "score": None, "agent": one.metric}
    return {
        "id": one.episode,
        "fields": dict(one.texts),
        "metadata": {
            "audit": one.audit,
            "place": one.place,
            "episode": one.episode,
            "labellers": [f"{user} {name}" for name, user in users.items()],
        },
        "suggestions": {"label": suggestion} if one.suggestion else {},
        "responses": responses,
        "vectors": {},
    }


def is_record(row: Mapping[str, Any]) -> bool:
    return isinstance(row.get("fields"), dict) or isinstance(row.get("responses"), dict)


def read_record(number: int, row: Mapping[str, Any], audit: str) -> Iterator[dict[str, Any]]:
    """The labels of a record as rows of labels (review.label_files). Raises BadRow."""
    metadata, responses = row.get("metadata") or {}, row.get("responses") or {}
    if not isinstance(metadata, dict) or not isinstance(responses, dict):
        raise BadRow(number, "metadata" if not isinstance(metadata, dict) else "responses", "is not an object")
    if metadata.get("audit", audit) != audit:
        raise BadRow(number, "metadata.audit", f"'{str(metadata['audit'])[:40]}' is another audit than '{audit}'")
    names = _names(metadata)
    notes = {user: value for user, value in _answers(number, responses, "note")}
    for user, value in _answers(number, responses, "label"):
        who = {"as": names.get(user, f"argilla user {user}")} if user else {}
        yield {"episode": metadata.get("episode", row.get("id")), "label": value, "note": notes.get(user, "")} | who


def _names(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Account to labeller."""
    listed = metadata.get("labellers", [])
    pairs = [one.partition(" ") for one in listed if isinstance(one, str)] if isinstance(listed, list) else []
    return {user: name for user, _, name in pairs if name}


def _answers(number: int, responses: Mapping[str, Any], question: str) -> Iterator[tuple[str, Any]]:
    """(account, value) of the submitted answers to a question."""
    given = responses.get(question, [])
    if not isinstance(given, list) or not all(isinstance(one, dict) and "value" in one for one in given):
        raise BadRow(number, f"responses.{question}", "is not a list of objects that have a value")
    for one in given:
        if one.get("status") in (None, "submitted"):
            user = one.get("user_id")
            yield "" if user is None else str(user), one["value"]
