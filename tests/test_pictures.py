"""Every page has its picture in docs/pictures."""

from __future__ import annotations

from tests.pictures import FOLDER, NOT_PICTURED, SHOTS
from tests.test_blind_everywhere import PAGES


def test_every_page_is_pictured_or_named_as_none() -> None:
    pages = {name for name, kind in PAGES.items() if kind != "orders"}
    pictured = {shot.view for shot in SHOTS}
    assert pages - pictured == set(NOT_PICTURED) & pages, "add a shot to tests/pictures.py"
    assert not pictured & set(NOT_PICTURED)


def test_the_folder_holds_just_these_pictures() -> None:
    names = [shot.name + ending for shot in SHOTS for ending in ("", *(("-narrow",) if shot.narrow else ()))]
    wanted = {f"{name}-{scheme}.png" for name in names for scheme in ("light", "dark")}
    assert {path.name for path in FOLDER.glob("*.png")} == wanted, "run `make pictures`"
