"""Static files whose addresses are composed once for each process: every page names half a dozen."""

from __future__ import annotations

from typing import Any

from django.contrib.staticfiles.storage import StaticFilesStorage


class StaticFiles(StaticFilesStorage):
    """Django's static files, with their addresses kept."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._addresses: dict[str | None, str] = {}

    def url(self, name: str | None) -> str:
        """Return the address of a file; pages name files of ours alone, so that there are only so many."""
        found = self._addresses.get(name)
        if found is None:
            found = self._addresses[name] = super().url(name)
        return found
