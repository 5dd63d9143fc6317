"""Corpora in files: every form, broken places, bombs, and the index that is kept."""

from __future__ import annotations

import asyncio
import bz2
import json
import tracemalloc

import pytest

from lumos_queue.actions.qa import dump
from lumos_queue.actions.qa.corpus import CorpusReader, digest_of
from lumos_queue.actions.qa.index import Index
from lumos_queue.actions.qa.interface import QaActions
from lumos_queue.actions.qa.library import FOLDER, Library, prepare_corpus
from lumos_queue.actions.qa.wikitext import facts_of, paragraphs_of
from lumos_queue.errors import InfrastructureError, SpecError
from tests.cpu_limit import cpu_limit

ARTICLE = """{{Infobox person
| name = Ann Alder
| birth_place = [[Oslo|the town of Oslo]]
| notes = {{small|nothing}}
}}
'''Ann Alder''' (born 1900) was a [[painter|famous painter]] from [[Oslo]].<ref>Some book, page 3, with more.</ref>

== Life ==
She lived {{convert|3|km|mi}} from the sea for a long time. [[File:x.jpg|thumb|A [[picture]] of her]]
* one item of a list with some words
{| class="wikitable"
| cell || another cell of this table here
|}
[[Category:Painters of the north]]"""


def _dump(*pages: str) -> bytes:
    return (
        f"<mediawiki xmlns='http://www.mediawiki.org/xml/export-0.11/'><siteinfo/>{''.join(pages)}</mediawiki>".encode()
    )


def _page(title: str, text: str, ns: int = 0, extra: str = "") -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    inner = f"<revision><id>5</id><contributor><username>Bot</username></contributor><text>{text}</text></revision>"
    return f"<page><title>{title}</title><ns>{ns}</ns><id>1</id>{extra}{inner}</page>"


def _pages(path):
    counted = CorpusReader(path)
    return list(counted), counted


def test_a_folder_of_texts_is_read_and_a_file_that_is_no_text_is_named(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "Ann Alder.txt").write_text("First paragraph.\n\nSecond\nparagraph.")
    (tmp_path / "sub" / "Oslo.md").write_text("A town.")
    (tmp_path / "notes.csv").write_text("ignored")
    (tmp_path / "broken.txt").write_bytes(b"\xff\xfe\xfa")
    pages, counted = _pages(tmp_path)
    assert {page.title: len(page.paragraphs) for page in pages} == {"Ann Alder": 2, "Oslo": 1}
    assert "broken.txt: no UTF-8 at byte 0" in counted.warning


def test_a_link_out_of_the_folder_is_not_followed(tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "a.txt").write_text("a")
    (folder / "b.txt").symlink_to(tmp_path / "secret.txt")
    assert [page.title for page in _pages(folder)[0]] == ["a"]


def test_broken_lines_are_counted_and_named_and_cost_only_themselves(tmp_path):
    path = tmp_path / "c.jsonl"
    good = [
        {"title": "A", "text": "one"},
        {"title": "B", "paragraph_text": "two"},
        {"title": "C", "contents": ["x", "y"]},
    ]
    lines = [json.dumps(row).encode() for row in good]
    bad = [b"{no json", b"[1]", b'{"text": "no title"}', b'{"title": "T"}', b"\xff\xff", b"[" * 100_000]
    path.write_bytes(b"\n".join([*bad[:3], *lines, b"", *bad[3:]]))
    pages, counted = _pages(path)
    assert [(page.title, list(page.paragraphs)) for page in pages] == [
        ("A", ["one"]),
        ("B", ["two"]),
        ("C", ["x", "y"]),
    ]
    assert counted.broken == 6
    assert counted.warning.startswith(
        f"6 places of '{path}' could not be read, 3 pages could: line 1: no JSON; line 2:"
    )
    assert "line 9: no UTF-8 at byte 0" in counted.warning


def test_a_line_that_never_ends_is_passed_over(tmp_path, monkeypatch):
    monkeypatch.setattr("lumos_queue.actions.qa.corpus.MAX_LINE", 1_000)
    path = tmp_path / "c.jsonl"
    path.write_text('{"title": "L", "text": "' + "x" * 5_000 + '"}\n{"title": "A", "text": "one"}\n')
    pages, counted = _pages(path)
    assert [page.title for page in pages] == ["A"]
    assert counted.warning.endswith("line 1: longer than 1.0 kB")


@pytest.mark.parametrize("packed", [False, True])
def test_a_wikipedia_dump_gives_its_articles_in_prose(tmp_path, packed):
    path = tmp_path / ("d.xml.bz2" if packed else "d.xml")
    redirect = _page("Old name", "#REDIRECT [[Ann Alder]]", extra="<redirect title='Ann Alder'/>")
    data = _dump(_page("Ann Alder", ARTICLE), redirect, _page("Talk:Ann", "much talk about so many things", ns=1))
    path.write_bytes(bz2.compress(data) if packed else data)
    [page] = _pages(path)[0]
    assert page.title == "Ann Alder"
    assert list(page.paragraphs) == [
        "Ann Alder (born 1900) was a famous painter from Oslo.",
        "She lived 3 km from the sea for a long time.",
        "one item of a list with some words",
    ]
    assert page.table == "name: Ann Alder; birth_place: the town of Oslo"


def test_a_dump_that_breaks_off_keeps_what_came_before(tmp_path):
    path = tmp_path / "d.xml.bz2"
    data = bz2.compress(_dump(_page("A", "five words are in here"), _page("B", "five words are in here"))[:-60])
    path.write_bytes(data)
    pages, counted = _pages(path)
    assert [page.title for page in pages] == ["A"]
    assert counted.broken == 1


def test_entities_of_a_dump_are_refused(tmp_path):
    path = tmp_path / "d.xml"
    path.write_text('<!DOCTYPE m [<!ENTITY a SYSTEM "file:///etc/passwd">]><mediawiki><page>&a;</page></mediawiki>')
    pages, counted = _pages(path)
    assert not pages
    assert "document type" in counted.warning


def test_a_bz2_bomb_is_left_in_time_and_space(tmp_path, monkeypatch):
    monkeypatch.setattr(dump, "SLACK", 2**21)
    path = tmp_path / "d.xml.bz2"
    path.write_bytes(bz2.compress(b"<mediawiki><page><title>t</title><text>" + b"a" * 2**27))
    assert path.stat().st_size < 1_000
    tracemalloc.start()
    with cpu_limit(20):
        pages, counted = _pages(path)
    assert tracemalloc.get_traced_memory()[1] < 2**25
    tracemalloc.stop()
    assert not pages
    assert "unpacks to more than 50 times its size" in counted.warning


@pytest.mark.parametrize(
    "piece", ["{|\n", "<b>", "[[a|", "[http://a ", "{{a|", "<ref>", "<!--", "{{Infobox ", "]]", "\n===\n"]
)
def test_markup_that_never_ends_takes_no_longer_than_other_text(piece):
    text = "There are five words here.\n\n" + piece * 50_000
    with cpu_limit(10):
        assert paragraphs_of(text)[0].startswith("There are five words here.")
        facts_of(text)


@pytest.mark.parametrize("name", ["missing.jsonl", "corpus.csv", "empty"])
def test_what_is_no_corpus_is_refused_with_the_forms_that_are(tmp_path, name):
    (tmp_path / "empty").mkdir()
    (tmp_path / "corpus.csv").write_text("a,b")
    with pytest.raises(SpecError, match=r"Expected a folder of .txt"):
        prepare_corpus(tmp_path / name, tmp_path / "home")


def test_a_corpus_without_one_good_line_is_refused_and_leaves_nothing_behind(tmp_path):
    (tmp_path / "c.jsonl").write_text("{\n[]\n")
    with pytest.raises(SpecError, match="line 1: no JSON; line 2: expected an object"):
        prepare_corpus(tmp_path / "c.jsonl", tmp_path / "home")
    assert list((tmp_path / "home" / FOLDER).iterdir()) == []


def test_preparing_names_the_corpus_by_its_bytes_and_warns_every_time_the_same(tmp_path, monkeypatch):
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.jsonl").write_text('{"title": "A", "text": "one"}\nbroken\n')
    first, second = (QaActions.prepare({"corpus": "c.jsonl"}) for _ in range(2))
    assert first == second
    assert first["corpus"] == str(tmp_path / "c.jsonl")
    assert first["corpus_sha256"] == digest_of(tmp_path / "c.jsonl")
    assert first["corpus_warning"].startswith("1 places of ")


def test_an_unknown_option_and_an_unknown_source_are_refused():
    with pytest.raises(SpecError, match="corpus, knowledge, protocol, ranker"):
        QaActions.prepare({"corpsu": "x"})
    with pytest.raises(SpecError, match="live, local"):
        QaActions.prepare({"knowledge": "google"})


def test_an_index_is_made_where_it_is_missing_and_a_changed_corpus_is_not_taken_for_it(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text('{"title": "A", "text": "one"}\n')
    digest = digest_of(path)
    fresh = asyncio.run(Library(path, digest, tmp_path / "here").index())
    assert fresh.pages("A")[0].title == "A"
    path.write_text('{"title": "B", "text": "two"}\n')
    with pytest.raises(InfrastructureError, match="as submitted"):
        asyncio.run(Library(path, digest, tmp_path / "elsewhere").index())
    path.unlink()
    assert asyncio.run(Library(path, digest, tmp_path / "here").index()) is fresh  # in this process it is open once
    with pytest.raises(SpecError, match="No corpus at"):
        Library(path, digest, tmp_path / "elsewhere")


def test_files_of_one_name_are_two_pages(tmp_path):
    for place in ("a/readme.txt", "b/Readme.md", "c/notes.txt"):
        (tmp_path / place).parent.mkdir()
        (tmp_path / place).write_text(f"What stands in {place}.")
    assert [page.title for page in _pages(tmp_path)[0]] == ["a/readme.txt", "b/Readme.md", "notes"]


@pytest.mark.parametrize("when", ["submitted", "asked"])
def test_a_corpus_that_changes_while_it_is_read_is_not_kept_under_its_old_digest(tmp_path, monkeypatch, when):
    corpus, home = tmp_path / "k.jsonl", tmp_path / "home"
    first = '{"title": "A", "text": "first"}\n'
    corpus.write_text(first)
    digest = digest_of(corpus)
    build = Index.build

    def racing(pages, *rest):
        corpus.write_text('{"title": "A", "text": "OTHER"}\n')
        return build(pages, *rest)

    monkeypatch.setattr(Index, "build", racing)
    if when == "submitted":
        with pytest.raises(SpecError, match="changed while it was read"):
            prepare_corpus(corpus, home)
    else:
        with pytest.raises(InfrastructureError, match="changed while it was read"):
            asyncio.run(Library(corpus, digest, home).index())
    assert not list((home / FOLDER).iterdir())
    monkeypatch.undo()
    corpus.write_text(first)
    assert prepare_corpus(corpus, home)["corpus_sha256"] == digest
    (page,) = asyncio.run(Library(corpus, digest, home).index()).pages("A")
    assert list(page.paragraphs) == ["first"]
