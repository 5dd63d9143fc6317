"""Experts that packages bring with their weights, in real processes: each does better than doing nothing.

A package that is not installed skips its tests by name. CI installs those that are small, and fails without them.
"""

from __future__ import annotations

import asyncio
import os
import tomllib
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from lumos_queue.benchmarks.openagi.data.samples import load_input, load_sample
from lumos_queue.errors import SpecError
from lumos_queue.experts.backends.base import BackendFacts, Fidelity
from lumos_queue.experts.backends.package import PACKAGES, find
from lumos_queue.experts.backends.pixels import read_picture, write_picture
from lumos_queue.experts.backends.registry import resolve
from lumos_queue.experts.host import ExpertHost
from lumos_queue.experts.problems import Problem
from lumos_queue.scoring.media.pixels import psnr

EXTRAS = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]["optional-dependencies"]
PINNED = dict(one.split("==") for one in EXTRAS["experts"])
#: Packages that `dev` installs: what the others need takes 60 MB or more.
INSTALLED = [
    name
    for name, one in PACKAGES.items()
    if {f"{it}=={PINNED.get(it)}" for it in one.distributions} <= {*EXTRAS["dev"]}
]


def open_package(name: str, expert: str) -> BackendFacts:
    try:
        return resolve(expert, f"package:{name}")
    except SpecError as error:
        must = name in INSTALLED and bool(os.environ.get("CI"))
        (pytest.fail if must else pytest.skip)(f"package:{name} {error}")


def run(name: str, expert: str, *inputs: list[bytes]) -> list[bytes]:
    """What a package's expert makes of each sample in its own process."""
    facts = open_package(name, expert)

    async def main() -> list[bytes | Problem]:
        host = ExpertHost()
        try:
            return await host.run(facts, inputs)
        finally:
            await host.close()

    made = [one for one in asyncio.run(main()) if isinstance(one, bytes)]
    assert len(made) == len(inputs[0]), "a sample has a problem"
    return made


def test_the_small_packages_are_installed_for_the_tests_in_the_versions_of_the_extra():
    assert INSTALLED == ["vader", "summa", "wordsegment"]


@pytest.mark.parametrize(
    ("name", "expert", "augmentation", "least"),
    [
        ("opencv", "Image Denoising", "noisy", 1.0),
        ("opencv-nlm", "Image Denoising", "noisy", 1.0),
        ("waifu2x", "Image Denoising", "noisy", 1.0),
        ("waifu2x", "Image Super Resolution", "low-resolutioned", 0.1),
    ],
)
def test_what_restores_pictures_brings_them_nearer_to_the_original(name, expert, augmentation, least):
    clean = [load_input("labels", "test", number, "image") for number in range(6)]
    given = [load_input("labels", "test", number, "image", (augmentation,), "strong") for number in range(6)]
    made = run(name, expert, given)
    gains = [psnr(one, original) - psnr(bad, original) for one, bad, original in zip(made, given, clean, strict=True)]
    assert sum(gains) / len(gains) > least, gains
    assert {read_picture(one).size for one in made} == {(64, 64)}


def test_vader_feels_most_sentiments_and_takes_a_text_without_any_for_positive():
    texts = [load_input("sentiments", "test", number, "text") for number in range(40)]
    wanted = [load_sample("sentiments", "test", number).target.en for number in range(40)]
    *made, plain = (one.decode() for one in run("vader", "Sentiment Analysis", [*texts, b"the table"]))
    right = sum(one == other for one, other in zip(made, wanted, strict=True))
    assert right >= 33 > Counter(wanted).most_common(1)[0][1], "better than always the same answer"
    assert plain == "positive"


def test_summa_gives_two_sentences_of_the_text_as_they_stand():
    texts = [load_input("documents", "test", number, "text").decode() for number in range(6)]
    *made, short, none = run("summa", "Text Summarization", [*(one.encode() for one in texts), b"Hello there.", b"hi"])
    for text, summary in zip(texts, (one.decode() for one in made), strict=True):
        sentences = [f"{one} ." for one in summary.removesuffix(" .").split(" . ")]
        assert len(sentences) == 2 and len(summary) < len(text)
        assert all(one in text for one in sentences), "in its words"
    assert (short, none) == (b"Hello there.", b"hi"), "what is too short stays as it is"


def test_wordsegment_fills_each_mask_by_the_words_beside_it():
    given = {
        b"[MASK]": b"the",
        b"xqzzy [MASK] qqzx": b"xqzzy the qqzx",
        b"in [MASK] world": b"in the world",
        b"united [MASK] of america": b"united state of america",
        b"New [MASK] city , [MASK]!": b"New and city , the!",
        b"qqzx [MASK] aaron": b"qqzx the aaron",
        b"nothing is missing": b"nothing is missing",
    }
    assert run("wordsegment", "Fill Mask", [*given]) == [*given.values()]


def draw_traffic_light() -> bytes:
    image = Image.new("RGB", (96, 96), (150, 190, 230))
    pen = ImageDraw.Draw(image)
    pen.rectangle((45, 80, 51, 96), fill=(60, 60, 60))
    pen.rectangle((32, 6, 64, 80), fill=(25, 25, 25))
    for top, colour in ((10, (230, 40, 30)), (33, (240, 190, 40)), (56, (40, 200, 80))):
        pen.ellipse((39, top, 57, top + 18), fill=colour)
    return write_picture(image)


def draw_grid() -> bytes:
    pixels = np.kron(np.indices((12, 12)).sum(axis=0) % 2 * 255, np.ones((8, 8)))
    return write_picture(Image.fromarray(pixels.astype(np.uint8)).convert("RGB"))


def test_efficientnet_names_what_it_sees_as_imagenet_does():
    made = run("efficientnet-lite0", "Image Classification", [draw_traffic_light(), draw_grid()])
    assert made == [b"traffic light", b"window screen"]


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_that_is_not_there_is_named_with_what_to_install(name, monkeypatch):
    monkeypatch.setattr("lumos_queue.experts.backends.needs.util.find_spec", lambda module: None)
    package = PACKAGES[name]
    for expert in package.experts:
        with pytest.raises(SpecError) as raised:
            find(expert, f"package:{name}")
        assert str(raised.value) == f"not run: needs {', '.join(package.modules)}: {package.remedy}"
    if "[experts]" in package.remedy:
        assert set(package.distributions) <= set(PINNED), "the extra brings it"
    assert ("torchvision" in package.modules) == ("torchvision" in package.remedy), "no extra brings it"


def test_a_package_is_a_substitute_whose_version_is_part_of_its_digest(monkeypatch):
    here = open_package("vader", "Sentiment Analysis")
    assert here.fidelity == Fidelity.SUBSTITUTE and f"vaderSentiment {PINNED['vaderSentiment']}" in here.note
    monkeypatch.setattr("lumos_queue.experts.backends.needs.metadata.version", lambda name: "9.9")
    other = find("Sentiment Analysis", "package:vader")
    assert other.digest != here.digest and "9.9" in other.note


@pytest.mark.parametrize(
    ("expert", "url", "told"),
    [
        ("Sentiment Analysis", "package:nope", "No package of experts called 'nope'"),
        ("Sentiment Analysis", "package:opencv", "has no Sentiment Analysis. Packages that have it: vader."),
        ("Colorization", "package:opencv", "Packages that have it: none."),
    ],
)
def test_a_package_that_cannot_do_it_names_those_that_can(expert, url, told):
    with pytest.raises(SpecError, match=told):
        find(expert, url)
