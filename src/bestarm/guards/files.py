"""Messages about damaged files, the same from every reader."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

Reader = TypeVar("Reader", bound=Callable[..., Any])


def says_which_file(read: Reader) -> Reader:
    """Decorate a reader, whose first argument is a path, so that whatever damage it meets is one error with the name.

    What the reader itself says of the file passes. Any other error, such as that of an archive that ends early or of a
    text in another encoding, becomes a `ValueError` in one line. A lack of memory stays what it is.
    """

    @wraps(read)
    def reading(path: Path, *arguments: Any, **settings: Any) -> Any:
        try:
            return read(path, *arguments, **settings)
        except MemoryError:
            raise
        except Exception as error:
            if isinstance(error, ValueError | OSError) and str(path) in str(error) and "\n" not in str(error).strip():
                raise
            kind = "" if str(error).startswith(str(path)) else f"{path}: damaged, or no file of this kind: "
            what = " ".join(str(error).split()) or type(error).__name__
            raise ValueError(f"{kind}{what.rstrip('.')}. Take another copy of it.") from error

    return cast(Reader, reading)
