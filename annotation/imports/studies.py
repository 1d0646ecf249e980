"""The study that an import names: found, or made."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.core.validators import validate_slug

from annotation.models import Study
from core import audit
from core.errors import UserError
from core.models import User


def study_for_import(
    *, slug: str, actor: User | None, pilot: bool = False, name: str = ""
) -> tuple[Study, bool]:
    """Return the study and whether it was made just now; call it inside the import's transaction.

    With `pilot` it is a pilot study; people see it by its `name`, by default the slug. Raises UserError for a slug
    or a name that cannot be one, for another name than the study has, and for a main study where a pilot is
    asked for.
    """
    name = " ".join(name.split())
    if len(name) > 200 or "\0" in name:
        raise UserError("the name of a study has at most 200 characters, none of them NUL")
    study = Study.objects.filter(slug=slug).first()
    if study is not None:
        if pilot and study.kind != Study.Kind.PILOT:
            raise UserError(f'the study "{slug}" is here already, and is no pilot')
        if name and study.name != name:
            raise UserError(f'the study "{slug}" is here already, by the name "{study.name}"')
        return study, False
    try:
        validate_slug(slug)
    except ValidationError as error:
        raise UserError(
            f'"{slug}" cannot name a study: letters, digits, dashes and underscores only'
        ) from error
    if len(slug) > 60:
        raise UserError(f'"{slug}" is too long a name for a study: at most 60 characters')
    # Another import may make it meanwhile; then this one waits until that has ended, and finds it.
    kind = Study.Kind.PILOT if pilot else Study.Kind.MAIN
    study, made = Study.objects.get_or_create(slug=slug, defaults={"name": name or slug, "kind": kind})
    if not made:
        return study, False
    audit.record(scope=slug, actor=actor, action="study made", subject=slug, payload={"by": "import"})
    return study, True
