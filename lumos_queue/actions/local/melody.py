"""Compose a melody of eight bars by rule, as notation and as sound. It depends on a text alone; no model is used.

The text determines the mode (sad words give minor), the rhythm, and the steps over the scale, which end on the scale's
first note. The notation is ABC, which score programs read; the sound is a WAV of plain sine tones.
"""

from __future__ import annotations

import io
import math
import random
import struct
import wave
from dataclasses import dataclass

BARS, UNITS = 8, 8  #: bars, each of so many eighth notes
RATE = 8_000  #: samples of sound a second
SECONDS = 0.22  #: of an eighth note
_MINOR_WORDS = frozenset(
    ("storm", "stormy", "dark", "night", "evening", "sad", "grey", "winter", "rain", "cold", "wind")
)
_MAJOR, _MINOR = (0, 2, 4, 5, 7, 9, 11), (0, 2, 3, 5, 7, 8, 10)  #: semitones above the first note
_LETTERS = "CDEFGAB"
_RHYTHMS = ((2, 2, 2, 2), (3, 1, 2, 2), (4, 2, 2), (2, 2, 4), (1, 1, 2, 4), (6, 2))  #: of a bar, in eighth notes
_C4 = 261.6255653  #: Hz


@dataclass(frozen=True, slots=True)
class Melody:
    """A melody, whose bars contain notes as (degree of the scale from 0, length in eighth notes)."""

    title: str
    is_minor: bool
    bars: tuple[tuple[tuple[int, int], ...], ...]

    def write_abc(self) -> str:
        """Return the melody in ABC notation, in C major or C minor."""
        bars = " | ".join(" ".join(map(_write_note, bar)) for bar in self.bars)
        head = f"X:1\nT:{self.title}\nM:4/4\nL:1/8\nK:{'Cm' if self.is_minor else 'C'}"
        return f"{head}\n{bars} |]"

    def write_wav(self) -> bytes:
        """Return the sound as WAV: mono, 16 bits, RATE samples a second."""
        scale = _MINOR if self.is_minor else _MAJOR
        samples = bytearray()
        for degree, units in (note for bar in self.bars for note in bar):
            semitones = 12 * (degree // 7) + scale[degree % 7]
            samples += _tone(_C4 * 2 ** (semitones / 12), round(RATE * SECONDS * units))
        buffer = io.BytesIO()
        with wave.open(buffer, "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(RATE)
            file.writeframes(bytes(samples))
        return buffer.getvalue()


def compose(text: str) -> Melody:
    """Return the melody of a text. Equal texts have equal melodies."""
    words = " ".join(text.split())
    generator = random.Random(words)
    is_minor = any(word.strip(".,;:!?").lower() in _MINOR_WORDS for word in words.split())
    degree, bars = 0, []
    for number in range(BARS):
        notes = []
        for units in generator.choice(_RHYTHMS):
            notes.append((degree, units))
            degree = min(max(degree + generator.choice((-2, -1, -1, 1, 1, 2)), 0), 9)
        bars.append(tuple(notes))
        if number == BARS - 2:
            degree = generator.choice((1, 4))
    last = sum(units for _, units in bars[-1][:-1])
    bars[-1] = (*bars[-1][:-1], (0, UNITS - last))
    return Melody(words[:60], is_minor, tuple(bars))


def _write_note(note: tuple[int, int]) -> str:
    degree, units = note
    letter = _LETTERS[degree % 7]
    return (letter if degree < 7 else letter.lower()) + (str(units) if units > 1 else "")


def _tone(frequency: float, samples: int) -> bytes:
    """Return 16-bit samples of a sine tone of `frequency` Hz. It fades, so that equal notes in a row are separate."""
    values = (
        round(12_000 * math.exp(-3 * index / samples) * math.sin(2 * math.pi * frequency * index / RATE))
        for index in range(samples)
    )
    return struct.pack(f"<{samples}h", *values)
