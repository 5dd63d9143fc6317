"""The public files of benchmarks, with their addresses, licences, and known checksums.

Each checksum was computed from the bytes that the address serves, by this project or by a project that publishes the
checksum with the address (TensorFlow Datasets for GSM8K, ParlAI for HotpotQA). If a file has no checksum, its address
names a fixed commit if possible, and later downloads are compared with the first download.
"""

from __future__ import annotations

from dataclasses import dataclass

from lumos_queue.errors import unknown

MB = 1_000_000
GENERATED = "generated"  #: instead of a file's name: this project generates the rows
_GITHUB = "https://raw.githubusercontent.com"
_GSM8K = f"{_GITHUB}/openai/grade-school-math/3101c7d5072418e28b9008a6636bde82a006892c/grade_school_math/data"
_SVAMP = f"{_GITHUB}/arkilpatel/SVAMP"
_ASDIV = f"{_GITHUB}/chaochun/nlu-asdiv-dataset/883f90a9a65bf00304ba8f37423910fe743abc47"
_STRATEGYQA = f"{_GITHUB}/eladsegal/strategyqa/1ba1e97452e189569357876f2854b01357ffbe37"
_SPIDER = f"{_GITHUB}/taoyds/spider/7036cf422b1da08a907acbdc062e598bb0761bf7/evaluation_examples/examples"
_HOTPOTQA = "http://curtis.ml.cmu.edu/datasets/hotpot"  # its authors' own address; it offers no https


@dataclass(frozen=True, slots=True)
class PublicFile:
    """A file of a public data set, named `SET/FILE`."""

    name: str
    url: str
    licence: str  #: of the data, as an SPDX id
    sha256: str = ""  #: empty: not known
    size: int = 0  #: bytes; 0: not known
    max_bytes: int = 50 * MB  #: limit of a download whose size is not known
    splits: tuple[str, ...] = ()  #: splits for which the benchmark of its set reads the file by default
    variant_of: tuple[str, ...] = ()  #: splits whose rows it has in another form; it is read only on request

    def has_split(self, split: str) -> bool:
        """Return whether the file has the rows of a split, in the form that is read by default or in another form."""
        return split in self.splits or split in self.variant_of


_ANY = ("train", "dev", "test")  #: for a file without splits: the user chooses the split of its rows

FILES = (
    PublicFile("asdiv/ASDiv.xml", f"{_ASDIV}/dataset/ASDiv.xml", "CC-BY-NC-4.0", splits=_ANY),
    PublicFile(
        "gsm8k/train.jsonl",
        f"{_GSM8K}/train.jsonl",
        "MIT",
        sha256="17f347dc51477c50d4efb83959dbb7c56297aba886e5544ee2aaed3024813465",
        size=4_166_206,
        splits=("train",),
    ),
    PublicFile(
        "gsm8k/test.jsonl",
        f"{_GSM8K}/test.jsonl",
        "MIT",
        sha256="3730d312f6e3440559ace48831e51066acaca737f6eabec99bccb9e4b3c39d14",
        size=749_738,
        splits=("test",),
    ),
    PublicFile(
        "gsm8k/train_socratic.jsonl",
        f"{_GSM8K}/train_socratic.jsonl",
        "MIT",
        sha256="153d86551187cfd64ef7afb59bfd0ef75cea3ae9388e7ad31e43920b6dd77872",
        size=5_401_739,
        variant_of=("train",),
    ),
    PublicFile(
        "gsm8k/test_socratic.jsonl",
        f"{_GSM8K}/test_socratic.jsonl",
        "MIT",
        sha256="c96673362fa7a699f4836a9b6474a067448f95fe58064727501ee63ba4c3fdb6",
        size=972_978,
        variant_of=("test",),
    ),
    PublicFile(
        "hotpotqa/hotpot_train_v1.1.json",
        f"{_HOTPOTQA}/hotpot_train_v1.1.json",
        "CC-BY-SA-4.0",
        sha256="26650cf50234ef5fb2e664ed70bbecdfd87815e6bffc257e068efea5cf7cd316",
        size=566_426_227,
        splits=("train",),
    ),
    PublicFile(
        "hotpotqa/hotpot_dev_distractor_v1.json",
        f"{_HOTPOTQA}/hotpot_dev_distractor_v1.json",
        "CC-BY-SA-4.0",
        sha256="4e9ecb5c8d3b719f624d66b60f8d56bf227f03914f5f0753d6fa1b359d7104ea",
        size=46_320_117,
        splits=("dev",),
    ),
    PublicFile(
        "mawps/train.csv",
        f"{_SVAMP}/04df0ae782610032aac7e687b61d07a90176c993/data/cv_mawps/fold0/train.csv",
        "MIT",
        splits=("train",),
    ),
    PublicFile("spider/dev.json", f"{_SPIDER}/dev.json", "CC-BY-SA-4.0", splits=("dev",)),
    PublicFile("spider/tables.json", f"{_SPIDER}/tables.json", "CC-BY-SA-4.0"),
    PublicFile("strategyqa/train.json", f"{_STRATEGYQA}/data/strategyqa/train.json", "MIT", splits=("train",)),
    PublicFile("svamp/SVAMP.json", f"{_SVAMP}/main/SVAMP.json", "MIT", splits=_ANY),
)


def list_set(name: str) -> list[PublicFile]:
    """Return the files of a set; an empty list for an unknown set."""
    return [file for file in FILES if file.name.partition("/")[0] == name]


def find_files(name: str) -> list[PublicFile]:
    """Return the files of a set by its name (`gsm8k`), or a single file by its name (`gsm8k/train.jsonl`).

    Raises SpecError, which lists the sets, for an unknown name.
    """
    files = [file for file in FILES if name in (file.name, file.name.partition("/")[0])]
    if not files:
        raise unknown("public data set", name, {file.name.partition("/")[0] for file in FILES})
    return files


def has_split(file_name: str, split: str) -> bool:
    """Return whether the public file of that name has the rows of a split."""
    return any(file.name == file_name and file.has_split(split) for file in FILES)


def can_verify(benchmark: str, split: str) -> bool:
    """Return whether `lumos data get` can fetch a public file with the rows of a benchmark's split."""
    return any(file.has_split(split) for file in list_set(benchmark))
