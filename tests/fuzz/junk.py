"""Texts that break readers: long runs, deep brackets, control characters, huge numbers, HTML, SQL, code, dates, JSON.

Each kind is a function of a random generator and a length; `make_junk` chooses both.
"""

from __future__ import annotations

import random
from collections.abc import Callable

Junk = Callable[[random.Random, int], str]
UNITS = (
    " ", "\n", "\r\n", "\t", "\u00a0", "\u200b", "\u2028", "-", "–", "'", '"', "`", "=", ".", ",", ";", ":", "0", "9",
    "(", ")", "[", "]", "{", "}", "<", ">", "\\", "/", "*", "#", "|", "$", "%", "_", "^", "+", "!", "?", "&", "~", "@",
    "a", "é", "\u0301", "\U0001f600", " -", "- ", "\n ", " \n", "a ", "a,", "1,", ",000", "1 ", "1.", "1/", "1-", "0x",
    "()", "(,", "[]", "{}", "a(", "<a ", "<a>", "</a>", "<!--", "&#", "''", '""', "\\'", '\\"', "```", "**", "--", "/*",
    "R1", "R1, ", "R1 = ", "; R1 = ", "; ", "Subgoal 1: ", "; Subgoal 2:", "Actions: ", "Action: ", "Action Input:",
    "Thought:", "Label:", "Answer: ", "Answer is ", "#E1", "#E1.a", "1. ", "Step 1: ", "Plan: ", "No, ", "and ", "the ",
    "not ", "of the ", "one ", "twenty-", "1 km ", "1 May ", "1:", "A) ", "(A)", "Question: ", "Query: ", "TEXT: ",
    "SELECT ", "WHERE a ", "a=1 AND ", "\x00", "\x1b[2J", "\ud800", "\udfff", "</s>", "<|user|>\n", "<think>",
)  # fmt: skip
TAILS = ("", "", "", "x", "\n", ")", "1", "!", "\x00", " = 1")


def _run(rng: random.Random, length: int) -> str:
    """One unit again and again, at times with something before and behind it."""
    unit = rng.choice(UNITS)
    return rng.choice(TAILS) + unit * max(1, length // len(unit)) + rng.choice(TAILS)


def _runs(rng: random.Random, length: int) -> str:
    """A few runs behind one another, which is what patterns of several parts meet."""
    many = rng.randint(2, 6)
    return "".join(_run(rng, length // many) for _ in range(many))


def _weave(rng: random.Random, length: int) -> str:
    """Two to four units in turn."""
    cycle = "".join(rng.choice(UNITS) for _ in range(rng.randint(2, 4)))
    return cycle * max(1, length // len(cycle)) + rng.choice(TAILS)


def _soup(rng: random.Random, length: int) -> str:
    """Units in random order."""
    return "".join(rng.choices(UNITS, k=max(1, length // 3)))


def _brackets(rng: random.Random, length: int) -> str:
    """Nested brackets of one or all kinds: balanced, not closed, or not opened."""
    opening, closing = rng.choice(("()", "[]", "{}", "<>", ("([{<", ">}])"), ('{"a":', "}"), ("f(", ")"), ("[[", "]]")))
    depth = max(1, length // (len(opening) + len(closing)))
    kind = rng.randrange(4)
    inner = rng.choice(("", "1", "R1", "x", "null"))
    return (opening * depth if kind != 1 else "") + inner + (closing * depth if kind != 2 else "")


def _control(rng: random.Random, length: int) -> str:
    """Control characters, marks of direction, private and unassigned characters, lone surrogates."""
    ranges = ((0, 0x1F), (0x7F, 0x9F), (0x200B, 0x200F), (0x202A, 0x202E), (0x300, 0x36F), (0xD800, 0xDFFF),
              (0xE000, 0xF8FF), (0xFDD0, 0xFDEF), (0xFFF0, 0xFFFF), (0xE0000, 0xE007F), (0x20, 0x7E))  # fmt: skip
    chosen = rng.choices(ranges, k=3)
    return "".join(chr(rng.randint(*rng.choice(chosen))) for _ in range(min(length, 20_000)))


def _number(rng: random.Random, length: int) -> str:
    """Numbers that are too large, too small, too long or none, and formulas that would make them."""
    digits = min(length, rng.choice((400, 5000, 100_000)))
    return rng.choice((
        "9" * digits, "1" + "0" * digits, "-" * min(digits, 50) + "1", "0." + "0" * digits + "1", "1e999999999",
        "1e-999999999", "-1e400", "10**5000", "9**9**9", "9^9^9^9", "2**2**2**2**2**2", "2^(2^(2^100))", "100000!",
        "factorial(10**6)", "3!!!!!!!!", "1/0", "0/0", "0**0", "(-1)**0.5", "1/3" * min(digits // 3, 900), "nan", "inf",
        "-infinity", "1" + ",000" * (digits // 4), "1_000" * (digits // 5), "٣" * digits, "²" * digits, "½",
        "0x" + "f" * digits, "1e" + "9" * digits, "9" * digits + "/" + "7" * digits, "9" * digits + "%", "1e308*1e308",
        "+".join(["1"] * (digits // 2)), "*".join(["99999"] * (digits // 6)), "**".join(["9"] * 50), "x" * 500 + "=1",
        "+".join(f"x{n}" for n in range(digits // 5)) + "=1", "x^999999 = 1", "(x+1)^9999 = 0", "sqrt(" * 900,
        "sin(cos(tan(" * 300, "x**x**x**x = 5", "x = x = x", "[x + y = 1, x - y = 3, x * y * z = 9]", "gcd(0, 0)",
        "binomial(10**9, 5*10**8)", "10 km + 3 kg", "5 dozen " * (digits // 8), "-9223372036854775809",
        "18446744073709551616", "1..2", "1e+", "1,2,3,,4", "50%" * (digits // 3), "$" * 20 + "5", "5 / 2 / 0 / 7",
    ))  # fmt: skip


def _html(rng: random.Random, length: int) -> str:
    """Markup: unclosed, nested, with entities, scripts and long attributes."""
    unit = rng.choice((
        "<div>", "<table><tr><td>", "<a href='", "<!--", "<![CDATA[", "&#x110000;", "&amp;" * 3, "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>", "</style>", "<svg/onload=alert(1)>", "<select><option>", "<p>[IMG]", "&nbsp",
        "<b><i><u>", "<input type=text name=a value='", "{{7*7}}", "{% raw %}", "[a](javascript:alert(1))", "![a](b)",
        "| a | b |\n|---|---|\n", "> ", "***", "https://[::1/", "http://a.b/?" + "%00", "file:///etc/passwd ",
    ))  # fmt: skip
    return unit * max(1, length // len(unit))


def _sql(rng: random.Random, length: int) -> str:
    """Queries without end, without sense, for other servers, or that change things."""
    many = max(1, min(length, 50_000) // 30)
    return rng.choice((
        "SELECT " + "(" * many + "1" + ")" * many, "SELECT 1" + " UNION SELECT 1" * many, "SELECT " + "NOT " * many + "1",
        "SELECT 1 WHERE " + " AND ".join(["1=1"] * many), "SELECT * FROM hat" + ", hat" * rng.randint(3, 60),
        "WITH RECURSIVE a(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM a) SELECT count(*) FROM a",
        "WITH RECURSIVE a(n) AS (SELECT 'x' UNION ALL SELECT n || n FROM a) SELECT length(n) FROM a",
        "SELECT * FROM (" * many, "SELECT randomblob(1000000000)", "SELECT zeroblob(2000000000)", "SELECT hex(zeroblob(4e8))",
        "SELECT printf('%.*c', 1000000000, 'x')", "SELECT replace(hex(zeroblob(99999)), '0', hex(zeroblob(9999)))",
        f"SELECT '{'a' * many}' LIKE '{'%a' * 40}b'", f"SELECT '{'a' * many}' GLOB '{'*a' * 40}b'", "'; DROP TABLE hat; --",
        "DROP TABLE hat", "DELETE FROM hat", "UPDATE hat SET price = price * 9e999", "ATTACH DATABASE '/etc/passwd' AS a",
        "PRAGMA writable_schema=1", "VACUUM INTO '/tmp/x'", "SELECT load_extension('x')", "SHOW TABLES; SHOW TABLES",
        "DESCRIBE " + "a." * many, "SELECT STR_TO_DATE('99999999999999', '%Y')", "SELECT DATE_FORMAT('x', '%%%%%')",
        "SELECT FROM_UNIXTIME(1e300)", "SELECT CASE " + "WHEN 1 THEN 1 " * many + "END", "SELECT 'a" + "''" * many,
        "SELECT " + ", ".join(f"1 AS a{n}" for n in range(min(many, 3000))), "SELECT 1;" * many, "/*" * many, "SELECT `",
        "SELECT REPEAT('x', 999999999)", "SELECT POW(9, 999999)", "SELECT " + "-" * many + "1", "SELECT GROUP_CONCAT(a",
        "SELECT name FROM hat WHERE name REGEXP '(a+)+$'", "SELECT SLEEP(99)", "SELECT LPAD('x', 999999999, 'y')",
        "INSERT INTO hat SELECT * FROM hat, hat AS b, hat AS c, hat AS d, hat AS e, hat AS f", "BEGIN; SELECT 1",
    ))  # fmt: skip


def _code(rng: random.Random, length: int) -> str:
    """Programs that do not end, take all memory, or reach for the machine; half of them cannot be parsed."""
    many = max(1, min(length, 50_000) // 5)
    return rng.choice((
        "while True: pass", "[0] * 10**10", "'a' * 10**10", "def f(): return f()\nf()", "import os; os.system('id')",
        "open('/etc/passwd').read()", "__import__('os').fork()", "9**9**9", "list(range(10**10))", "sum(range(10**12))",
        "(lambda: " * many, "x = [" * many, "if 1:\n " * 99 + "1", "1 if 1 else " * many + "1", "not " * many + "1",
        "().__class__.__bases__[0].__subclasses__()", "raise SystemExit", "exec('1')", "f'{" * many, "a" * many + " = 1",
        "x = 1\n" * many, "print('x' * 10**8)", "while 1: print('x')", "{n: n for n in range(10**9)}", "-" * many + "1",
        "1" + "+1" * many, "a.b" * many, "lambda x: x", "int('9' * 10**7)", "str(10**10**6)", "pow(9, 10**9)",
        "If R1 > 0, R1, -R1", "for i in 1 to 10**9: s += i", "a = []\na.append(a)\na", "'%1000000000d' % 1",
        "[[0] * 99999 for _ in range(99999)]", "import time; time.sleep(99)", "max([" + "1," * many + "])",
    ))  # fmt: skip


def _json(rng: random.Random, length: int) -> str:
    """JSON: deep, wide, with names twice, numbers that nothing holds, escapes, or cut off."""
    many = max(1, min(length, 100_000) // 8)
    return rng.choice((
        "[" * many, '{"a":' * many, "[" * many + "]" * many, '{"a":[' * (many // 2) + "]}" * (many // 2),
        "{" + ", ".join(['"a": 1'] * many) + "}", "{" + ", ".join(f'"a{n}": 1' for n in range(many)) + "}", '{"a": NaN}',
        '{"a": 1e999999999}', '{"a": ' + "9" * 5000 + "}", '{"a": -0.0, "b": Infinity}', "[" + "1," * many + "]",
        '"' + "\\\\" * many, '"' + "\\u0000" * many + '"', '"\\ud800"', '{"\\u0000": "\\udfff"}', '{"a": "' + "\\" * many,
        "{" * many + "}" * many, "{'a': 'it's'}" * 20, '{"error": "", "response": ' * (many // 4), "null", "true", "[]",
        '{"a": 1}{"a": 2}' * (many // 4), '{"a": /* x */ 1, }', '{"a" "b" "c"', '{"": {"": {"": ""}}}', "[[],[[],[[]]]]",
        '{"a":' + '"b",' * many, "{a: b, c: d}" * (many // 4), "```json\n" * (many // 3), '{"call": 1e400, "aim": []}',
    ))  # fmt: skip


def _date(rng: random.Random, length: int) -> str:
    """Dates and times that are none, or of no calendar."""
    many = max(1, min(length, 20_000) // 6)
    return rng.choice((
        "31 February 2000", "0 January 0", "1 May 99999999999", "99/99/9999", "-1000000-01-01", "12:99:99", "May " * many,
        "1 " * many + "May", "2020-01-01T00:00:00+99:99", "1.1.1.1.1.1.1", "10 BC", "the 5th century " * (many // 3),
        "Monday " * (many // 2), "1990s", "9" * many, "1-" * many, "12th of May, " * (many // 3), "5 pm " * many,
        "2000-" + "1" * many, "1 January 2000 - " * (many // 4), "yesterday", "24:00 on 30/2/1", "3:" * many,
    ))  # fmt: skip


KINDS: tuple[Junk, ...] = (_run, _run, _runs, _weave, _soup, _brackets, _control, _number, _html, _sql, _code, _json, _date)
#: The share of texts, and the length up to which they are; the rest are as long as they may be.
LENGTHS = ((0.30, 60), (0.35, 3_000), (0.20, 30_000), (0.10, 200_000))


def make_junk(rng: random.Random, most: int) -> str:
    """A text of one kind, of at most `most` characters: most are short, and some of full length."""
    share = rng.random()
    for part, bound in LENGTHS:
        share -= part
        if share < 0:
            length = rng.randint(1, bound)
            break
    else:
        length = most
    return rng.choice(KINDS)(rng, min(length, most))[:most]
