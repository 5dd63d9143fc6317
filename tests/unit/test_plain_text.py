"""Pages as plain text: the scores and no more, and markup of a terminal as the characters that it is made of."""

from __future__ import annotations

from dataclasses import replace

from lumos_queue.pages.blocks import Document, Section, Table, Text
from lumos_queue.pages.terminal import WIDTH, render_plain_text


def page(*sections: Section) -> Document:
    jobs = Table("Jobs", ("job", "score"), [("[red]abc[/red]", "50.0 % [40.0, 60.0]"), ("x" * 200, "\x1b[31m1")])
    return Document("A page [bold]", [jobs], sections, made="today")


def test_it_has_the_lead_without_what_is_folded_and_without_the_sections():
    lead = [
        Text("Means over all items."),
        Table("All metrics", ("job", "accuracy"), [("abc", "0.5")], note="Of 20 items."),
        Table("Folded", ("job", "strict"), [("abc", "0.25")], folded=True),
    ]
    document = replace(page(Section("time", "Time", [Text("Seconds.")])), lead=lead)
    text = render_plain_text(document)
    assert "Means over all items." in text and "0.5" in text and "Of 20 items." in text
    assert not any(part in text for part in ("Folded", "0.25", "Seconds.", "today"))


def test_markup_and_escapes_are_text_and_long_cells_are_wrapped():
    shown = render_plain_text(page())
    assert "A page [bold]" in shown and "[red]abc[/red]" in shown and "50.0 % [40.0, 60.0]" in shown
    assert "\x1b" not in shown and shown.count("x") == 200
    assert max(map(len, shown.splitlines())) <= WIDTH and not any(line != line.rstrip() for line in shown.splitlines())
