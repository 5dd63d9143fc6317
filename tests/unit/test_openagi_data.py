"""Generated data: the same bytes everywhere, splits apart, true targets, augmentations as the code has them."""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from PIL import Image, ImageFilter

from lumos_queue.benchmarks.openagi.data import texts
from lumos_queue.benchmarks.openagi.data.augmentations import (
    MASK,
    ORDER,
    PROFILES,
    augment_image,
    manifest,
    mask_token,
)
from lumos_queue.benchmarks.openagi.data.drawing import SIZE, Scene, Spot, board_size, draw_scene
from lumos_queue.benchmarks.openagi.data.nouns import BilingualNoun, Phrase, count_noun, object_noun
from lumos_queue.benchmarks.openagi.data.png import read_png, write_png
from lumos_queue.benchmarks.openagi.data.samples import SOURCES, load_input, load_sample
from lumos_queue.benchmarks.openagi.data.seeds import SPLITS
from lumos_queue.benchmarks.openagi.data.things import PLACES, THINGS
from lumos_queue.util.images import read_image

WITH_PICTURES = ("labels", "captions", "objects", "signs")
#: sha256 over samples 0 and 1 of a split 'test'. A digest that differs names what a machine does otherwise: drawing, or
#: Pillow's blur, or its JPEG, or numpy's draws.
DIGESTS = {
    "clean": "86ee5569bfc83fcc75444521afc4f896e32f31e42041415f9051afeff9a819cf",
    "grayscale": "750b504626f69a9942b645f065114effbff14d8b035d0d732b51eb69de00c36c",
    "blurry": "3efdc0840c52064e6e94fcfaf8231cce28b3754692919be55550191b4ef882ec",
    "noisy": "6dfc43c55924a6121b4d1f7dac57f8ddfd6ee4ff7c7e6eb7a1ed5e9fb8799891",
    "low-resolutioned": "af3e00ac927766f9787af231360d1b50dd995c785bdaaadddee0c4eeb2f43e52",
    "all": "7e90c696d382dd03bed7f7af7884d009a909226767f16eaa57c07858bdd580e0",
    "texts": "0e069666d3c50d8ee126b3e77554fbeb413d473845bd2af552df975ae07dd0cc",
}
PRINT = "from tests.unit.test_openagi_data import DIGESTS, digest_of; print(*map(digest_of, DIGESTS))"


def digest_of(name: str) -> str:
    """Of all sources: pictures with that augmentation, with none ('clean') or with 'all'; or their 'texts'."""
    names = {"clean": (), "all": ORDER}.get(name, (name,))
    found = hashlib.sha256()
    for source in SOURCES:
        for number in (0, 1):
            sample = load_sample(source, "test", number)
            if name == "texts":
                found.update(repr((sample.target, sorted(sample.texts.items()))).encode())
                for channel in sorted(sample.texts):
                    found.update(load_input(source, "test", number, channel, ("clozed",)))
            elif sample.scene:
                for profile in PROFILES:
                    found.update(load_input(source, "test", number, "image", names, profile))
    return found.hexdigest()


def pixels_of(source: str, number: int, *names: str, profile: str = "released") -> np.ndarray:
    return read_png(load_input(source, "test", number, "image", names, profile))


# --- the same everywhere


def test_bytes_are_the_same_in_every_process():
    done = subprocess.run([sys.executable, "-c", PRINT], capture_output=True, text=True, check=True)
    there = dict(zip(DIGESTS, done.stdout.split(), strict=True))
    assert there == {name: digest_of(name) for name in DIGESTS} == DIGESTS


def test_a_png_is_read_back_and_is_not_compressed(tmp_path):
    pixels = np.random.RandomState(0).randint(0, 256, (200, 150, 3), np.uint8)  # of more than one stored block
    data = write_png(pixels)
    assert (read_png(data) == pixels).all() and len(data) > pixels.size
    (tmp_path / "x.png").write_bytes(data)
    assert (read_image(tmp_path / "x.png").width, read_image(tmp_path / "x.png").height) == (150, 200)
    with pytest.raises(ValueError, match="height x width x 3"):
        write_png(pixels[:, :, 0])


# --- splits


def combined(source: str, split: str, number: int) -> object:
    """What a sample combines: things and their numbers, writing and place; or the words that differ between texts."""
    sample = load_sample(source, split, number)
    scene = sample.scene
    if scene is None:
        words = sample.texts.get("document", sample.texts.get("text", "")).split(" ")
        return {"documents": sample.target.en.split(" . ")[0], "passages": " ".join(words[:2])}.get(
            source, " ".join(words)
        )
    if source == "signs":
        return [one.text for one in scene.boards], scene.spots[0].thing
    return sorted(Counter(one.thing for one in scene.spots).items()), scene.place


@pytest.mark.parametrize("source", SOURCES)
def test_splits_share_no_combination(source):
    train, dev, test = ({repr(combined(source, split, number)) for number in range(150)} for split in SPLITS)
    assert train and dev and test
    assert not train & dev and not train & test and not dev & test


def test_captions_and_objects_share_no_scene_across_splits():
    """A detector may be trained on what captions show: their combinations are assigned together."""
    train, test = (
        {repr(combined(source, split, number)) for source in ("captions", "objects") for number in range(300)}
        for split in ("train", "test")
    )
    assert not train & test


@pytest.mark.parametrize("source", SOURCES)
def test_splits_share_no_sample(source):
    def contents(split):
        drawn = [load_sample(source, split, number) for number in range(60)]
        return {(repr(one.scene), repr(sorted(one.texts.items()))) for one in drawn}

    train, dev, test = map(contents, SPLITS)
    assert not train & dev and not train & test and not dev & test


def test_every_kind_of_thing_and_every_place_is_in_every_split():
    for split in SPLITS:
        assert {load_sample("labels", split, number).target.en for number in range(200)} == set(THINGS)
    for split in SPLITS:
        drawn = [load_sample("captions", split, number) for number in range(200)]
        assert {one.thing for sample in drawn for one in sample.scene.spots} == set(THINGS)
        assert {sample.scene.place for sample in drawn} == set(PLACES)


def test_an_unknown_split_or_source_is_refused():
    with pytest.raises(ValueError, match="one of train, dev, test"):
        load_sample("labels", "tset", 0)
    with pytest.raises(KeyError):
        load_sample("label", "test", 0)
    with pytest.raises(KeyError, match="no pictures"):
        load_input("documents", "test", 0, "image")


# --- what is shown is what is said


@pytest.mark.parametrize("name", THINGS)
def test_things_have_the_colour_of_their_kind(name):
    """A tenth of the thing's box is of one shade of that colour."""
    shades = [[min(255, one * factor // 100) for one in THINGS[name].colour] for factor in range(88, 109)]
    for seed in range(5):
        shown = draw_scene(Scene("street", (Spot(name, 10, 10, 44),), (), seed))[10:54, 10:54]
        assert max((shown == shade).all(axis=2).mean() for shade in shades) > 0.1


def test_captions_say_what_the_picture_shows():
    for number in range(100):
        sample = load_sample("captions", "train", number)
        counts = Counter(one.thing for one in sample.scene.spots)
        said = sample.target.en
        for name, count in counts.items():
            thing = THINGS[name]
            assert count_noun(thing.noun, thing.adjective, count).en in said
        assert said.endswith(PLACES[sample.scene.place].phrase.en) and sample.texts == {"text": said}


def test_object_names_are_those_of_every_instance():
    repeated = 0
    for number in range(100):
        sample = load_sample("objects", "train", number)
        named = sample.target.en.split(", ")
        assert Counter(named) == Counter(one.thing for one in sample.scene.spots)
        assert len(sample.target.de.split(", ")) == len(named)
        repeated += len(set(named)) < len(named)
    assert repeated > 20


def test_answers_are_in_the_picture_and_in_the_text():
    for number in range(100):
        sign = load_sample("signs", "train", number)
        there = {one.text.lower() for one in sign.scene.boards} | {one.thing for one in sign.scene.spots}
        assert sign.target.en in there
        passage = load_sample("passages", "train", number)
        words = passage.texts["document"].split()
        assert words.count(passage.target.en) == 1


def test_nothing_is_drawn_outside_or_upon_each_other():
    for number in range(60):
        for source in WITH_PICTURES:
            scene = load_sample(source, "train", number).scene
            boxes = [(one.left, one.top, one.size, one.size) for one in scene.spots]
            boxes += [(one.left, one.top, *board_size(one.text)) for one in scene.boards]
            assert all(x >= 0 and y >= 0 and x + w <= SIZE and y + h <= SIZE for x, y, w, h in boxes), (source, number)
            apart = [(a, b) for place, a in enumerate(boxes) for b in boxes[place + 1 :] if _overlap(a, b)]
            assert not apart, (source, number, apart)


def _overlap(one, other):
    (x, y, w, h), (a, b, c, d) = one, other
    return x < a + c and a < x + w and y < b + d and b < y + h


def test_writing_changes_the_picture_only_on_its_board():
    """The board's pixels are ink or board, and some are ink."""
    sample = load_sample("signs", "test", 0)
    shown = draw_scene(sample.scene)
    for board in sample.scene.boards:
        width, height = board_size(board.text)
        part = shown[board.top : board.top + height, board.left : board.left + width].reshape(-1, 3)
        assert {tuple(one) for one in part.tolist()} == {board.colour, (25, 25, 30)}


def test_sentiments_follow_the_last_opinion_of_the_film():
    for number in range(200):
        sample = load_sample("sentiments", "train", number)
        last = sample.texts["text"].replace("!", ".").split(" but ")[-1]
        good = any(word in last.split() for word in texts.GOOD)
        assert good == (sample.target == Phrase("positive", "positiv"))


def test_summaries_are_said_by_their_report():
    for number in range(50):
        sample = load_sample("documents", "train", number)
        event, closed = sample.target.en.removesuffix(" .").split(" . ")
        assert event in sample.texts["text"] and closed.removeprefix("It ") in sample.texts["text"]
        assert len(sample.target.en) < len(sample.texts["text"]) / 2


# --- German


BRIDGE, STATION = (
    BilingualNoun("b", "bs", "Brücke", "Brücken", "f"),
    BilingualNoun("s", "ss", "Bahnhof", "Bahnhöfe", "m"),
)


@pytest.mark.parametrize(
    ("noun", "count", "german"),
    [
        (THINGS["apple"].noun, 1, "ein roter Apfel"),
        (THINGS["flower"].noun, 1, "eine rote Blume"),
        (THINGS["car"].noun, 1, "ein rotes Auto"),
        (THINGS["apple"].noun, 2, "zwei rote Äpfel"),
        (THINGS["car"].noun, 3, "drei rote Autos"),
    ],
)
def test_german_bends_adjectives_by_gender_and_number(noun, count, german):
    assert count_noun(noun, Phrase("red", "rot"), count).de == german


def test_german_has_an_accusative_and_english_an_article_by_sound():
    assert object_noun(STATION, Phrase("old", "alt")).de == "den alten Bahnhof"
    assert object_noun(BRIDGE, Phrase("old", "alt")).de == "die alte Brücke"
    assert count_noun(THINGS["fish"].noun, THINGS["fish"].adjective, 1).en == "an orange fish"


@pytest.mark.parametrize("source", SOURCES)
def test_equal_english_has_equal_german(source):
    german = {}
    for number in range(300):
        target = load_sample(source, "train", number).target
        assert german.setdefault(target.en, target.de) == target.de


# --- augmentations


def test_released_augmentations_are_those_of_the_released_code():
    clean = pixels_of("captions", 0)
    image = Image.fromarray(clean)
    assert (pixels_of("captions", 0, "grayscale") == np.asarray(image.convert("L").convert("RGB"))).all()
    assert (pixels_of("captions", 0, "blurry") == np.asarray(image.filter(ImageFilter.GaussianBlur(1)))).all()
    file = io.BytesIO()
    image.save(file, "JPEG", quality=30)
    assert (pixels_of("captions", 0, "low-resolutioned") == np.asarray(Image.open(file).convert("RGB"))).all()


@pytest.mark.parametrize("profile", PROFILES)
def test_noise_is_multiplied_and_has_the_profile_s_variance(profile):
    gray = np.full((200, 200, 3), 100, np.uint8)
    noise = augment_image(gray, ["noisy"], profile, "x").astype(float) / 100 - 1
    assert abs(noise.mean()) < 0.01 and noise.var() == pytest.approx(PROFILES[profile].speckle_variance, rel=0.05)
    assert not augment_image(np.zeros((8, 8, 3), np.uint8), ["noisy"], profile, "x").any()


def test_augmentations_have_one_order_however_they_are_named():
    forwards = pixels_of("labels", 0, *ORDER)
    assert (forwards == pixels_of("labels", 0, *reversed(ORDER))).all()
    steps = pixels_of("labels", 0)
    for name in ORDER:
        steps = augment_image(steps, [name], "released", "labels", "test", 0)
    assert (forwards == steps).all()
    swapped = augment_image(
        augment_image(pixels_of("labels", 0), ["noisy"], "strong", "labels", "test", 0), ["blurry"], "strong"
    )
    assert (swapped != pixels_of("labels", 0, "noisy", "blurry", profile="strong")).any()


def test_noise_depends_on_sample_and_source_and_not_on_what_else_is_done():
    gray = np.full((8, 8, 3), 100, np.uint8)
    of_first = augment_image(gray, ["noisy"], "released", "labels", "test", 0)
    assert (of_first == augment_image(gray, ["noisy"], "released", "labels", "test", 0)).all()
    assert (of_first != augment_image(gray, ["noisy"], "released", "labels", "test", 1)).any()
    assert (of_first != augment_image(gray, ["noisy"], "released", "objects", "test", 0)).any()
    assert (of_first != augment_image(gray, ["noisy"], "released", "labels", "train", 0)).any()


def test_the_strong_profile_harms_more():
    for name in ("blurry", "noisy", "low-resolutioned"):
        clean = pixels_of("objects", 1).astype(float)
        mild, strong = (np.abs(pixels_of("objects", 1, name, profile=one) - clean).mean() for one in PROFILES)
        assert strong > 1.5 * mild, name


def test_one_word_is_masked_and_which_one_depends_on_the_sample():
    text = "one two three four five six seven eight"
    found = [mask_token(text, "captions", "test", number, "text").split(" ") for number in range(40)]
    for words in found:
        assert words.count(MASK) == 1 and len(words) == 8
        assert sum(a != b for a, b in zip(words, text.split(" "), strict=True)) == 1
    assert {words.index(MASK) for words in found} == set(range(8))
    assert mask_token(text, "captions", "test", 0, "text").split(" ") == found[0]
    both = {mask_token(text, "passages", "test", 3, channel) for channel in ("document", "question")}
    assert len(both) == 2 or mask_token(text, "passages", "test", 4, "document") != mask_token(
        text, "passages", "test", 4, "question"
    )


def test_the_manifest_has_the_parameters():
    found = manifest("strong")
    assert (found["profile"], found["blur.radius"], found["noise.variance"], found["lowres.quality"]) == (
        "strong",
        2,
        0.08,
        8,
    )
    assert found["order"] == ["grayscale", "blurry", "noisy", "low-resolutioned", "clozed"]
