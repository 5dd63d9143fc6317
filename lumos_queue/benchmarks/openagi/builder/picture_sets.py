"""Read ImageNet-1K, COCO and TextVQA in their published layouts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lumos_queue.benchmarks.openagi.builder.devkit import read_classes
from lumos_queue.benchmarks.openagi.builder.documents import read_document, read_text
from lumos_queue.benchmarks.openagi.builder.files import DataFile, FileIndex, UnusableSet
from lumos_queue.benchmarks.openagi.builder.samples import PublishedSample, PublishedSet
from lumos_queue.errors import BadRow
from lumos_queue.readers.fields import Node

_VALIDATION = re.compile(r"ILSVRC2012_val_([0-9]{8})(?:_(n[0-9]{8}))?\.JPEG")
_WNID = re.compile(r"n[0-9]{8}")
_MAPPINGS = ("LOC_synset_mapping.txt", "synset_words.txt")
MAX_CLASS_DIGITS = 9
_SOLUTION, _TRUTH, _META = "LOC_val_solution.csv", "ILSVRC2012_validation_ground_truth.txt", "meta.mat"
VALIDATION_PICTURES = 50_000


def read_imagenet(index: FileIndex) -> PublishedSet:
    """Return the validation pictures of ImageNet-1K with the names of their classes. Raises UnusableSet.

    The class of a picture is that of its folder, as torchvision sorts them; else that of its name, as in the archive on
    the Hugging Face Hub; else that of Kaggle's LOC_val_solution.csv; else that of the development kit.
    """
    pictures = {}
    for file in index.list_files():
        if match := _VALIDATION.fullmatch(file.name.rpartition("/")[2]):
            wnid = file.folder if _WNID.fullmatch(file.folder) else match[2]
            pictures.setdefault(int(match[1]), (file, wnid))
    if not pictures:
        raise UnusableSet("no picture ILSVRC2012_val_00000001.JPEG, …")
    names, files = _read_class_names(index)
    needs_list = any(not wnid for _, wnid in pictures.values())
    classes, more_files = _read_validation_classes(index) if needs_list else ({}, [])
    samples, excluded = [], {}
    for number, (file, wnid) in sorted(pictures.items()):
        sample_id = f"ILSVRC2012_val_{number:08}"
        wnid = wnid or classes.get(number, "")
        if wnid in names:
            samples.append(PublishedSample(sample_id, names[wnid], picture=file))
        else:
            excluded[sample_id] = f"its class '{wnid}' has no name" if wnid else "its class is not listed"
    if not samples:
        raise UnusableSet(f"no picture has a class; the first: {next(iter(excluded.values()))}")
    return PublishedSet(samples, [*files, *more_files], excluded)


def _read_class_names(index: FileIndex) -> tuple[Mapping[str, str], list[DataFile]]:
    """Return the name of each class by its WordNet id, and the file that has them."""
    for name in _MAPPINGS:
        if file := index.find(name):
            return _read_mapping(file, index), [file]
    if file := index.find(_META):
        return {wnid: words for wnid, words in read_classes(file.save(index.scratch)).values()}, [file]
    raise UnusableSet(f"no names of classes: expected {', '.join(_MAPPINGS)} or the development kit's {_META}")


def _read_mapping(file: DataFile, index: FileIndex) -> Mapping[str, str]:
    names = {}
    for number, line in enumerate(read_text(file, index).splitlines(), start=1):
        wnid, _, words = line.strip().partition(" ")
        if not (_WNID.fullmatch(wnid) and words.strip()):
            raise UnusableSet(f"'{file.label}', line {number:,}: expected a line like 'n01440764 tench, Tinca tinca'")
        names[wnid] = words.strip()
    return names


def _read_validation_classes(index: FileIndex) -> tuple[Mapping[int, str], list[DataFile]]:
    """Return the WordNet id of each validation picture by its number, and the files that have them."""
    if file := index.find(_SOLUTION):
        return dict(_read_solution(file, index)), [file]
    truth, meta = index.find(_TRUTH), index.find(_META)
    if truth is None or meta is None:
        raise UnusableSet(
            "the pictures are not in folders of classes, and nothing lists their classes: expected "
            f"{_SOLUTION}, or {_TRUTH} and {_META} of the development kit"
        )
    classes = read_classes(meta.save(index.scratch))
    wnids = {}
    for number, line in enumerate(read_text(truth, index).split(), start=1):
        if number > VALIDATION_PICTURES or _read_class(line) not in classes:
            raise UnusableSet(f"'{truth.label}', line {number:,}: expected the number of a class of {_META}")
        wnids[number] = classes[_read_class(line)][0]
    return wnids, [truth, meta]


def _read_class(line: str) -> int:
    """Return the number of a class; 0, which no class has, for another text."""
    return int(line) if line.isascii() and line.isdecimal() and len(line) <= MAX_CLASS_DIGITS else 0


def _read_solution(file: DataFile, index: FileIndex) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(read_text(file, index).splitlines(), start=1):
        if number == 1 and line.startswith("ImageId,"):
            continue
        name, _, boxes = line.partition(",")
        match, wnid = _VALIDATION.fullmatch(f"{name}.JPEG"), boxes.partition(" ")[0]
        if match is None or not _WNID.fullmatch(wnid):
            raise UnusableSet(f"'{file.label}', line {number:,}: expected a picture and its class, e.g. n01440764")
        yield int(match[1]), wnid


# --- COCO


def read_captions(index: FileIndex) -> PublishedSet:
    """Return the pictures of COCO val2017, each with its first caption. Raises UnusableSet."""
    return _read_coco(index, "captions_val2017.json", _first_caption)


def read_instances(index: FileIndex) -> PublishedSet:
    """Return the pictures of COCO val2017, each with the category of every instance. Raises UnusableSet."""
    return _read_coco(index, "instances_val2017.json", _list_categories)


def _first_caption(annotations: Sequence[Node], _document: Node) -> Mapping[int, str]:
    captions: dict[int, str] = {}
    for annotation in annotations:
        picture = annotation["image_id"].whole()
        if picture not in captions:
            captions[picture] = annotation["caption"].text(verbatim=True)
    return captions


def _list_categories(annotations: Sequence[Node], document: Node) -> Mapping[int, str]:
    names = {item["id"].whole(): item["name"].text() for item in document["categories"].items()}
    categories: dict[int, list[str]] = {}
    for annotation in annotations:
        category = annotation["category_id"]
        if (name := names.get(category.whole())) is None:
            raise category.bad("no category has this number")
        categories.setdefault(annotation["image_id"].whole(), []).append(name)
    return {picture: ", ".join(items) for picture, items in categories.items()}


def _read_coco(
    index: FileIndex, name: str, read_targets: Callable[[Sequence[Node], Node], Mapping[int, str]]
) -> PublishedSet:
    if (file := index.find(name)) is None:
        raise UnusableSet(f"no {name}")
    document = read_document(file, index)
    try:
        names = {item["id"].whole(): item["file_name"].text() for item in document["images"].items()}
        targets = read_targets(document["annotations"].items(), document)
    except BadRow as bad:
        raise UnusableSet(f"'{file.label}': {bad.field}: {bad.problem}") from None
    samples, excluded, has_picture = [], {}, False
    is_caption = "captions" in name
    for number, file_name in sorted(names.items()):
        picture = index.find(Path(file_name).name, "val2017")
        has_picture = has_picture or picture is not None
        if (target := targets.get(number)) is None:
            excluded[str(number)] = "it has no annotation"
        else:
            texts = {"text": target} if is_caption else {}
            samples.append(PublishedSample(str(number), target, texts, picture))
    problem = "" if has_picture else "no picture of the annotations is in a folder 'val2017'"
    return PublishedSet(samples, [file], excluded, problem)


# --- TextVQA


def read_textvqa(index: FileIndex) -> PublishedSet:
    """Return the validation questions of TextVQA, each with its picture and first answer. Raises UnusableSet."""
    names = ("TextVQA_0.5.1_val.json", "TextVQA_0.5_val.json")
    if (file := next(filter(None, map(index.find, names)), None)) is None:
        raise UnusableSet(f"no {names[0]}")
    samples, excluded, has_picture = [], {}, False
    for position, item in enumerate(_items_of(read_document(file, index), file)):
        sample_id = str(position)
        try:
            sample_id = str(item["question_id"].whole())
            picture = index.find(f"{Path(item['image_id'].text()).name}.jpg", "train_images")
            answers = item["answers"].items()
            if not answers:
                raise item.bad("no answer")
            question = item["question"].text(verbatim=True)
            samples.append(PublishedSample(sample_id, answers[0].text(verbatim=True), {"question": question}, picture))
            has_picture = has_picture or picture is not None
        except BadRow as bad:
            excluded[sample_id] = f"{bad.field}: {bad.problem}"
    if not samples:
        raise UnusableSet(f"'{file.label}' has no question with an answer{_first(excluded)}")
    problem = "" if has_picture else "no picture of the questions is in a folder 'train_images'"
    return PublishedSet(samples, [file], excluded, problem)


def _items_of(document: Node, file: DataFile) -> list[Any]:
    try:
        return document["data"].items()
    except BadRow as bad:
        raise UnusableSet(f"'{file.label}': {bad.field}: {bad.problem}") from None


def _first(excluded: Mapping[str, str]) -> str:
    return f"; the first problem: {next(iter(excluded.values()))}" if excluded else ""
