import datetime
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, Protocol, TypeAlias, TypedDict, final

from . import errors as errors
from .errors import Error as Error
from .errors import RowsWarning as RowsWarning

class _Reads(Protocol):
    def read(self, size: int, /) -> bytes: ...

_Path: TypeAlias = str | os.PathLike[str]
_Source: TypeAlias = _Path | _Reads
_Sources: TypeAlias = _Source | list[_Source] | tuple[_Source, ...]
_Time: TypeAlias = datetime.date | datetime.datetime | str
_Size: TypeAlias = int | str

@final
class Schema:
    def __arrow_c_schema__(self) -> object: ...

@final
class Batch:
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...
    def __len__(self) -> int: ...

class _Summary(TypedDict):
    rows: int
    rejected: int
    outside: int
    filtered: int

@final
class Rows(AbstractContextManager[Rows]):
    @property
    def schema(self) -> Schema: ...
    @property
    def columns(self) -> list[str]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __iter__(self) -> Iterator[Batch]: ...
    def __next__(self) -> Batch: ...
    def __exit__(self, *exception: object) -> None: ...
    def notes(self) -> list[str]: ...
    def summary(self) -> _Summary: ...
    def close(self) -> None: ...

@final
class Matches:
    def __iter__(self) -> Iterator[tuple[int, int, bytes]]: ...
    def __next__(self) -> tuple[int, int, bytes]: ...
    def close(self) -> None: ...

@final
class Hasher:
    def __init__(self, algorithm: str = "sha256") -> None: ...
    @property
    def name(self) -> str: ...
    def update(self, bytes: bytes, /) -> None: ...
    def hexdigest(self) -> str: ...

class _Put(TypedDict):
    digest: str
    bytes: int
    new: bool
    evicted: int

class _Entry(AbstractContextManager[_Entry]):
    path: str
    digest: str
    bytes: int
    def __exit__(self, *exception: object) -> None: ...
    def close(self) -> None: ...

@final
class Store:
    def __init__(self, dir: _Path, *, max_bytes: _Size | None = None) -> None: ...
    def put(self, source: _Source, *, name: str | None = None) -> _Put: ...
    def get(self, key: str) -> _Entry: ...
    def lease(self, key: str, seconds: float, *, holder: str = "python") -> str: ...
    def release(self, lease: str) -> bool: ...
    def remove(self, key: str) -> bool: ...
    def usage(self) -> dict[str, int]: ...
    def __contains__(self, key: str) -> bool: ...

class Report(dict[str, Any]):
    def _repr_html_(self) -> str: ...

class Server(AbstractContextManager[Server]):
    url: str
    def get(self, path: str) -> bytes: ...
    def close(self) -> None: ...
    def __exit__(self, *exception: object) -> None: ...

def scan_log(
    source: _Sources,
    *,
    columns: Sequence[str] | None = None,
    where: str | None = None,
    since: _Time | None = None,
    until: _Time | None = None,
    format: str | None = None,
    record_max: int | None = None,
    memory: _Size | None = None,
    threads: int | None = None,
) -> Rows: ...
def scan_json(
    source: _Sources,
    *,
    columns: Sequence[str] | None = None,
    rows: str | None = None,
    lines: bool | None = None,
    infer_all: bool = False,
    skip_bad: bool = False,
    exact_numbers: bool = False,
    record_max: int | None = None,
    memory: _Size | None = None,
    threads: int | None = None,
) -> Rows: ...
def scan_csv(
    source: _Sources,
    *,
    columns: Sequence[str] | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    nulls: Sequence[str] | None = None,
    infer_all: bool = False,
    skip_bad: bool = False,
    exact_numbers: bool = False,
    record_max: int | None = None,
    memory: _Size | None = None,
    threads: int | None = None,
) -> Rows: ...
def grep(
    source: _Source,
    pattern: str | Iterable[str],
    *,
    fixed: bool = False,
    ignore_case: bool = False,
    word: bool = False,
    whole_line: bool = False,
    invert: bool = False,
    max_count: int | None = None,
    memory: _Size | None = None,
    threads: int | None = None,
) -> Matches: ...
def count(
    source: _Source,
    *,
    words: bool = False,
    characters: bool = False,
    memory: _Size | None = None,
    threads: int | None = None,
) -> dict[str, int]: ...
def hash(
    source: _Source, algorithm: str = "sha256", *, memory: _Size | None = None, threads: int | None = None
) -> str: ...
def report(
    source: _Sources,
    *,
    where: str | None = None,
    since: _Time | None = None,
    until: _Time | None = None,
    format: str | None = None,
    top: int = 10,
    memory: _Size | None = None,
    threads: int | None = None,
) -> Report: ...
def fetch(
    url: str,
    path: _Path,
    *,
    sha256: str | None = None,
    blake3: str | None = None,
    headers: Sequence[tuple[str, str]] | None = None,
    replace: bool = False,
    parallel: int | None = None,
    retries: int | None = None,
    timeout: float | None = None,
    progress: Callable[[int, int | None], object] | None = None,
) -> dict[str, Any]: ...
def render(
    template: str,
    variables: Mapping[str, Any] | None = None,
    *,
    rows: Rows | None = None,
    folder: _Path | None = None,
    name: str = "page.html",
    lenient: bool = False,
) -> str: ...
def render_stream(
    template: str,
    variables: Mapping[str, Any] | None = None,
    *,
    rows: Rows | None = None,
    folder: _Path | None = None,
    name: str = "page.html",
    lenient: bool = False,
) -> Iterator[bytes]: ...
def program(name: Literal["rorqual", "rorqual-query"] = "rorqual") -> str: ...
def convert(source: _Path | Sequence[_Path], target: _Path, **options: Any) -> None: ...
def query(sql: str, **options: Any) -> Iterator[dict[str, Any]]: ...
def serve(*sources: _Path, **options: Any) -> Server: ...
