"""Frames between a host and its children, and what an answer must be: whatever arrives, nothing is read too far."""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Iterator
from contextlib import suppress
from threading import Thread

import pytest

from lumos_queue.experts.base import Kind
from lumos_queue.experts.check import MAX_SIDE, MAX_TEXT, check_value
from lumos_queue.experts.frames import (
    MAX_FRAME,
    BadFrame,
    DeadlinePassed,
    PipeClosed,
    pack,
    read_frame,
    unpack,
    write_frame,
)
from lumos_queue.experts.problems import Problem


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        with suppress(OSError):
            os.close(end)


def soon() -> float:
    return time.monotonic() + 0.2


def test_parts_are_unpacked_as_they_were_packed_and_cut_off_ones_are_garbage():
    parts = [b"one", b"", b"x" * 1000]
    data = pack(parts)
    assert unpack(data) == parts and unpack(b"") == []
    for length in range(1, len(data)):
        if length not in (7, 11):  # where a part ends
            with pytest.raises(BadFrame, match="cut off"):
                unpack(data[:length])


def test_a_frame_of_more_than_a_pipe_holds_arrives_whole(pipe):
    data = os.urandom(1 << 20)
    writer = Thread(target=write_frame, args=(pipe[1], data))
    writer.start()
    assert read_frame(pipe[0], time.monotonic() + 20) == data
    writer.join()


def test_a_frame_that_is_too_long_is_garbage_before_it_is_read(pipe):
    os.write(pipe[1], struct.pack(">I", MAX_FRAME + 1) + b"rest")
    with pytest.raises(BadFrame, match="at most"):
        read_frame(pipe[0], soon())
    assert os.read(pipe[0], 99) == b"rest"


def test_a_reader_waits_no_longer_than_it_was_told(pipe):
    os.write(pipe[1], struct.pack(">I", 9) + b"half")
    with pytest.raises(DeadlinePassed):
        read_frame(pipe[0], soon())


@pytest.mark.parametrize("begun", [b"", b"\0\0", b"\0\0\0\x09half"])
def test_a_writer_that_goes_has_closed(pipe, begun):
    os.write(pipe[1], begun)
    os.close(pipe[1])
    with pytest.raises(PipeClosed):
        read_frame(pipe[0], soon())


def test_nobody_waits_for_a_reader_that_does_not_read_or_is_gone(pipe):
    with pytest.raises(DeadlinePassed):
        write_frame(pipe[1], b"x" * (1 << 20), soon())
    os.close(pipe[0])
    with pytest.raises(PipeClosed):
        write_frame(pipe[1], b"x", soon())


def png(width: int, height: int, end: bytes = b"\0\0\0\0IEND\xaeB`\x82") -> bytes:
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height) + b"\x08\x02" + end


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (png(1, MAX_SIDE), ""),
        (png(MAX_SIDE, 1), ""),
        (png(MAX_SIDE + 1, 1), "at most 4096 a side"),
        (png(1, MAX_SIDE + 1), "at most 4096 a side"),
        (png(0, 1), "0 x 1"),
        (png(1, 0), "1 x 0"),
        (png(1, 1, b"\0" * 12), "cut off"),
        (png(1, 1)[:32], "expected a PNG"),
        (png(1, 1)[:20], "expected a PNG"),
        (b"x" + png(1, 1), "expected a PNG"),
        (b"", "expected a PNG"),
    ],
)
def test_an_image_is_a_whole_png_of_a_size_that_fits(data, problem):
    assert_problem(Kind.IMAGE, data, problem)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", ""),
        ("é".encode() * (MAX_TEXT // 2), ""),
        (b"a" * (MAX_TEXT + 1), "at most 60000"),
        (b"\xff", "UTF-8"),
        (b"a\0", "zero byte"),
    ],
)
def test_a_text_is_utf_8_of_a_length_that_fits(data, problem):
    assert_problem(Kind.TEXT, data, problem)


def assert_problem(kind: Kind, data: bytes, problem: str) -> None:
    found = check_value(kind, data)
    if problem:
        assert isinstance(found, Problem) and found.kind == "bad_output" and problem in found.message
    else:
        assert found == data
