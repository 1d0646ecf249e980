"""The folder of a release: every file is what its manifest says, to the byte, before a row is read."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotation.imports.fields import Fields, RefusedRow
from annotation.imports.reading import load_object, read_bytes
from core.errors import UserError

MANIFEST = "public_manifest.json"
STANDARD_FILE = "ground_truth_gold.jsonl"
ROLES_FILE = "critical_roles.jsonl"
SHA256 = re.compile(r"[0-9a-f]{64}")
PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class BrokenRelease(UserError):
    """The folder is not the release that its manifest describes; `problems` has a line for each fault."""

    def __init__(self, folder: str, problems: list[str]) -> None:
        self.problems = problems
        super().__init__(
            "\n".join([f"{folder} is not what its manifest says; nothing is imported:", *problems])
        )


@dataclass(frozen=True)
class ReleaseFile:
    """One checked file."""

    name: str
    content: bytes
    sha256: str
    rows: int


@dataclass(frozen=True)
class ReleaseFolder:
    """A checked release; `left_alone` names what lies in the folder and is no part of it."""

    name: str
    format: str
    manifest_sha256: str
    files: dict[str, ReleaseFile]
    left_alone: tuple[str, ...]


def open_release(path: str | Path) -> ReleaseFolder:
    """Read a release and check bytes, sha256 and row count of each file, whether one is missing or too many.

    Raises UserError for a folder or manifest that cannot be read, BrokenRelease with every fault found.
    """
    folder = Path(path)
    if not folder.exists():
        raise UserError(f"{path}: there is no such folder")
    if not folder.is_dir():
        raise UserError(f"{path} is a file; name the folder of the release")
    if not (folder / MANIFEST).exists():
        raise UserError(f"{path} has no {MANIFEST}, so that it cannot be checked; is it a release?")
    content = read_bytes(folder / MANIFEST)
    manifest = load_object(f"{path}/{MANIFEST}", content)
    try:
        listed = _listed(manifest)
    except RefusedRow as refusal:
        raise UserError(f"{path}/{MANIFEST}: {refusal}") from refusal
    problems: list[str] = []
    files: dict[str, ReleaseFile] = {}
    for name, (rows, size, digest) in listed.items():
        if not (folder / name).exists():
            problems.append(f"{name}: missing")
            continue
        file = read_bytes(folder / name)
        faults = _faults(file, rows=rows, size=size, digest=digest)
        problems += [f"{name}: {fault}" for fault in faults]
        files[name] = ReleaseFile(name, file, digest, rows)
    if STANDARD_FILE not in listed:
        problems.append(f"{STANDARD_FILE}: missing in the manifest")
    others = sorted(entry.name for entry in folder.iterdir() if entry.name not in {MANIFEST, *listed})
    problems += [f"{name}: not in the manifest" for name in others if name.endswith(".jsonl")]
    if problems:
        raise BrokenRelease(str(path), problems)
    return ReleaseFolder(
        name=folder.resolve().name,
        format=str(manifest.get("format", "")),
        manifest_sha256=hashlib.sha256(content).hexdigest(),
        files=files,
        left_alone=tuple(others),
    )


def _listed(manifest: dict[str, Any]) -> dict[str, tuple[int, int, str]]:
    """Return (rows, bytes, sha256) by file name; RefusedRow says what the manifest lacks."""
    entries = Fields(manifest.get("files"), at="files").values
    listed = {}
    for name, entry in entries.items():
        if not PLAIN_NAME.fullmatch(name):
            raise RefusedRow(f'"{name[:60]}" is no plain file name')
        fields = Fields(entry, at=name)
        digest = fields.text("sha256").lower()
        if not SHA256.fullmatch(digest):
            raise RefusedRow(f"the sha256 of {name} is none")
        listed[name] = (fields.whole("rows", least=0), fields.whole("bytes", least=0), digest)
    return listed


def _faults(content: bytes, *, rows: int, size: int, digest: str) -> list[str]:
    faults = []
    if len(content) != size:
        faults.append(f"has {len(content)} bytes, the manifest says {size}")
    found = hashlib.sha256(content).hexdigest()
    if found != digest:
        why = ""
        if hashlib.sha256(re.sub(rb"\r?\n", b"\r\n", content)).hexdigest() == digest:
            why = "; only its line ends were changed, from CRLF to LF"
        faults.append(f"its sha256 is {found}, the manifest says {digest}{why}")
    counted = sum(1 for line in content.split(b"\n") if line.strip())
    if counted != rows:
        faults.append(f"has {counted} rows, the manifest says {rows}")
    return faults
