"""The form of a build: its fields as text, and the build options that they describe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, Signature
from typing import Annotated, Any

from fastapi import Form

from db.engine.connection import Database
from lumos_queue.builds.options import BuildOptions
from lumos_queue.downloads.cache import path_of
from lumos_queue.downloads.catalogue import FILES
from lumos_queue.errors import SpecError
from lumos_queue.formulations.defaults import USUAL
from lumos_queue.settings import Settings
from lumos_queue.submission.build_request import read_build_options
from lumos_queue.submission.requests.build import BuildRequest
from lumos_queue.submission.requests.checks import spell_errors, spell_flags
from lumos_queue.submission.requests.option import DeclaredOption, Entrance, list_options
from lumos_queue.submission.requests.reading import read_texts
from lumos_queue.util.launch_folder import from_launch
from lumos_queue.util.sanitize import storable

_SHORT, _LONG = 200, 4_000  #: characters of a text
_LONG_TEXTS = ("where", "mix", "against")
_TESTS = ("dev", "test")  #: splits that the form offers for comparison
OPTIONS = {option.field: option for option in list_options(BuildRequest, Entrance.FORM)}
#: Fields that the page shows at a fixed position. All others are under "More options".
PLACED = ("name", "where", "format", "formulations", "rows", "per_task", "select", "level", "against")
TICKED_SPLITS = ("allow_contaminated", "allow_test")


@dataclass(frozen=True, slots=True)
class BuildForm:
    """The fields of the form, as a person wrote them."""

    texts: Mapping[str, str]  #: by field, without formulations and test splits; a tick is 'true' or ''
    formulations: Sequence[str] = (USUAL,)
    against: Sequence[str] = ()

    def __getitem__(self, field: str) -> str:
        """Return the text of a field; its default if it has none."""
        default = OPTIONS[field].default
        return self.texts.get(field, "" if default is False else str(default))

    def read(self, database: Database, settings: Settings, any_path: bool) -> BuildOptions:
        """Return the build options. Raises SpecError for an unreadable field, and for options that a build refuses.

        `any_path`: whether test splits may be any file of this machine; otherwise they must be fetched files. Errors
        name fields by their labels.
        """
        with spell_errors(BuildRequest, Entrance.FORM):
            against = tuple(_find_file(text, settings, any_path) for text in self.against)
            formulations = ",".join(self.formulations)
            request = read_texts(BuildRequest, self.texts, {"formulations": formulations, "against": against})
            return read_build_options(database, request)

    @property
    def has_more(self) -> bool:
        """Whether a field under "More options" differs from its default."""
        return any(read != str(option.default) for option, read in ((option, self[option.field]) for option in MORE))


MORE = [option for name, option in OPTIONS.items() if name not in (*PLACED, *TICKED_SPLITS)]


def _read_fields(fetched: list[str] | None, formulations: list[str] | None, **values: str | bool) -> BuildForm:
    """Read a posted form. Its test splits are the ticked fetched files, and the lines of `against`."""
    texts = {
        name: ("true" if value else "") if isinstance(value, bool) else storable(value.strip())[0]
        for name, value in values.items()
    }
    splits = [*(fetched or ()), *texts.pop("against").splitlines()]
    return BuildForm(
        texts,
        formulations=[storable(formulation)[0] for formulation in formulations or ()],
        against=tuple(dict.fromkeys(storable(split.strip())[0] for split in splits if split.strip())),
    )


def _parameters() -> list[Parameter]:
    """Return the parameters of a posted form, which FastAPI reads: the fields, and the ticked fetched files."""
    parameters = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[list[str] | None, Form()])
        for name in ("fetched", "formulations")
    ]
    for name, option in OPTIONS.items():
        if name == "formulations":
            continue
        kind: Any = bool if option.kind is bool else str
        form = Form() if kind is bool else Form(max_length=_LONG if name in _LONG_TEXTS else _SHORT)
        default = False if kind is bool else "" if option.kind is tuple else str(option.default)
        parameters.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, form]))
    return parameters


def read_form(**values: Any) -> BuildForm:
    """Read a posted form: FastAPI calls this function with the form's fields."""
    return _read_fields(**values)


read_form.__signature__ = Signature(_parameters())  # type: ignore[attr-defined]


def describe_option(option: DeclaredOption) -> str:
    """Return the help of a field, with the labels of other fields."""
    return spell_flags(option.option.help, BuildRequest, Entrance.FORM)


def form_like(options: Mapping[str, Any]) -> BuildForm:
    """Return a form with the options of a manifest, without test splits, because a manifest contains no paths."""
    stored = {**options, "near_duplicates": options["near"]}
    stored["mix"] = ",".join(f"{name}={share}" for name, share in options["mix"].items())
    texts = {
        name: ("true" if stored[name] else "") if option.kind is bool else str(stored[name])
        for name, option in OPTIONS.items()
        if name in stored and name not in ("formulations", "against")
    }
    return BuildForm(texts, formulations=tuple(options["formulations"]))


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
