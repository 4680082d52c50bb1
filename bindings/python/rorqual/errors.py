"""Exceptions of the package, and its warning."""


class Error(Exception):
    """An operation that failed.

    `kind` is one word, `name` the input, `offset` the place in the decoded input in bytes, and
    `needed_bytes` the memory that would be enough, where it was too little.
    """

    kind = "defect"

    def __init__(self, message, *, name=None, offset=None, needed_bytes=None):
        super().__init__(message)
        self.name = name
        self.offset = offset
        self.needed_bytes = needed_bytes


class InputError(Error, OSError):
    """The system refused: no such file, no permission, no room."""

    kind = "io"


class CorruptError(Error, ValueError):
    """The input is not of the kind that it claims, or that is told by its first bytes."""

    kind = "corrupt"


class TruncatedError(CorruptError):
    """The input ends too early."""

    kind = "truncated"


class MismatchError(Error, ValueError):
    """The bytes have another digest than they should."""

    kind = "mismatch"


class LimitError(Error):
    """A limit was met; the message says which, and which argument moves it."""

    kind = "limit"


class OutOfBudgetError(Error, MemoryError):
    """The operation needs more memory than it was given; `needed_bytes` would do."""

    kind = "memory"


class ArgumentError(Error, ValueError):
    """An argument that can't be: a filter, a pattern, a column, a digest."""

    kind = "argument"


class TemplateError(Error, ValueError):
    """The fault of a template, with its place."""

    kind = "template"


class FetchError(Error, OSError):
    """A download failed; `kind` is `connect`, `answer`, `broken` or `timeout`."""

    kind = "broken"


class StoppedError(Error):
    """The operation was stopped before its end."""

    kind = "stopped"


class ProgramError(Error):
    """The program `rorqual` failed; `status` is its exit status."""

    kind = "program"
    status = 2


class RowsWarning(UserWarning):
    """Records were left out or mended."""


_KINDS = {
    cls.kind: cls
    for cls in (
        InputError,
        CorruptError,
        TruncatedError,
        MismatchError,
        LimitError,
        OutOfBudgetError,
        ArgumentError,
        TemplateError,
        StoppedError,
    )
}


def of_failure(kind, message, *, name=None, offset=None, needed_bytes=None):
    """The exception of a failure that the native part met."""
    fetch = FetchError if kind in ("connect", "answer", "broken", "timeout") else Error
    error = _KINDS.get(kind, fetch)(message, name=name, offset=offset, needed_bytes=needed_bytes)
    error.kind = kind
    return error
