"""Sum2Act's visual APIs by rule: another colour, colours for outlines, styles, and questions about colours."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from PIL import Image, ImageChops

from lumos_queue.benchmarks.openagi.data.animals import ANIMALS, COLOURS
from lumos_queue.benchmarks.openagi.data.drawing import Scene, Spot, draw_scene
from lumos_queue.benchmarks.openagi.data.png import write_png
from lumos_queue.benchmarks.openagi.data.things import PLACES
from lumos_queue.benchmarks.openagi.rules.colours import PaintOutlines, Recolour
from lumos_queue.benchmarks.openagi.rules.pictures import AnswerFromScene
from lumos_queue.experts.backends.own.styles import STYLES, ChangeStyle
from lumos_queue.experts.backends.pixels import read_picture, write_picture
from lumos_queue.experts.backends.registry import resolve
from lumos_queue.experts.host import ExpertHost
from lumos_queue.experts.problems import BAD_INPUT, SampleError


def draw(*spots: Spot, place: str = "meadow", shade: int = 3) -> bytes:
    return write_png(draw_scene(Scene(place, spots, (), shade)))


def pixels(data: bytes) -> np.ndarray:
    return np.asarray(read_picture(data), np.int16)


def ask(data: bytes, question: str) -> str:
    return AnswerFromScene().run(data, question.encode()).decode()


DOG = draw(Spot("dog", 10, 12, 44, COLOURS["brown"]))
PAIR = draw(Spot("ball", 4, 30, 19, COLOURS["blue"]), Spot("cup", 40, 34, 19, COLOURS["red"]))


@pytest.mark.parametrize("place", PLACES)
def test_the_colour_of_an_animal_is_named(place):
    for number, (name, colour) in enumerate((name, colour) for name in ANIMALS for colour in ("red", "black", "pink")):
        data = draw(Spot(name, 8 + number, 14, 39 + number, COLOURS[colour]), place=place, shade=number)
        assert ask(data, f"What colour is the {name}?") == colour


def test_a_colour_is_that_of_the_thing_that_the_question_names():
    assert (ask(PAIR, "what color is the ball ?"), ask(PAIR, "which colour has the cup?")) == ("blue", "red")


@pytest.mark.parametrize("colour", ["red", "white", "green"])
def test_a_thing_gets_another_colour_and_the_rest_stays(colour):
    made = Recolour().run(DOG, f"Make the dog {colour}.".encode())
    assert ask(made, "what colour is the dog?") == colour
    changed = np.abs(pixels(made) - pixels(DOG)).max(axis=2) > 0
    drawn = np.abs(pixels(DOG) - pixels(draw())).max(axis=2) > 0
    assert 200 < changed.sum() < drawn.sum() and not changed[~drawn].any(), "outside of the dog nothing changes"
    only = Recolour().run(PAIR, b"turn the cup violet")
    assert (ask(only, "what colour is the cup?"), ask(only, "what colour is the ball?")) == ("violet", "blue")


def test_outlines_are_filled_in_the_place_that_is_named():
    for text, colour, behind in (
        ("a violet dog on a beach", "violet", (110, 190, 225)),
        ("green", "green", (255,) * 3),
    ):
        made = pixels(PaintOutlines().run(DOG, text.encode()))
        assert np.abs(made[1, 1] - np.array(behind)).max() <= 12, "a little lighter or darker"
        assert np.abs(made[32, 30] - np.array(COLOURS[colour])).max() <= 1, "within the outline"
    assert tuple(pixels(PaintOutlines().run(DOG, b"an apple"))[32, 30]) == (205, 35, 40)


def test_each_style_is_another_picture_and_a_negative_of_a_negative_is_the_picture():
    made = {name: ChangeStyle().run(DOG, f"in the style of {name}".encode()) for name in STYLES}
    assert len({*made.values(), DOG}) == len(STYLES) + 1
    assert made["negative"] == write_picture(ImageChops.invert(read_picture(DOG)))
    grey = pixels(made["black and white"])
    assert (grey[..., 0] == grey[..., 2]).all() and not (pixels(made["sepia"])[..., 0] == pixels(DOG)[..., 0]).all()
    assert ChangeStyle().run(DOG, b"as a Pencil-Sketch") == made["sketch"]


@pytest.mark.parametrize(
    ("model", "text", "told"),
    [
        (ChangeStyle(), "baroque", "expected one of the styles sepia, sketch"),
        (ChangeStyle(), "sepia or negative", "expected one of the styles"),
        (Recolour(), "make it red", "expected one thing and one colour"),
        (Recolour(), "make the dog red or blue", "expected one thing and one colour"),
        (Recolour(), "make the cat red", "no cat is seen; there is dog"),
        (PaintOutlines(), "something nice", "expected a colour or a thing"),
        (AnswerFromScene(), "what colour is the cat?", "no cat is seen"),
    ],
)
def test_what_a_rule_cannot_do_is_a_problem_of_the_sample(model, text, told):
    with pytest.raises(SampleError, match=told) as raised:
        model.run(DOG, text.encode())
    assert raised.value.kind == BAD_INPUT


def test_a_gray_picture_has_no_colour_to_name_or_to_change():
    gray = write_picture(read_picture(DOG).convert("L").convert("RGB"))
    for model, text in ((AnswerFromScene(), b"what colour is the dog?"), (Recolour(), b"make the dog red")):
        with pytest.raises(SampleError, match="no colours"):
            model.run(gray, text)


def test_pictures_of_other_sizes_keep_theirs():
    large = write_picture(read_picture(DOG).resize((128, 96), Image.Resampling.BICUBIC))
    for model, text in ((Recolour(), b"make the dog red"), (PaintOutlines(), b"red"), (ChangeStyle(), b"sepia")):
        assert read_picture(model.run(large, text)).size == (128, 96)


def test_they_run_in_processes_of_their_own():
    given = {
        "Conditioned Image Generation": b"a red dog",
        "Image Editing": b"make the dog red",
        "Image Style Transfer": b"sepia",
    }

    async def main() -> list[object]:
        host = ExpertHost()
        try:
            return [(await host.run(resolve(name, "own:"), [[DOG], [text]]))[0] for name, text in given.items()]
        finally:
            await host.close()

    models = (PaintOutlines(), Recolour(), ChangeStyle())
    assert asyncio.run(main()) == [model.run(DOG, text) for model, text in zip(models, given.values(), strict=True)]
