"""Image files: what is read is what lies there, and whatever pretends to be an image is refused in one line."""

from __future__ import annotations

import hashlib
import os

import pytest

from lumos_queue.errors import SpecError
from lumos_queue.util.images import MAX_BYTES, image_in, read_image
from tests.image_files import chunk, gif_bomb, honest, png, profile_bomb, text_bomb, webp_bomb


@pytest.fixture
def file(tmp_path):
    def write(data: bytes, name: str = "image.png"):
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write


@pytest.mark.parametrize(
    ("kind", "media_type"),
    [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("WEBP", "image/webp"), ("GIF", "image/gif")],
)
def test_four_formats_are_read_and_their_bytes_are_kept(file, kind, media_type):
    data = honest(kind)
    image = read_image(file(data))
    assert (image.data, image.media_type, image.width, image.height) == (data, media_type, 6, 4)
    assert image.sha256 == hashlib.sha256(data).hexdigest()


def test_the_real_images_are_read(shared_data):
    cats = read_image(shared_data / "aokvqa" / "images" / "000000039769.png")
    assert (cats.media_type, cats.width, cats.height, len(cats.data)) == ("image/png", 640, 480, 694498)
    web = read_image(shared_data / "scienceqa" / "images" / "test" / "23" / "image.png")
    assert (web.width, web.height) == (760, 506)


def test_the_format_is_what_the_content_says(file):
    assert read_image(file(honest("JPEG"), "really.png")).media_type == "image/jpeg"
    assert read_image(file(honest("PNG"), "no ending")).media_type == "image/png"


def test_a_rotation_in_the_exif_data_is_left_to_who_shows_it(file):
    from PIL import Image

    exif = Image.Exif()
    exif[0x0112] = 6  # turn by 90 degrees
    data = honest("JPEG", exif=exif)
    image = read_image(file(data))
    assert (image.data, image.width, image.height) == (data, 6, 4)


def test_what_follows_an_image_stays_and_is_never_more_than_an_image(file):
    data = honest("PNG") + b"PK\x03\x04 and <script>alert(1)</script>"
    assert (read_image(file(data)).data, read_image(file(data)).media_type) == (data, "image/png")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "it is empty"),
        (b"not an image", "does not begin as one of these images"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "does not begin as one of these images"),
        (b"%PDF-1.7\n" + honest("PNG"), "does not begin as one of these images"),
        (honest("BMP"), "does not begin as one of these images"),
        (honest("TIFF"), "does not begin as one of these images"),
        (b"GIF89a=1;alert(1)", "cannot be decoded"),
        (b"\x89PNG\r\n\x1a\n", "cannot be decoded"),
        (b"\xff\xd8\xff", "cannot be decoded"),
        (b"RIFF\0\0\0\0WEBP", "cannot be decoded"),
        (honest("PNG", (300, 300))[:-200], "cannot be decoded"),
        (honest("JPEG", (300, 300))[:-200], "cannot be decoded"),
        (honest("WEBP", (300, 300))[:-40], "cannot be decoded"),
        (honest("PNG").replace(b"IDAT", b"IDAX"), "cannot be decoded"),
        (honest("GIF", frames=3), "it is an animation"),
        (honest("WEBP", frames=3), "it is an animation"),
        (honest("PNG", frames=3), "it is an animation"),
        (png(60_000, 60_000, b"\0"), "more than 32 megapixels"),
        (png(2**31 - 1, 1, b"\0"), "more than 32 megapixels"),
        (gif_bomb(), "more than 32 megapixels"),
        (webp_bomb(), "more than 32 megapixels"),
        (honest("PNG") + bytes(MAX_BYTES), "more than 3 MB"),
    ],
    ids=[
        "empty",
        "text",
        "svg",
        "pdf",
        "bmp",
        "tiff",
        "gif-script",
        "png-head",
        "jpeg-head",
        "webp-head",
        "cut-png",
        "cut-jpeg",
        "cut-webp",
        "wrong-checksum",
        "gif-film",
        "webp-film",
        "png-film",
        "huge-png",
        "wide-png",
        "huge-gif",
        "huge-webp",
        "large-file",
    ],
)
def test_what_is_no_usable_image_is_refused_in_one_line(file, data, why):
    with pytest.raises(SpecError, match=why) as refused:
        read_image(file(data))
    assert "image.png" in str(refused.value) and "\n" not in str(refused.value)
    assert "expected a PNG, JPEG, WebP or GIF" in str(refused.value)


@pytest.mark.parametrize("bomb", [text_bomb, profile_bomb])
def test_a_bomb_in_a_comment_is_refused(file, bomb):
    data = bomb()
    assert len(data) < 400_000
    with pytest.raises(SpecError, match="cannot be decoded"):
        read_image(file(data))


def test_the_next_image_is_read_as_ever_after_bad_ones(file):
    for data in (gif_bomb(), text_bomb(), b"\xff\xd8\xff\xff"):
        with pytest.raises(SpecError):
            read_image(file(data))
    assert read_image(file(honest())).width == 6


def test_many_chunks_and_odd_modes_do_no_harm(file):
    assert read_image(file(png(2, 1, b"\0" * 7, *[chunk(b"tEXt", b"k\0v")] * 500))).width == 2


def test_folders_pipes_and_missing_files_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.png")
    for path, why in (
        (tmp_path, "it is a folder"),
        (tmp_path / "pipe.png", "it is a pipe"),
        (tmp_path / "none.png", "cannot be read"),
    ):
        with pytest.raises(SpecError, match=why):
            read_image(path)


@pytest.mark.parametrize("name", ["../secret.png", "..", "", "/etc/passwd", "a/b.png", "a\\b.png", "a\0.png"])
def test_a_name_that_leads_out_of_its_folder_is_refused(tmp_path, name):
    (tmp_path / "secret.png").write_bytes(honest())
    (tmp_path / "in").mkdir()
    with pytest.raises(SpecError, match="is not the name of an image"):
        image_in(tmp_path / "in", name)


def test_a_link_that_leads_out_of_its_folder_is_refused(tmp_path):
    (tmp_path / "secret.png").write_bytes(honest())
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "own.png").write_bytes(honest())
    (folder / "out.png").symlink_to(tmp_path / "secret.png")
    (folder / "up").symlink_to(tmp_path)
    (folder / "inside.png").symlink_to(folder / "own.png")
    (folder / "round.png").symlink_to(folder / "round.png")
    for names in (("out.png",), ("up", "secret.png")):
        with pytest.raises(SpecError, match="leads out of"):
            image_in(folder, *names)
    assert image_in(folder, "inside.png") == folder / "inside.png"
    assert image_in(folder, "round.png") is None
    assert image_in(folder, "none.png") is None
    (tmp_path / "link").symlink_to(folder)
    assert image_in(tmp_path / "link", "own.png") is not None, "the folder itself may be a link"
