"""Read CNN/DailyMail, SST-2 and SQuAD in their published layouts."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from lumos_queue.benchmarks.openagi.builder.documents import read_document, read_text
from lumos_queue.benchmarks.openagi.builder.files import DataFile, FileIndex, UnusableSet
from lumos_queue.benchmarks.openagi.builder.samples import MAX_ID, PublishedSample, PublishedSet
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.readers.fields import Node, RowNode
from lumos_queue.readers.records import read_records
from lumos_queue.readers.source import shorten
from lumos_queue.util.sanitize import storable

_STORY = ".story"
_HIGHLIGHT = "@highlight"
#: Ends of sentences. Lines without one, such as captions of photographs, get a full stop, as in version 3.0.0.
_ENDS = (".", "!", "?", "...", "'", "`", '"', "\u2019", "\u201d", ")")
_SENTIMENTS = {"0": "negative", "1": "positive"}
_TEST_TABLE = re.compile(
    r"(?:cnn_dailymail-)?test(?:-[0-9]{5}-of-[0-9]{5}(?:-[0-9a-f]{1,64})?\.parquet|\.csv|\.jsonl?)"
)
_VALIDATION_TABLE = re.compile(
    r"(?:sst2-)?validation(?:-[0-9]{5}-of-[0-9]{5}(?:-[0-9a-f]{1,64})?\.parquet|\.csv|\.jsonl?)"
)


# --- CNN/DailyMail


def read_cnn_dailymail(index: FileIndex) -> PublishedSet:
    """Return the test articles of CNN/DailyMail 3.0.0 with their highlights. Raises UnusableSet.

    They are rows of Parquet (Hugging Face Hub) or CSV (Kaggle), or the stories of the original release, of which
    all_test.txt lists the addresses.
    """
    if file := index.find("all_test.txt"):
        return _read_stories(file, index)
    file = _find_table(index, _TEST_TABLE, "article", "highlights")
    if file is None:
        raise UnusableSet("no all_test.txt with its stories, and no test file with the columns article and highlights")
    return _read_rows(file, index, "id", "article", "highlights")


def _read_stories(file: DataFile, index: FileIndex) -> PublishedSet:
    names = {hashlib.sha1(line.strip().encode()).hexdigest() for line in read_text(file, index).splitlines()}
    samples, excluded = [], {}
    stories = [story for name in sorted(names) if (story := index.find(f"{name}{_STORY}"))]
    if not stories:
        raise UnusableSet(f"no story of '{file.label}': expected files like {'0' * 4}…{_STORY}")
    for story in sorted(stories, key=lambda story: ("dailymail" in story.name, story.name.rpartition("/")[2])):
        sample_id = story.name.rpartition("/")[2].removesuffix(_STORY)
        try:
            article, highlights = _read_story(read_text(story, index))
        except UnusableSet as error:
            excluded[sample_id] = str(error)
            continue
        if article and highlights:
            samples.append(PublishedSample(sample_id, highlights, {"text": article}))
        else:
            excluded[sample_id] = "it has no article" if highlights else "it has no highlights"
    return PublishedSet(samples, [file], excluded)


def _read_story(text: str) -> tuple[str, str]:
    """Return article and highlights as the Hugging Face Hub's version 3.0.0 has them."""
    article, highlights, is_highlight = [], [], False
    for line in (raw_line.strip() for raw_line in storable(text)[0].splitlines()):
        if line.startswith(_HIGHLIGHT):
            is_highlight = True
        elif line:
            sentence = line if line.endswith(_ENDS) or _HIGHLIGHT in line else f"{line} ."
            (highlights if is_highlight else article).append(sentence)
    return " ".join(article), "\n".join(highlights)


# --- SST-2


def read_sst2(index: FileIndex) -> PublishedSet:
    """Return the sentences of SST-2's validation split, GLUE's dev.tsv, with 'negative' or 'positive'."""
    if file := index.find("dev.tsv", "SST-2") or index.find("dev.tsv"):
        return _read_dev(file, index)
    file = _find_table(index, _VALIDATION_TABLE, "sentence", "label")
    if file is None:
        raise UnusableSet("no SST-2/dev.tsv, and no validation file with the columns sentence and label")
    return _read_rows(file, index, "idx", "sentence", "label", _SENTIMENTS)


def _read_dev(file: DataFile, index: FileIndex) -> PublishedSet:
    lines = read_text(file, index).splitlines()
    if lines[:1] != ["sentence\tlabel"]:
        raise UnusableSet(f"'{file.label}': expected the columns sentence and label in its first line")
    samples, excluded = [], {}
    for number, line in enumerate(lines[1:]):
        sentence, _, label = line.rpartition("\t")
        if sentence.strip() and label.strip() in _SENTIMENTS:
            text = storable(sentence.strip())[0]
            samples.append(PublishedSample(str(number), _SENTIMENTS[label.strip()], {"text": text}))
        else:
            excluded[str(number)] = "expected a sentence and the label 0 or 1"
    if not samples:
        raise UnusableSet(f"'{file.label}' has no sentence with a label")
    return PublishedSet(samples, [file], excluded)


# --- SQuAD


def read_squad(index: FileIndex) -> PublishedSet:
    """Return the questions of SQuAD 1.1's dev-v1.1.json with their first answers. Raises UnusableSet."""
    if (file := index.find("dev-v1.1.json")) is None:
        raise UnusableSet("no dev-v1.1.json")
    samples, excluded = [], {}
    try:
        for sample_id, paragraph, item in _list_questions(read_document(file, index)):
            try:
                answers = item["answers"].items()
                if not answers:
                    raise item.bad("no answer")
                texts = {
                    "document": paragraph["context"].text(verbatim=True),
                    "question": item["question"].text(verbatim=True),
                }
                samples.append(PublishedSample(sample_id, answers[0]["text"].text(verbatim=True), texts))
            except BadRow as bad:
                excluded[sample_id] = f"{bad.field}: {bad.problem}"
    except BadRow as bad:
        raise UnusableSet(f"'{file.label}': {bad.field}: {bad.problem}") from None
    if not samples:
        raise UnusableSet(f"'{file.label}' has no question with an answer")
    return PublishedSet(samples, [file], excluded)


def _list_questions(document: Node) -> Iterator[tuple[str, Node, Node]]:
    for article in document["data"].items():
        for paragraph in article["paragraphs"].items():
            for item in paragraph["qas"].items():
                yield shorten(item["id"].text(), MAX_ID), paragraph, item


# --- tables


def _find_table(index: FileIndex, pattern: re.Pattern[str], *columns: str) -> DataFile | None:
    """Return the first file with a name of this pattern whose rows have the columns; None without such a file."""
    for file in index.list_files():
        if pattern.fullmatch(file.name.rpartition("/")[2]):
            try:
                first = next(iter(read_records(file.save(index.scratch), "rows", columns)), None)
            except (SpecError, UnusableSet):
                continue
            if isinstance(first, tuple) and all(column in first[1] for column in columns):
                return file
    return None


def _read_rows(
    file: DataFile, index: FileIndex, key: str, text: str, target: str, labels: Mapping[str, str] | None = None
) -> PublishedSet:
    samples, excluded = [], {}
    try:
        for row in read_records(file.save(index.scratch), f"a table with {text} and {target}", (text, target)):
            number = row.row if isinstance(row, BadRow) else row[0]
            sample_id = str(number)
            try:
                if isinstance(row, BadRow):
                    raise row
                sample_id, texts, aim = _read_row(RowNode(number, "", row[1]), key, text, target, labels)
                samples.append(PublishedSample(sample_id, aim, texts))
            except BadRow as bad:
                excluded[sample_id] = f"{bad.field}: {bad.problem}"
    except SpecError as error:
        raise UnusableSet(f"'{file.label}': {error}") from None
    if not samples:
        raise UnusableSet(f"'{file.label}' has no row that can be used")
    return PublishedSet(samples, [file], excluded)


def _read_row(row: RowNode, key: str, text: str, target: str, labels: Mapping[str, str] | None) -> tuple[Any, ...]:
    sample_id = shorten(row[key].label(), MAX_ID) if key in row else str(row.row)
    if labels is None:
        aim = row[target].text(verbatim=True)
    elif (aim := labels.get(row[target].label(), "")) == "":
        raise row[target].bad(f"expected {' or '.join(labels)}")
    return sample_id, {"text": row[text].text(verbatim=True)}, aim
