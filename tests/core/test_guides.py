"""The guides: one text for the repository and the pages, with pictures that exist."""

from __future__ import annotations

import re

import pytest
from django.contrib.staticfiles import finders
from django.test import Client
from django.urls import reverse

from core.guides import FOLDER, READERS
from core.models import User

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("reader", READERS)
def test_a_guide_is_shown_with_its_pictures(client: Client, ana: User, reader: str) -> None:
    client.force_login(ana)
    page = client.get(reverse("guide", args=[reader])).content.decode()
    article = page.partition("<article")[2].partition("</article>")[0]
    pictures = re.findall(r'(?:src|srcset)="([^"]+)"', article)
    assert pictures and all(finders.find(one.removeprefix("/static/")) for one in pictures), pictures
    assert not re.search(r'href="[^"#/]', article), "documents of the repository are no pages"
    assert "](" not in article


def test_every_guide_has_a_reader() -> None:
    assert {path.stem for path in FOLDER.glob("*.md")} == set(READERS)
    for path in FOLDER.glob("*.md"):
        for target in re.findall(r"\]\(([^)]+)\)", path.read_text(encoding="utf-8")):
            assert (FOLDER / target).is_file(), f"{path.name}: {target}"


def test_strangers_sign_in_first_and_other_readers_are_not_found(client: Client, ana: User) -> None:
    assert client.get(reverse("guide", args=["lead"])).status_code == 302
    client.force_login(ana)
    assert client.get(reverse("guide", args=["nobody"])).status_code == 404
