"""No text makes a parser of foreign texts hang or raise anything but its ordinary error.

Each parser gets the longest text that reaches it, of blanks, brackets, quotes, digits and the like. It runs in a child
that the kernel ends after SECONDS of processor time, as a hang holds the interpreter. No time is measured: the true
ones are below a second.
"""

from __future__ import annotations

import asyncio
import gc
import io
import os
import signal
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from lumos_queue.actions.algebra.formula import read as read_formula
from lumos_queue.actions.code.interface import CodeRunner
from lumos_queue.actions.maths.count import count
from lumos_queue.actions.qa import answer
from lumos_queue.actions.qa.titles import key_of
from lumos_queue.actions.qa.wikitext import facts_of, paragraphs_of
from lumos_queue.actions.quantities.reading import read_value
from lumos_queue.actions.tools.arguments import read_object
from lumos_queue.actions.tools.shapes import read_shape
from lumos_queue.actions.web.page import MAX_HTML, HtmlPage
from lumos_queue.benchmarks.superni.benchmark import rouge_l
from lumos_queue.builds.augment import replace_numbers
from lumos_queue.compat.toolbench.recorded_answers import read_observation
from lumos_queue.conversion.perturbation import unknown_numbers
from lumos_queue.endpoints.context_length import is_context_full
from lumos_queue.endpoints.http import REPLY_BYTES, Malformed, json_object
from lumos_queue.endpoints.messages import read_content
from lumos_queue.endpoints.replies import read_text, write_message
from lumos_queue.errors import ActionError, SpecError
from lumos_queue.execution.tools.article import read_article
from lumos_queue.execution.tools.http import MAX_BYTES, read_content_type
from lumos_queue.prompts.plans import read_plan as read_calls
from lumos_queue.prompts.task_state import TaskState, read_record, rewrite
from lumos_queue.prompts.todo_list import read_list
from lumos_queue.rationales.maths.calculations import calculations
from lumos_queue.rationales.queries import is_ordered, read_query
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.readers.delimited_rows import read_delimited
from lumos_queue.readers.json_records import read_json_list
from lumos_queue.readers.source import Source
from lumos_queue.readers.xml import read_elements
from lumos_queue.records import Action
from lumos_queue.review.label_files import parse_labels
from lumos_queue.scoring.answer_kinds import AnswerKind
from lumos_queue.scoring.answer_readers import Expected, read_flexible
from lumos_queue.scoring.media.chrf import chrf
from lumos_queue.scoring.numbers import parse_number
from lumos_queue.scoring.spans import f1, read_answer
from lumos_queue.sweeps.plan import read_plan
from lumos_queue.text_calls.three_lines import canonical, read_reply
from lumos_queue.util.addresses import Origin
from lumos_queue.util.retry_after import read_retry_after
from lumos_queue.util.untrusted_json import read_json
from lumos_queue.web.views.text_difference import MAX_LINES, compare_lines

SECONDS = 5.0  #: of processor time for one text
REPLY = 590_000  #: characters of a reply of 512 tokens that a server can send
HEADER = 65_000  #: characters of a header that the HTTP client lets through

#: What is repeated to the length of the longest text.
UNITS = {
    "blanks": " ",
    "lines": "\n",
    "tabs": "\t",
    "letters": "a",
    "words": "a ",
    "sentences": "A b. ",
    "nines": "9",
    "arabic digits": "٣",
    "squares": "²",
    "exponents": "1e9 ",
    "powers": "(9^",
    "factorials": "9!",
    "brackets": "[",
    "braces": "{",
    "parentheses": "(",
    "closed": "]",
    "pairs": "[],",
    "objects": '{"',
    "nested objects": '{"a":',
    "lists of objects": "[{",
    "fenced": "{a[]}\n```",
    "stars": "{]u0041*)",
    "quotes": '"',
    "single quotes": "'",
    "escaped": '\\"',
    "backslashes": "\\",
    "commas": ",",
    "items": "1,",
    "members": '"a":1,',
    "minus": "- ",
    "not": "not ",
    "selections": "(SELECT ",
    "cases": "CASE WHEN ",
    "semicolons": ";",
    "hashes": "#",
    "labels": "Action:\n",
    "entities": "&amp;",
    "references": "&#1",
    "NUL": "\0",
    "emoji": "😀",
    "ligatures": "\ufdfa",
}


#: What instruct models write around calls, one after the other.
LABELS = {
    "names": "Action: f\n",
    "tools": "Tool: f\n",
    "calls of tools": "Tool: f(\n",
    "objects of tools": "Tool: f {\n",
    "strings of tools": 'Tool: f {"a":"',
    "nested objects of tools": 'Tool: f {"a":\n',
    "lines behind a tool": "Tool: f" + "\n" * 50,
    "inputs": "Tool: f\n" + "Input\n" * 50,
    "observations": "Observation:\n",
    "objects": 'Observation:\n{"a":\n',
    "lists of objects": "[\n{",
    "decisions": '{"action": {"action":\n',
    "fences": "```json\n",
    "marks": "- # > **",
    "blank lines": " \n",
}
CALLS = {
    "names": "#E1 = a\n",
    "fences": "#E1 = a\n```\n",
    "objects": "#E1 = a {\n",
    "strings": '#E1 = a {"a":"',
    "lines": "#E1 = a" + "\n" * 50,
    "plans": "Plan: \n",
    "inputs": "#E1 = a\nInput:\n",
}


def repeat(unit: str, length: int) -> str:
    return (unit * (length // len(unit) + 1))[:length]


def accents(length: int) -> str:
    """Accents in the wrong order: putting them in order takes the square of their number."""
    return "a" + "\u0301" * (length // 2) + "\u0327" * (length // 2)


def make_texts(length: int) -> dict[str, str]:
    """Texts of so many characters, by name."""
    return {name: repeat(unit, length) for name, unit in UNITS.items()} | {"accents": accents(length)}


@dataclass(frozen=True)
class Case:
    """A parser and what it can get."""

    call: Callable[[str], object]
    length: int  #: characters of the longest text
    errors: tuple[type[Exception], ...] = ()  #: that say that the text is bad
    texts: Mapping[str, str] = field(default_factory=dict)  #: instead of those of UNITS


def _read_xml(text: str) -> None:
    for _ in read_elements(io.BytesIO(text.encode()), Path("x.xml"), "rows", "row"):
        pass


def _read_labels(text: str, name: str = "labels.json") -> None:
    parse_labels(text.encode(), name, "audit", [], "ann", lambda _episode, _step: (0, 0))


def _read_rows(text: str) -> None:
    file, source = io.BufferedReader(io.BytesIO(text.encode())), Source(Path("data"), "rows")
    for _ in read_json_list(file, source, ()) if text.startswith("[") else read_delimited(file, source, ()):
        pass


def _replace_numbers(text: str) -> None:
    row = {"Numbers": f"5 {text}", "Equation": f"+ number0 {text}", "Answer": "1"}
    replace_numbers(row, Random(1))


def _compare_lines(text: str) -> None:
    half = MAX_LINES // 2
    compare_lines("a\n" * half, "a\nb\n" * (half // 2))
    compare_lines("".join(f"a\n{n}\n" for n in range(half // 2)), "".join(f"a\nx{n}\n" for n in range(half // 2)))


_CASES = {
    "state manager's record": Case(lambda text: read_record(text, "a", "{}"), REPLY),
    "state manager's state": Case(
        lambda text: rewrite(TaskState(), text, "a", "{}"), REPLY, texts={"objects": repeat('{"', REPLY)}
    ),
    "tool agent's reply": Case(read_reply, REPLY),
    "tool agent's exact reply": Case(lambda text: read_reply(text, 2), REPLY),
    "arguments of a reply": Case(lambda text: read_reply("Action: a\nAction Input: {" + text), REPLY),
    "text behind a name": Case(lambda text: read_reply("Action: a" + text), REPLY),
    "labels of a reply": Case(read_reply, 0, texts={name: repeat(unit, REPLY) for name, unit in LABELS.items()}),
    "plan of calls": Case(read_calls, REPLY),
    "calls of a plan": Case(read_calls, 0, texts={name: repeat(unit, REPLY) for name, unit in CALLS.items()}),
    "to-do list": Case(read_list, REPLY),
    "arguments to compare": Case(canonical, REPLY),
    "arguments of a call": Case(read_object, REPLY, (ActionError,)),
    "shape of an answer": Case(read_shape, REPLY),
    "simulator's reply": Case(read_json, REPLY, (ValueError,)),
    "recorded observation": Case(read_observation, REPLY),
    "server's error": Case(lambda text: is_context_full(400, text.encode()), 65_000),
    "server's reply": Case(
        lambda text: json_object(f'{{"a":[NaN,{text}1]}}'.encode()),
        REPLY_BYTES,
        (Malformed,),
        {name: repeat(unit, REPLY_BYTES) for name, unit in (("lists", "[],"), ("nines", "9"), ("open", "["))},
    ),
    "text of a reply": Case(lambda text: read_text(text, ("\n", "b")), REPLY),
    "tags of a reply": Case(
        lambda text: [read_text(start + text, ("\n",)) for start in ("", "<think>", "a")],
        2**21,
        texts={
            unit: repeat(unit, 2**21)
            for unit in (
                "<think>",
                "</think>",
                "<think></think>",
                "<think></thought>",
                "<think><think></think>",
                "<think><thought>",
                "<think><think></think><thought><thought></thought>",
                "</think>\n<s>",
                "[THINK]",
                "<think ",
                "<think a",
                "<",
                "< ",
                "</s>",
                "<s>",
                "<|im_start|>assistant",
                "<|im_start|>",
                "<|channel>",
                "<|channel|>analysis<|message|>",
                "<|channel|>analysis<|message|><|end|>",
                "<|start|>",
                "<|channel|>a",
                "<|channel|>commentary<|message|><|end|>",
                "analysis",
                "assistantfinal",
                "<|start|>assistant ",
            )
        },
    ),
    "parts of a message": Case(
        lambda text: read_content({"content": [{"type": "thinking", "thinking": [text]}] * 100}, []),
        60_000,
    ),
    "message to store": Case(lambda text: write_message({"content": text}), REPLY),
    "formula": Case(lambda text: read_formula(text, {}), 4_000, (ActionError,)),
    "list to count": Case(lambda text: count(text, {}), 4_000, (ActionError,)),
    "value of an answer": Case(read_value, REPLY),
    "number of an answer": Case(parse_number, REPLY),
    **{
        f"{kind} in a reply": Case(lambda text, kind=kind: read_flexible(text, Expected(kind, ("a", "b c"))), REPLY)
        for kind in AnswerKind
    },
    "markers of answers": Case(
        lambda text: [read_flexible(text, Expected(kind)) for kind in AnswerKind],
        REPLY,
        texts={
            name: repeat(unit, REPLY)
            for name, unit in (
                ("markers", "answer is "),
                ("boxes", "\\boxed{"),
                ("closed boxes", "\\boxed{1}"),
                ("bold", "**a "),
                ("fractions", "\\frac{"),
                ("hashes", "#### 1\n"),
                ("equations", "1="),
                ("alternatives", "A or "),
                ("questions", 'answer to "'),
                ("objects", '"answer": "1'),
                ("scales", "5 thousand "),
                ("tags", "<b "),
            )
        },
    ),
    "span of an answer": Case(lambda text: f1(read_answer(text), text), REPLY),
    "answer for ROUGE": Case(lambda text: rouge_l(text, repeat("a b ", 20_000)), REPLY),
    "answer for chrF": Case(
        lambda text: chrf(text, text),
        60_000,
        texts={name: repeat(UNITS[name], 60_000) for name in ("words", "letters", "emoji")},
    ),
    "web page": Case(
        lambda text: read_article(text, 40),
        MAX_BYTES,
        texts={
            "paragraphs": repeat("<p>", MAX_BYTES),
            "notes": repeat("<sup></sup>x", MAX_BYTES),
            "nested lists": "<ul><li>" * 100 + "<ul></ul>" * 1_000_000,
            "nested paragraphs": "<p><object>" * 100 + "<br>" * 1_000_000,
            "nested items": "<ul><li>" * 100 + "<a>" * 1_000_000,
        },
    ),
    "recorded page": Case(HtmlPage, 0, texts={"elements": repeat("<p>", MAX_HTML // 4)}),
    "wikitext": Case(
        lambda text: (paragraphs_of(text), facts_of("{{infobox\n|a=" + text)),
        2**21,
        texts={name: repeat(unit, 2**21) for name, unit in (("entities", "&amp;"), ("open", "&#1"), ("links", "[["))}
        | {"number": f"It has a reference &#{'9' * 2**20}; to a character."},
    ),
    "title": Case(key_of, REPLY),
    "gold query": Case(lambda text: read_query(f"SELECT {text}"), 3_990, (NotConvertible,)),
    "gold conditions": Case(lambda text: read_query(f"SELECT a FROM b WHERE {text}"), 3_970, (NotConvertible,)),
    "order of a gold query": Case(lambda text: is_ordered(f"SELECT {text}"), REPLY, (NotConvertible,)),
    "solution": Case(lambda text: calculations(f"They have 4 + 4 = {text} boxes."), 9_000, (NotConvertible,)),
    "literals of a program": Case(
        lambda text: unknown_numbers([Action(("R1",), "Calculator", text, text)], ()),
        4_000_000,
        texts={"nines": "9" * 4_000_000, "decimals": "." + "1" * 4_000_000},
    ),
    "host": Case(lambda text: Origin.of(f"http://é{text}"), REPLY, (ValueError,)),
    "address of a hit": Case(lambda text: answer._on_wikipedia({"url": f"http://é{text}"}), REPLY),
    "bracketed host of a hit": Case(lambda text: answer._on_wikipedia({"url": f"http://[{text}"}), 1_000),
    "Content-Type": Case(
        lambda text: read_content_type(f'text/html; a="{text}').get_content_charset("utf-8"),
        HEADER,
        texts={
            "semicolons": repeat(";", 20 * HEADER),
        },
    ),
    "Retry-After": Case(read_retry_after, HEADER),
    "Retry-After as a date": Case(lambda text: read_retry_after(f"Wed, 21 Oct {text}"), HEADER),
    "lines of two annotations": Case(_compare_lines, 0, texts={"alike": ""}),
    "XML": Case(
        _read_xml,
        0,
        (SpecError,),
        {
            "attribute": '<a><row b="' + "a " * 16_000_000,
            "attributes": "<a><row " + " ".join(f'a{n}="1"' for n in range(1_500_000)),
            "comment": "<a><!--" + "a" * 64_000_000,
            "nested": "<a>" * 1_000_000,
        },
    ),
    "labels": Case(
        _read_labels,
        0,
        (SpecError,),
        {
            "lists": f"[{'[],' * 5_000_000}1]",
            "lines": "\n" * 16_000_000,
            "open": "[" * 16_000_000,
        },
    ),
    "labels as CSV": Case(
        lambda text: _read_labels(text, "labels.csv"),
        0,
        (SpecError,),
        {
            "lines": "place,label\n" + "\n" * 16_000_000,
            "quotes": 'place,label\n"' + "a" * 16_000_000,
        },
    ),
    "rows of a data file": Case(
        _read_rows,
        0,
        (SpecError,),
        {
            "open": "[" * 16_000_000,
            "open text": '[{"a": "' + "b" * 32_000_000,
            "open object": '[{"a": 1' + ', "a": 1' * 1_500_000,
            "blanks": "[" + " " * 64_000_000,
            "blanks in a row": '[{"a":' + " " * 64_000_000,
            "digits": "[" + "9" * 16_000_000,
            "objects": f"[{'{},' * 1_000_000}1]",
            "header": "a," * 2_000_000,
            "empty lines": "a,b\n" + "\n" * 8_000_000,
            "quotes": 'a,b\n"' + '""' * 16_000_000,
            "open quote": 'a,b\n"' + "c,d\n" * 4_000_000,
        },
    ),
    "numbers of a row": Case(
        _replace_numbers,
        0,
        texts={
            "exponent": "1e999999999",
            "small": "1e-999999999",
            "nan": "nan",
            "infinite": "inf",
            "digits": "9" * 10_000,
        },
    ),
}


def find_problem(case: Case) -> str:
    """What is wrong when the parser gets the texts, in a child; '' where nothing is."""
    with suppress(*case.errors):
        case.call("1")  # what it imports is there for the child then
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        gc.disable()  # files and processes of other tests are not this child's to remove
        try:
            signal.signal(signal.SIGPROF, signal.SIG_DFL)  # ends the process, whatever it does
            for name, text in (case.texts or make_texts(case.length)).items():
                os.write(writing, f"\n{name}: ".encode())
                signal.setitimer(signal.ITIMER_PROF, SECONDS)
                with suppress(*case.errors):
                    case.call(text)
            os.write(writing, b"done")
        except BaseException:
            os.write(writing, traceback.format_exc()[-2000:].encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        told = pipe.read().decode()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code:
        return f"{told.splitlines()[-1]}ended by {signal.Signals(-code).name}"
    return "" if told.endswith(": done") else told


@pytest.mark.parametrize("case", _CASES.values(), ids=_CASES)
def test_a_parser_reads_or_refuses_its_longest_texts(case):
    assert not find_problem(case)


@pytest.mark.parametrize("text", ["[" * 20_000, "a = [" * 4_000, "'" * 20_000], ids=["brackets", "lists", "quotes"])
def test_a_sweep_that_cannot_be_read_is_refused(text, tmp_path):
    (tmp_path / "sweep.toml").write_text(f"a = {text}")
    with pytest.raises(SpecError, match="is not a sweep"):
        read_plan(tmp_path / "sweep.toml")


@pytest.mark.parametrize("unit", ["(", "-", "not ", "lambda:", "[x for x in "])
def test_a_program_that_is_nested_without_end_costs_a_child_and_is_an_ordinary_error(unit):
    async def run() -> None:
        runner = CodeRunner()
        try:
            await runner.run(repeat(unit, 20_000), {})
        finally:
            await runner.close()

    with pytest.raises(ActionError) as error:
        asyncio.run(run())
    assert error.value.kind in ("syntax", "too_large", "memory", "crashed", "timeout", "arity", "undefined_variable")
