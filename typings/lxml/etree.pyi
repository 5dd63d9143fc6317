from collections.abc import Iterable, Iterator
from typing import Literal, Self, TypeVar

E = TypeVar("E", bound=_Element)

class LxmlError(Exception): ...
class ParserError(LxmlError): ...

class _Element:
    # A function for comments and processing instructions, which this project's parsers leave out, and for entities.
    tag: str
    text: str | None
    tail: str | None
    @property
    def attrib(self) -> dict[str, str]: ...
    def get(self, key: str, default: str = ...) -> str: ...
    def getparent(self) -> Self | None: ...
    def index(self, child: Self) -> int: ...
    def clear(self, keep_tail: bool = ...) -> None: ...
    def iter(self, tag: str = ...) -> Iterator[Self]: ...
    def __iter__(self) -> Iterator[Self]: ...
    def __getitem__(self, index: int) -> Self: ...
    def __delitem__(self, index: int | slice) -> None: ...

class _LogEntry:
    type: int
    domain: int

class ErrorTypes:
    ERR_TAG_NOT_FINISHED: int

class ErrorDomains:
    NAMESPACE: int

class _BaseParser:
    @property
    def error_log(self) -> Iterable[_LogEntry]: ...

class XMLParser(_BaseParser):
    def __init__(
        self,
        *,
        encoding: str | None = ...,
        resolve_entities: bool = ...,
        no_network: bool = ...,
        recover: bool = ...,
        huge_tree: bool = ...,
        remove_comments: bool = ...,
        remove_pis: bool = ...,
        load_dtd: bool = ...,
        dtd_validation: bool = ...,
    ) -> None: ...

class HTMLParser(_BaseParser):
    def __init__(
        self,
        *,
        recover: bool = ...,
        encoding: str | None = ...,
        remove_comments: bool = ...,
        remove_pis: bool = ...,
        no_network: bool = ...,
        huge_tree: bool = ...,
    ) -> None: ...

class QName:
    def __init__(self, text_or_uri_or_element: str | _Element) -> None: ...
    localname: str

def fromstring(text: str | bytes, parser: _BaseParser | None = ...) -> _Element | None: ...
def iterwalk(
    element: E, events: Iterable[Literal["start", "end"]] = ..., tag: str | Iterable[str] | None = ...
) -> Iterator[tuple[str, E]]: ...
