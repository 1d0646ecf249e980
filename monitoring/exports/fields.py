"""What a text-free file may hold: named fields of short values, and nothing that looks like a secret."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

from core.errors import UserError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,99}")
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?: [A-Za-z0-9][A-Za-z0-9._-]*){0,2}")
LONGEST_LABEL = 60

NAMES = frozenset(
    {
        "question_id",
        "gt_status",
        "generator",
        "gold_error_source",
        "critical_role",
        "monitor_model",
        "api_model",
        "condition",
        "cell",
        "certificate_relation",
        "certificate_source_qid",
        "certificate_answer_source",
    }
)
LABELS = frozenset({"response_label", "certificate_source_label"})
NUMBERS = frozenset(
    {
        "strict_error",
        "final_is_correct",
        "final_error_step",
        "final_error_step_min",
        "final_error_step_max",
        "human_is_correct",
        "human_error_step",
        "debate_is_correct",
        "debate_error_step",
        "n_steps",
        "parse_ok",
        "has_error",
        "first_error_step",
        "error_confidence",
        "prior_has_error",
        "prior_first_error_step",
        "self_review",
    }
)
MAY_BE_BLANK = frozenset({"generator", "api_model"})

_SECRETS = {
    "a key of a model provider": re.compile(r"\b(?:sk|rk|pk)-[A-Za-z0-9_-]{16,}|\bAIza[0-9A-Za-z_-]{30,}"),
    "a key of a cloud": re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    "a token": re.compile(
        r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|hf_[A-Za-z0-9]{20,}"
        r"|xox[abprs]-[\w-]{10,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{5,})"
    ),
    "a private key": re.compile(r"-----BEGIN"),
    "an address of e-mail": re.compile(r"\b[\w.+-]+@[\w-]+\.[A-Za-z]{2,}\b"),
    "a path of this machine": re.compile(r"(?:^|[\"\s])(?:/(?:home|root|Users)/|[A-Z]:\\\\)"),
}
_SECRET_NAMES = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|DATABASE_URL|REDIS_URL)$")


class NotTextFree(UserError):
    """Something that a text-free release must not hold; nothing was written."""


def check_row(file: str, row: Mapping[str, Any]) -> None:
    """Raise NotTextFree for a field that is not on the list or a value that is no short identifier."""
    where = f"{file}, {row.get('question_id')}/{row.get('response_label')}"
    for name, value in row.items():
        if name in NUMBERS:
            fine = value is None or isinstance(value, bool | int | float)
            # A verdict that its release kept as invalid may hold a word there, as short as an identifier.
            fine = fine or (isinstance(value, str) and _NAME.fullmatch(value) is not None)
        elif name in NAMES:
            fine = isinstance(value, str) and (
                _NAME.fullmatch(value) is not None or (value == "" and name in MAY_BE_BLANK)
            )
            fine = fine or (value is None and name.startswith("certificate_"))
        elif name in LABELS:
            fine = isinstance(value, str) and len(value) <= LONGEST_LABEL and bool(_LABEL.fullmatch(value))
            fine = fine or (value is None and name.startswith("certificate_"))
        else:
            raise NotTextFree(f'{where}: a text-free release has no field "{name}"')
        if not fine:
            shown = str(value)[:40]
            raise NotTextFree(f'{where}: "{name}" is "{shown}", which is no short identifier')


def check_secrets(file: str, lines: Iterable[str]) -> None:
    """Raise NotTextFree for a line that holds something like a secret, or a secret of this process."""
    known = [
        (name, value) for name, value in os.environ.items() if _SECRET_NAMES.search(name) and len(value) >= 8
    ]
    for number, line in enumerate(lines, start=1):
        for what, pattern in _SECRETS.items():
            if pattern.search(line):
                raise NotTextFree(f"{file}:{number} holds what looks like {what}")
        for name, value in known:
            if value in line:
                raise NotTextFree(f"{file}:{number} holds the value of the setting {name}")
