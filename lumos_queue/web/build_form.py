"""The form of a build: its fields as text, and the build options that they describe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Form

from db.connection import Database
from lumos_queue.builds.options import BuildOptions, read_mix
from lumos_queue.downloads.cache import path_of
from lumos_queue.downloads.catalogue import FILES
from lumos_queue.errors import SpecError
from lumos_queue.formulations.defaults import USUAL
from lumos_queue.settings import Settings
from lumos_queue.submission.build_request import read_build_where
from lumos_queue.submission.ranges import MAX_INTEGER
from lumos_queue.util.launch_folder import from_launch
from lumos_queue.util.sanitize import storable

_Short, _Long = Form(max_length=200), Form(max_length=4_000)
_TESTS = ("dev", "test")  #: splits that the form offers for comparison


@dataclass(frozen=True, slots=True)
class BuildForm:
    """The fields of the form, as a person wrote them."""

    name: str = ""
    where: str = ""
    format: str = "lumos"
    formulations: Sequence[str] = (USUAL,)
    select: str = "all"
    per_task: str = "0"
    level: str = ""
    mix: str = ""
    rows: str = "0"
    near: str = "0"
    dev_share: str = "0"
    seed: str = "0"
    against: Sequence[str] = ()
    allow_test: bool = False
    allow_contaminated: bool = False
    reexecute: bool = False
    perturbed: bool = False

    def read(self, database: Database, settings: Settings, any_path: bool) -> BuildOptions:
        """Return the build options. Raises SpecError for an unreadable field, and for options that a build refuses.

        `any_path`: whether test splits may be any file of this machine; otherwise they must be fetched files.
        """
        against = tuple(_find_file(text, settings, any_path) for text in self.against)
        return BuildOptions(
            where=str(read_build_where(database, self.where)),
            format=self.format,
            formulations=tuple(dict.fromkeys(self.formulations)) or (USUAL,),
            select=self.select,
            per_task=_whole("--per-task", self.per_task),
            level=self.level,
            mix=read_mix(self.mix),
            rows=_whole("--rows", self.rows),
            near=_number("--near-duplicates", self.near),
            dev_share=_number("--dev-share", self.dev_share),
            seed=_whole("--seed", self.seed),
            against=against,
            allow_test=self.allow_test,
            allow_contaminated=self.allow_contaminated,
            reexecute=self.reexecute,
            perturbed=self.perturbed,
        )


def read_form(
    name: Annotated[str, _Short] = "",
    where: Annotated[str, _Long] = "",
    format: Annotated[str, _Short] = "lumos",
    formulations: Annotated[list[str] | None, Form()] = None,
    select: Annotated[str, _Short] = "all",
    per_task: Annotated[str, _Short] = "0",
    level: Annotated[str, _Short] = "",
    mix: Annotated[str, _Long] = "",
    rows: Annotated[str, _Short] = "0",
    near: Annotated[str, _Short] = "0",
    dev_share: Annotated[str, _Short] = "0",
    seed: Annotated[str, _Short] = "0",
    fetched: Annotated[list[str] | None, Form()] = None,
    against: Annotated[str, _Long] = "",
    allow_test: Annotated[bool, Form()] = False,
    allow_contaminated: Annotated[bool, Form()] = False,
    reexecute: Annotated[bool, Form()] = False,
    perturbed: Annotated[bool, Form()] = False,
) -> BuildForm:
    """Read a posted form. Its test splits are the ticked fetched files, and the lines of `against`."""
    texts = {
        key: storable(value.strip())[0]
        for key, value in {
            "name": name,
            "where": where,
            "format": format,
            "select": select,
            "per_task": per_task,
            "level": level,
            "mix": mix,
            "rows": rows,
            "near": near,
            "dev_share": dev_share,
            "seed": seed,
        }.items()
    }
    splits = [*(fetched or ()), *against.splitlines()]
    return BuildForm(
        **texts,
        formulations=[storable(formulation)[0] for formulation in formulations or ()],
        against=tuple(dict.fromkeys(storable(split.strip())[0] for split in splits if split.strip())),
        allow_test=allow_test,
        allow_contaminated=allow_contaminated,
        reexecute=reexecute,
        perturbed=perturbed,
    )


def form_like(options: Mapping[str, Any]) -> BuildForm:
    """Return a form with the options of a manifest, without test splits, because a manifest contains no paths."""
    return BuildForm(
        where=options["where"],
        format=options["format"],
        formulations=tuple(options["formulations"]),
        select=options["select"],
        level=options["level"],
        mix=",".join(f"{name}={share}" for name, share in options["mix"].items()),
        **{name: str(options.get(name) or 0) for name in ("per_task", "rows", "near", "dev_share", "seed")},
        **{name: options[name] for name in ("allow_test", "allow_contaminated", "reexecute", "perturbed")},
    )


def list_fetched_tests(settings: Settings) -> list[str]:
    """Return the test splits whose files `lumos data get` has fetched, as BENCHMARK:PATH."""
    folder = settings.home / "data"
    return [
        f"{file.name.partition('/')[0]}:{path_of(file, folder)}"
        for file in FILES
        if set(_TESTS) & set(file.splits) and path_of(file, folder).is_file()
    ]


def _find_file(text: str, settings: Settings, any_path: bool) -> str:
    """Return a test split with the full path of its file, if it has a file.

    Raises SpecError for a file outside the folder of fetched data, because a password of the explorer gives no access
    to the files of this machine.
    """
    name, _, rest = text.partition(":")
    path = from_launch(rest)
    if not rest or not ("/" in rest or "." in rest or path.exists()):
        return text  # a generated benchmark, with or without a split
    folder = (settings.home / "data").resolve()
    if not any_path and not path.resolve().is_relative_to(folder):
        raise SpecError(f"--against {text[:80]}: name a file in '{folder}', which lumos data get fetches.")
    return f"{name}:{path}"


def _whole(option: str, text: str) -> int:
    if text and not (text.isascii() and text.isdigit() and int(text[:20]) <= MAX_INTEGER):
        raise SpecError(f"{option} is '{text[:40]}': expected a whole number from 0 to {MAX_INTEGER:,}.")
    return int(text or 0)


def _number(option: str, text: str) -> float:
    try:
        return float(text or 0)
    except ValueError:
        raise SpecError(f"{option} is '{text[:40]}': expected a number from 0 to 1.") from None
