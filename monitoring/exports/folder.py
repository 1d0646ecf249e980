"""Writing a folder of files whole: each beside its place first, the manifest last."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path

from core.errors import UserError


def write_folder(folder: Path, files: Mapping[str, bytes], *, manifest: str) -> None:
    """Write the files; those of an earlier export that its manifest lists are replaced or removed.

    Raises UserError for a folder that holds anything else, or that cannot be written.
    """
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file; name a folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        earlier = _earlier(folder, manifest)
        others = sorted(entry.name for entry in folder.iterdir() if entry.name not in earlier)
        if others:
            raise UserError(
                f"{folder} holds {', '.join(others[:3])}{', ...' if len(others) > 3 else ''}, which no earlier "
                "export wrote; name an empty folder"
            )
        # Without its manifest a half-written folder is no release.
        (folder / manifest).unlink(missing_ok=True)
        for name in earlier - files.keys():
            (folder / name).unlink(missing_ok=True)
        for name in sorted(files, key=lambda name: (name == manifest, name)):
            _write(folder / name, files[name])
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error.strerror}") from error


def _earlier(folder: Path, manifest: str) -> set[str]:
    """Return the names that an earlier export wrote, as its manifest lists them."""
    path = folder / manifest
    if not path.exists():
        return set()
    try:
        listed = json.loads(path.read_bytes())["files"]
        return {manifest, *(str(name) for name in listed)}
    except (ValueError, KeyError, TypeError):
        return set()


def _write(path: Path, content: bytes) -> None:
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(content)
    written = Path(file.name)
    written.chmod(0o644)
    written.replace(path)
