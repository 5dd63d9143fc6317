"""Small folders in the published layouts of the data sets that OpenAGI's samples come from. All content is invented."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

COUNT = 6  #: samples of each data set
CLASSES = (("n01440764", "tench, Tinca tinca"), ("n01443537", "goldfish, Carassius auratus"), ("n02123045", "tabby"))
FIRST_COCO = 139
CATEGORIES = {1: "person", 3: "car", 18: "dog"}
STORIES = [
    (f"Report number {number}. The film was dull", "It rained", (f"Highlight {number}", "The film is dull."))
    for number in range(COUNT)
]


def jpeg(number: int, size: tuple[int, int] = (48, 36), kind: str = "JPEG") -> bytes:
    pixels = np.random.RandomState(number).randint(0, 256, (size[1], size[0], 3)).astype(np.uint8)
    pixels[:, :, 0] = 30 * number % 256
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind)
    return file.getvalue()


def write(path: Path, content: bytes | str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def write_json(path: Path, content: Any) -> None:
    write(path, json.dumps(content))


def imagenet_name(number: int) -> str:
    return f"ILSVRC2012_val_{number + 1:08}"


def class_of(number: int) -> int:
    return number % len(CLASSES)


def write_imagenet(root: Path, layout: str = "torchvision") -> None:
    """Layouts: torchvision (folders of classes), kaggle, hub (the class in the name), devkit (as downloaded)."""
    for number in range(COUNT):
        name, wnid = imagenet_name(number), CLASSES[class_of(number)][0]
        path = {
            "torchvision": f"imagenet/val/{wnid}/{name}.JPEG",
            "kaggle": f"ILSVRC/Data/CLS-LOC/val/{name}.JPEG",
            "hub": f"val_images/{name}_{wnid}.JPEG",
            "devkit": f"ILSVRC2012_img_val/{name}.JPEG",
        }[layout]
        write(root / path, jpeg(number))
    if layout == "devkit":
        write_devkit(root / "ILSVRC2012_devkit_t12/data")
        return
    write(root / "LOC_synset_mapping.txt", "".join(f"{wnid} {words}\n" for wnid, words in CLASSES))
    if layout == "kaggle":
        rows = [f"{imagenet_name(number)},{CLASSES[class_of(number)][0]} 1 2 30 40 \n" for number in range(COUNT)]
        write(root / "LOC_val_solution.csv", "ImageId,PredictionString\n" + "".join(reversed(rows)))


def write_devkit(folder: Path) -> None:
    from scipy.io import savemat

    fields = [("ILSVRC2012_ID", "O"), ("WNID", "O"), ("words", "O"), ("gloss", "O"), ("num_children", "O")]
    rows = [(number, wnid, words, "a gloss", 0) for number, (wnid, words) in enumerate(CLASSES, start=1)]
    rows.append((1001, "n00001740", "entity", "a gloss", 3))
    folder.mkdir(parents=True)
    savemat(folder / "meta.mat", {"synsets": np.array(rows, dtype=fields).reshape(-1, 1)})
    lines = "".join(f"{class_of(number) + 1}\n" for number in range(COUNT))
    write(folder / "ILSVRC2012_validation_ground_truth.txt", lines)


def coco_id(number: int) -> int:
    return FIRST_COCO + 7 * number


def write_coco(root: Path) -> None:
    images = [{"id": coco_id(n), "file_name": f"{coco_id(n):012}.jpg", "license": 4} for n in range(COUNT)]
    for number, image in enumerate(images):
        write(root / "coco/val2017" / image["file_name"], jpeg(10 + number))
    images.reverse()  # the published files are not in the order of the numbers
    captions = [
        {"image_id": coco_id(number), "id": 100 * turn + number, "caption": f"A dog near a car {number} turn {turn}. "}
        for turn in range(2)
        for number in range(COUNT)
    ]
    write_json(root / "coco/annotations/captions_val2017.json", {"images": images, "annotations": captions})
    instances = [
        {"image_id": coco_id(number), "id": 10 * number + turn, "category_id": category, "bbox": [1.5, 2, 3, 4]}
        for number in range(1, COUNT)  # the first picture has no instance
        for turn, category in enumerate((18, 3, 18)[: 1 + number % 3])
    ]
    categories = [{"id": number, "name": name, "supercategory": "thing"} for number, name in CATEGORIES.items()]
    document = {"images": images, "annotations": instances, "categories": categories}
    write_json(root / "coco/annotations/instances_val2017.json", document)


def write_textvqa(root: Path) -> None:
    data = [
        {
            "question_id": 34602 + number,
            "question": f"what is written on sign {number}?",
            "image_id": f"{number:016x}",
            "image_classes": ["Sign"],
            "answers": [f"word {number}", "nothing"] * 5,
            "set_name": "val",
        }
        for number in range(COUNT)
    ]
    for number in range(COUNT):
        write(root / f"textvqa/train_images/{number:016x}.jpg", jpeg(20 + number))
    head = {"dataset_type": "val", "dataset_name": "textvqa", "dataset_version": "0.5.1"}
    write_json(root / "textvqa/TextVQA_0.5.1_val.json", head | {"data": data})


def story_url(number: int) -> str:
    return f"http://web.archive.org/story/{number}"


def story_name(number: int) -> str:
    return hashlib.sha1(story_url(number).encode()).hexdigest()


def write_cnn(root: Path) -> None:
    write(root / "cnn-dailymail/url_lists/all_test.txt", "".join(f"{story_url(n)}\n" for n in range(COUNT)))
    for number, (first, second, highlights) in enumerate(STORIES):
        publisher = ("cnn", "dailymail")[number % 2]
        text = f"{first}\n\n{second}\n\n" + "".join(f"@highlight\n\n{highlight}\n\n" for highlight in highlights)
        write(root / f"{publisher}/stories/{story_name(number)}.story", text)
    write(root / "cnn/stories/0123456789012345678901234567890123456789.story", "Of the training split\n")


def write_sst2(root: Path) -> None:
    lines = [f"it 's a {('dull', 'good')[number % 2]} film {number} \t{number % 2}\n" for number in range(COUNT)]
    write(root / "glue/SST-2/dev.tsv", "sentence\tlabel\n" + "".join(lines))


def write_squad(root: Path) -> None:
    paragraphs = [
        {
            "context": f"Anna {number} was born in Paris.\nShe was a painter.",
            "qas": [
                {
                    "id": f"5733be{number}",
                    "question": f"Where was Anna {number} born?",
                    "answers": [{"text": "Paris", "answer_start": 19}, {"text": "in Paris", "answer_start": 16}],
                }
            ],
        }
        for number in range(COUNT)
    ]
    write_json(root / "squad/dev-v1.1.json", {"data": [{"title": "Anna", "paragraphs": paragraphs}], "version": "1.1"})


WRITERS = (write_imagenet, write_coco, write_textvqa, write_cnn, write_sst2, write_squad)


def write_all(root: Path) -> Path:
    for make in WRITERS:
        make(root)
    return root


def pack_zip(folder: Path, archive: Path) -> None:
    """Move a folder into an archive, as the publishers pack it."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for path in sorted(folder.rglob("*")):
            file.write(path, path.relative_to(folder.parent))
    shutil.rmtree(folder)


def pack_tar(folder: Path, archive: Path) -> None:
    """Move the files of a folder into an archive without folders."""
    with tarfile.open(archive, "w") as file:
        for path in sorted(folder.iterdir()):
            file.add(path, path.name)
    shutil.rmtree(folder)
