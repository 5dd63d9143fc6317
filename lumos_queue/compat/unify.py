"""Unify training files of several domains in one file (spec/lumos.md 3.3). Like the paper's version 3 on arXiv, it can
add instructions with direct answers, such as Alpaca's."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from lumos_queue.compat.lines import JsonLines
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.notation import without_roles
from lumos_queue.prompts.conversations import Conversation, read_conversation
from lumos_queue.prompts.dialogue import Turn
from lumos_queue.readers.instructions import direct_question, read_instructions
from lumos_queue.util.paths import require_folders
from lumos_queue.util.regular_file import open_regular


def unify(files: Sequence[Path], out: Path, direct: Sequence[Path] = ()) -> dict[str, int]:
    """Write the rows of all files to `out`, byte for byte and in order. Return the number of rows by file.

    Then the rows of `direct`, files in Alpaca's format, follow as conversations with one answer; rows with an empty
    answer are left out. All rows keep their ids and are neither sampled nor shuffled, because training shuffles them.
    After an error there is no file. Raises SpecError if `out` exists, for an unreadable row, and for a row whose id
    another row of its dataset has; the message names the file, the row and the field.
    """
    if not (files or direct):
        raise SpecError("There is nothing to unify. Name training files, or instructions with --direct FILE.")
    if out.exists():
        raise SpecError(f"'{out}' exists, and no file is overwritten. Name another file with --out.")
    require_folders(out, "--out")
    out.parent.mkdir(parents=True, exist_ok=True)
    rows: dict[str, int] = {}
    known_ids: set[tuple[str, str]] = set()
    part = out.with_name(f".{out.name}.{secrets.token_hex(4)}")
    try:
        with part.open("wb") as output:
            for file in files:
                rows[str(file)] = _append(file, output, known_ids)
            for file in direct:
                rows[str(file)] = _append_instructions(file, output)
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)
    return rows


def _append_instructions(file: Path, output: BinaryIO) -> int:
    count = 0
    for row in read_instructions(file):
        if isinstance(row, BadRow):
            if not row.leave_out:
                raise SpecError(f"{file}: {row}")
            continue
        question = without_roles(direct_question(row.instruction, row.input))
        turns = (Turn("user", question), Turn("assistant", without_roles(row.output)))
        output.write(f"{Conversation(file.stem, f'{file.stem}_{row.number}', turns).as_json()}\n".encode())
        count += 1
    return count


def _append(file: Path, output: BinaryIO, known_ids: set[tuple[str, str]]) -> int:
    count, lines = 0, JsonLines(file)
    with open_regular(file) as source:
        for line in lines:
            if isinstance(line, BadRow):
                raise SpecError(f"{file}: {line}")
            source.seek(line.start)
            data = source.readline().rstrip(b"\r\n")
            try:
                row = read_conversation(data.decode("utf-8-sig"), line.number)
            except BadRow as bad:
                raise SpecError(f"{file}: {bad}") from None
            if (row.dataset, row.id) in known_ids:
                problem = f"another row of '{row.dataset}' has the id '{row.id}'"
                raise SpecError(f"{file}: {BadRow(line.number, 'id', problem)}")
            known_ids.add((row.dataset, row.id))
            output.write(data + b"\n")
            count += 1
    return count
