"""Draw things, boards and places as arrays, with which pictures are compared."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from lumos_queue.benchmarks.openagi.data.animals import KINDS
from lumos_queue.benchmarks.openagi.data.drawing import Board, Scene, Spot, board_size, draw_part, draw_scene
from lumos_queue.benchmarks.openagi.data.things import PLACES, THINGS, Colour

Array = NDArray[np.float32]
_SCALE = 4
_LUMA = np.array([0.299, 0.587, 0.114], dtype=np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class Sprite:
    """A drawing of a thing or a board: its colours, and the mask of the pixels that it covers."""

    name: str
    colours: Array  #: height x width x channels, 0 to 1; 0 where it covers nothing
    mask: Array  #: height x width, 0 or 1


@lru_cache(maxsize=64)
def thing_sprites(size: int, gray: bool) -> tuple[Sprite, ...]:
    """Return a sprite of every kind of thing. `size` is in pixels."""
    return tuple(_draw_thing(name, size, gray) for name in THINGS)


@lru_cache(maxsize=256)
def board_sprite(text: str, colour: tuple[int, int, int], gray: bool) -> Sprite:
    """Return a sprite of a board with a text."""
    width, height = board_size(text)
    scene = Scene("sea", (), (Board(text, 0, 0, colour),))
    pixels = draw_scene(scene)[:height, :width].astype(np.float32) / np.float32(255)
    return Sprite(text, to_gray(pixels) if gray else pixels, np.ones((height, width), dtype=np.float32))


@lru_cache(maxsize=16)
def place_picture(name: str, gray: bool) -> Array:
    """Return the picture of a place without things: height x width x channels, 0 to 1."""
    pixels = draw_scene(Scene(name, ())).astype(np.float32) / np.float32(255)
    return to_gray(pixels) if gray else pixels


def place_names() -> tuple[str, ...]:
    return tuple(PLACES)


def to_gray(pixels: Array) -> Array:
    """Return the luminance: height x width x 1."""
    return (pixels @ _LUMA)[..., None].astype(np.float32)


def is_gray(pixels: Array) -> bool:
    """Return whether all colours of the picture are nearly gray."""
    return float(np.abs(pixels - pixels.mean(axis=2, keepdims=True)).mean()) < 0.01


@lru_cache(maxsize=64)
def outline_masks(size: int) -> Array:
    """Return the mask of every kind of thing, whatever its colours: kinds x height x width, 0 or 1."""
    masks = [_draw_kind(name, size, KINDS[name].colour)[..., 3] for name in KINDS]
    return (np.stack(masks) > 0.4).astype(np.float32)


@lru_cache(maxsize=64)
def main_share(name: str, size: int) -> Array:
    """Return for each pixel the share that has the thing's main colour: height x width, 0 to 1."""
    parts = [_draw_kind(name, size, (255, 255, 255)), _draw_kind(name, size, (0, 0, 0))]
    light, dark = (plane[..., :3].mean(axis=2) * plane[..., 3] for plane in parts)
    return light - dark


def _draw_thing(name: str, size: int, gray: bool) -> Sprite:
    small = _draw_kind(name, size, THINGS[name].colour)
    mask = (small[..., 3] > 0.9).astype(np.float32)
    colours = small[..., :3] * mask[..., None]
    return Sprite(name, to_gray(colours) if gray else colours, mask)


def _draw_kind(name: str, size: int, colour: Colour) -> Array:
    """Return a thing with that main colour: height x width x 4, 0 to 1. The last channel is the covered share."""
    large = Image.new("RGBA", (size * _SCALE, size * _SCALE))
    pen = ImageDraw.Draw(large)
    for part in KINDS[name].parts:
        draw_part(pen, part, Spot(name, 0, 0, size), colour)
    return np.asarray(large.reduce(_SCALE), dtype=np.float32) / np.float32(255)
