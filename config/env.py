"""Typed readers of environment variables; a value that cannot be read stops the start with its name."""

from __future__ import annotations

import os
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off", ""}


def text(name: str, default: str = "") -> str:
    """Return NAME, or the content of the file that NAME_FILE points to (for secrets), or the default."""
    path = os.environ.get(f"{name}_FILE")
    if path:
        try:
            return Path(path).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise ImproperlyConfigured(f"{name}_FILE cannot be read: {error}") from error
    return os.environ.get(name, default)


def flag(name: str, default: bool = False) -> bool:
    """Return NAME as a boolean: 1/0, true/false, yes/no, on/off."""
    raw = os.environ.get(name)
    if raw is None:
        return default
    if raw.strip().lower() in TRUE:
        return True
    if raw.strip().lower() in FALSE:
        return False
    raise ImproperlyConfigured(f"{name} must be 1 or 0, not {raw!r}")


def integer(name: str, default: int, *, minimum: int = 0) -> int:
    """Return NAME as an integer of at least `minimum`."""
    raw = os.environ.get(name, "")
    if not raw:
        return default
    try:
        value = int(raw)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} must be an integer, not {raw!r}") from error
    if value < minimum:
        raise ImproperlyConfigured(f"{name} must be at least {minimum}, not {value}")
    return value


def words(name: str, default: str = "") -> list[str]:
    """Return NAME as a list cut at commas, without empty parts."""
    return [part.strip() for part in os.environ.get(name, default).split(",") if part.strip()]


def folder(name: str, default: Path) -> Path:
    """Return NAME as a folder that exists, made for its owner alone if need be, in which files can be made."""
    path = Path(text(name, str(default))).resolve()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(f"{name}: {path} is no folder and cannot be made one: {error}") from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise ImproperlyConfigured(f"{name}: no file can be made in {path}")
    return path
