"""Write and read labels in the JSON format of Label Studio: https://labelstud.io/guide/task_format

A file is a list of tasks. These fields are written and read:

    data.episode, data.place, data.audit     the place; `data` also has the texts for the labeller
    annotations[]                            one for each labeller; those with was_cancelled are ignored
    annotations[].result[]                   from_name `label`, type `choices`: value.choices, one text
                                             from_name `step`, type `textarea`: the wrong step, such as 2-1
                                             from_name `kind`, type `choices`: the kind of fault, one text
                                             from_name `note`, type `textarea`: value.text, a list of lines
                                             from_name `labeller`, type `textarea`: the name, if it is not the account
    annotations[].completed_by               read only: an account's email, or its number
    predictions[]                            written only: the metric's suggestion, if a place has all its labels

completed_by is not written, because Label Studio refuses unknown accounts. CONFIG is the interface of a project for
such files. Step and kind belong to a label `wrong`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lumos_queue.errors import BadRow
from lumos_queue.review.exported_slots import ExportedSlot

CONFIG = """\
<View>
  <Text name="question" value="$question"/>
  <Text name="steps" value="$steps"/>
  <Text name="answer" value="$answer"/>
  <Text name="gold" value="$gold"/>
  <Choices name="label" toName="question" choice="single" required="true">
    <Choice value="right"/><Choice value="wrong"/><Choice value="unsure"/>
  </Choices>
  <Choices name="kind" toName="question" choice="single" visibleWhen="choice-selected" whenTagName="label"
           whenChoiceValue="wrong">
    <Choice value="link"/><Choice value="number"/><Choice value="sub-question"/><Choice value="result"/>
    <Choice value="wording"/>
  </Choices>
  <TextArea name="step" toName="question"/>
  <TextArea name="note" toName="question"/>
  <TextArea name="labeller" toName="question"/>
</View>
"""


def write_task(slot: ExportedSlot) -> dict[str, Any]:
    """Return a place of an audit, with its labels, as a task."""
    data = {"audit": slot.audit, "place": slot.place, "episode": slot.episode, **slot.texts}
    annotations = []
    for label in slot.labels:
        result = [_result("label", "choices", [label.value]), _result("labeller", "textarea", [label.labeller])]
        if label.step:
            result.append(_result("step", "textarea", [label.step]))
        if label.kind:
            result.append(_result("kind", "choices", [label.kind]))
        if label.note:
            result.append(_result("note", "textarea", label.note.split("\n")))
        annotations.append({"result": result, "was_cancelled": False, "ground_truth": False})
    suggestion = _result("label", "choices", [slot.suggestion])
    predictions = [{"model_version": slot.metric, "result": [suggestion]}] if slot.suggestion else []
    return {"id": slot.place, "data": data, "annotations": annotations, "predictions": predictions}


def is_task(row: Mapping[str, Any]) -> bool:
    return isinstance(row.get("data"), dict)


def read_task(number: int, row: Mapping[str, Any], audit: str) -> Iterator[dict[str, Any]]:
    """Yield the labels of a task in the form of review.label_files. Raises BadRow for an invalid task."""
    data = row["data"]
    if data.get("audit", audit) != audit:
        raise BadRow(number, "data.audit", f"'{str(data['audit'])[:40]}' is another audit than '{audit}'")
    where = {name: data[name] for name in ("episode", "place") if name in data}
    where.pop("place", None) if "episode" in where else None
    annotations = row.get("annotations", [])
    if not isinstance(annotations, list) or not all(isinstance(annotation, dict) for annotation in annotations):
        raise BadRow(number, "annotations", "is not a list of objects")
    for annotation in annotations:
        result = annotation.get("result", [])
        if not isinstance(result, list) or not all(isinstance(part, dict) for part in result):
            raise BadRow(number, "annotations.result", "is not a list of objects")
        choices = _values(number, result, "label", "choices")
        if annotation.get("was_cancelled") or not choices:  # skipped, or submitted empty
            continue
        if len(choices) > 1:
            raise BadRow(number, "annotations.result", f"has {len(choices)} choices for 'label': expected one")
        kinds = _values(number, result, "kind", "choices")
        if len(kinds) > 1:
            raise BadRow(number, "annotations.result", f"has {len(kinds)} choices for 'kind': expected one")
        fault = {"step": " ".join(_values(number, result, "step", "text")), "kind": "".join(kinds)}
        note = "\n".join(_values(number, result, "note", "text"))
        yield where | {"label": choices[0], "note": note} | fault | _who(number, annotation, result)


def _who(number: int, annotation: Mapping[str, Any], result: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return {"as": labeller}, the labeller that the result names or the account; {} if there is neither."""
    if names := _values(number, result, "labeller", "text"):
        return {"as": " ".join(names)}
    account = annotation.get("completed_by")
    if isinstance(account, dict):
        account = account.get("email") or account.get("id")
    if isinstance(account, int) and not isinstance(account, bool):
        return {"as": f"label-studio user {account}"}
    return {"as": account} if isinstance(account, str) and account else {}


def _values(number: int, result: Sequence[Mapping[str, Any]], name: str, key: str) -> list[str]:
    """Return the texts, from the field `key`, of the parts of a result whose `from_name` is `name`."""
    all_texts: list[str] = []
    for part in result:
        if part.get("from_name") != name:
            continue
        value = part.get("value")
        texts = value.get(key) if isinstance(value, dict) else None
        texts = [texts] if isinstance(texts, str) else texts
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise BadRow(number, f"annotations.result.{name}", f"has no list of texts in value.{key}")
        all_texts += texts
    return all_texts


def _result(name: str, kind: str, values: Sequence[str]) -> dict[str, Any]:
    key = "choices" if kind == "choices" else "text"
    return {"from_name": name, "to_name": "question", "type": kind, "value": {key: list(values)}}
