"""The pictures show what their commands print today: scripts/make_pictures.py draws them anew where they do not."""

import html
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs/pictures"


@pytest.fixture(scope="module")
def maker() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts/make_pictures.py"))


@pytest.fixture(scope="module")
def places(maker, tmp_path_factory) -> dict[str, Path]:
    found: dict[str, Path] = maker["unpacked"](tmp_path_factory.mktemp("shop"))
    return found


def lines(drawn: str) -> list[str]:
    """The lines of text of a terminal's picture, from the top."""
    found: dict[float, list[tuple[float, str]]] = {}
    for attributes, text in re.findall(r"<text ([^>]*)>(.*?)</text>", drawn, re.S):
        if "clip-path" in attributes:
            x, y = (float(re.search(rf'\b{name}="([\d.]+)"', attributes)[1]) for name in "xy")  # type: ignore[index]
            found.setdefault(y, []).append((x, html.unescape(text)))
    texts = ("".join(text for _, text in sorted(found[y])).replace("\xa0", " ").rstrip() for y in sorted(found))
    return [text for text in texts if text]


def test_the_session_shows_what_its_commands_print(maker, places):
    """Whoever types them after the picture compares."""
    drawn = lines((PICTURES / "session.svg").read_text())
    assert drawn == lines(maker["session"](places))
    assert len(drawn) > 20
    for question, _ in maker["PANELS"]:
        assert f"# {question}" in drawn


def test_each_panel_answers_its_question(maker, places):
    for question, command in maker["PANELS"]:
        assert maker["printed"](command, places).strip(), question


def test_the_profile_shows_what_the_page_says(maker, places):
    """The page's own words stand in the PNG."""
    reported = maker["words"](places)[1].encode("latin-1", "backslashreplace").decode("latin-1")
    assert maker["words_of"](PICTURES / "profile.png") == reported
    assert "Kafka data profile" in reported


def test_pictures_and_their_week_stay_small():
    """They are cloned with the repository, and packed with its source."""
    assert sum(path.stat().st_size for path in PICTURES.iterdir()) < 1_000_000
