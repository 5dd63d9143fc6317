"""Write and read labels as records of an Argilla 2 dataset, in the format of its `dataset.records.to_json`.

A file is a list of records. These fields are written and read:

    id                        JOB-NUMBER of the episode
    fields                    the texts that a labeller reads (written only)
    metadata.audit, .place, .episode   the place; only metadata.episode is read, or id if it is missing
    metadata.labellers        `USER_ID NAME` for each labeller, because Argilla identifies users by account id
    responses.label[]         {"value": right, wrong or unsure, "user_id"}; drafts and discarded responses are ignored
    responses.step[]          {"value": the wrong step, such as 2-1, "user_id"}
    responses.kind[]          {"value": link, number, sub-question, result or wording, "user_id"}
    responses.note[]          {"value": text, "user_id"}
    suggestions.label         {"value", "score", "agent"}: written only, if a place has all its labels

The dataset has text fields question, steps, answer, gold and benchmark, a label question `label`, the optional label
question `kind` and text questions `step` and `note`, and allows extra metadata. Step and kind belong to a label
`wrong`.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from lumos_queue.errors import BadRow
from lumos_queue.review.exported_slots import ExportedSlot


def write_record(slot: ExportedSlot) -> dict[str, Any]:
    """Return a place of an audit, with its labels, as a record."""
    users = {label.labeller: str(uuid.uuid5(uuid.NAMESPACE_URL, f"labeller {label.labeller}")) for label in slot.labels}
    responses: dict[str, list[dict[str, str]]] = {}
    for label in slot.labels:
        responses.setdefault("label", []).append({"value": label.value, "user_id": users[label.labeller]})
        for question, value in (("step", label.step), ("kind", label.kind), ("note", label.note)):
            if value:
                responses.setdefault(question, []).append({"value": value, "user_id": users[label.labeller]})
    suggestion = {"value": slot.suggestion, "score": None, "agent": slot.metric}
    return {
        "id": slot.episode,
        "fields": dict(slot.texts),
        "metadata": {
            "audit": slot.audit,
            "place": slot.place,
            "episode": slot.episode,
            "labellers": [f"{user} {name}" for name, user in users.items()],
        },
        "suggestions": {"label": suggestion} if slot.suggestion else {},
        "responses": responses,
        "vectors": {},
    }


def is_record(row: Mapping[str, Any]) -> bool:
    return isinstance(row.get("fields"), dict) or isinstance(row.get("responses"), dict)


def read_record(number: int, row: Mapping[str, Any], audit: str) -> Iterator[dict[str, Any]]:
    """Yield the labels of a record in the form of review.label_files. Raises BadRow for an invalid record."""
    metadata, responses = row.get("metadata") or {}, row.get("responses") or {}
    if not isinstance(metadata, dict) or not isinstance(responses, dict):
        raise BadRow(number, "metadata" if not isinstance(metadata, dict) else "responses", "is not an object")
    if metadata.get("audit", audit) != audit:
        raise BadRow(number, "metadata.audit", f"'{str(metadata['audit'])[:40]}' is another audit than '{audit}'")
    names = _names(metadata)
    details = {question: dict(_answers(number, responses, question)) for question in ("step", "kind", "note")}
    for user, value in _answers(number, responses, "label"):
        who = {"as": names.get(user, f"argilla user {user}")} if user else {}
        answers = {question: by_user.get(user, "") for question, by_user in details.items()}
        yield {"episode": metadata.get("episode", row.get("id")), "label": value} | answers | who


def _names(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Return the labellers' names by account id."""
    labellers = metadata.get("labellers", [])
    pairs = [line.partition(" ") for line in labellers if isinstance(line, str)] if isinstance(labellers, list) else []
    return {user: name for user, _, name in pairs if name}


def _answers(number: int, responses: Mapping[str, Any], question: str) -> Iterator[tuple[str, Any]]:
    """Yield (account id, value) of the submitted answers to a question."""
    answers = responses.get(question, [])
    if not isinstance(answers, list) or not all(isinstance(answer, dict) and "value" in answer for answer in answers):
        raise BadRow(number, f"responses.{question}", "is not a list of objects that have a value")
    for answer in answers:
        if answer.get("status") in (None, "submitted"):
            user = answer.get("user_id")
            yield "" if user is None else str(user), answer["value"]
