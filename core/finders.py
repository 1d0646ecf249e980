"""Static files that installed packages bring: the mathematical font of `ziamath`, served as ours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.contrib.staticfiles.finders import BaseFinder
from django.core.checks import CheckMessage, Error
from django.core.files.storage import FileSystemStorage

PREFIX = "fonts"
FONT = "STIXTwoMath-Regular.ttf"


def font_folder() -> Path | None:
    """Return the folder of the package that holds the font, without importing the package."""
    spec = find_spec("ziamath")
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "fonts"
    return folder if (folder / FONT).is_file() else None


class PackageFontFinder(BaseFinder):
    """Finds `fonts/STIXTwoMath-Regular.ttf` in the installed package, and nothing else of it."""

    def check(self, **kwargs: Any) -> list[CheckMessage]:
        if font_folder() is None:
            return [Error("the mathematical font is missing: install ziamath", id="core.E001")]
        return []

    def find(self, path: str, find_all: bool = False, **kwargs: Any) -> Any:
        folder = font_folder()
        if folder is None or path != f"{PREFIX}/{FONT}":
            return []
        found = str(folder / FONT)
        return [found] if find_all else found

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterator[tuple[str, FileSystemStorage]]:
        folder = font_folder()
        if folder is not None:
            storage = FileSystemStorage(location=folder)
            storage.prefix = PREFIX  # type: ignore[attr-defined]  # collectstatic and WhiteNoise read it
            yield FONT, storage
