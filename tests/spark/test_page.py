"""The page of a profile: what it says, and how it looks in a real browser."""

import json
import re
import shutil
import struct
import subprocess
import zlib
from pathlib import Path

import pytest

from kafkafs.spark.profile.figures import Figures
from kafkafs.spark.profile.page import page
from kafkafs.tables.offsets import TopicPartition
from tests.kafka.dataset import Dataset
from tests.spark.test_profile_job import profile

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def test_the_page_is_alone_and_escapes_what_it_shows():
    numbers = Figures(records=3, size=10, segments=1, volume={1: (3, 10)})
    html = page({TopicPartition("<b>&", 0): numbers}, ['/data/"><script>x</script>'])
    assert "<script>x" not in html
    assert html.count("<script") == 1  # our own, which sorts tables
    assert "<b>&-0" not in html
    assert "&lt;b&gt;&amp;-0" in html
    assert not re.search(r"(?:src|href)=|url\(|@import|https?:", html)


def test_the_page_of_nothing_says_so():
    assert "No record has a timestamp" in page({}, ["/data"])


def test_no_card_stands_alone_in_a_row():
    """However many stand beside each other."""
    facts = re.findall(r"<div><b>", page({TopicPartition("t", 0): Figures()}, ["/data"]).split("<section>")[0])
    assert all(len(facts) % columns != 1 for columns in range(2, 8))


def test_one_is_not_counted_as_many():
    """Regression: "1 records"."""
    numbers = Figures(records=1, batches=1, segments=1, tombstones=1, aborts=1, damaged=1, volume={1: (1, 10)})
    numbers.lags[0] = numbers.lags[1] = 1
    html = page({TopicPartition("t", 0): numbers, TopicPartition("__own", 0): Figures(records=1)}, ["/data"])
    words = re.sub(r"<[^>]+>", " ", html)
    assert (
        re.findall(r"(?<![\d,.])1 (?:records|topics|partitions|segments|batches|tombstones|damaged places)", words)
        == []
    )
    assert "up to 1 record in" in words
    assert "Without 1 record of Kafka's own topics (__own)" in words.replace("&#39;", "'")
    assert "1 record is out of order" in words


def test_the_heaviest_keys_are_those_of_users():
    """A coordinator writes its own keys all the time: they stood on top, where nobody can do anything about them."""
    found = profile(Dataset("4.3.1", "stopped").path)
    keys = page(found, ["/data"]).split("Heaviest keys</h2>")[1]
    topics = re.findall(r"<tr><td>.*?</td><td>(.*?)</td>", keys)
    assert topics
    assert [topic for topic in topics if topic.startswith("__")] == []
    own = {place: each for place, each in found.items() if place.topic.startswith("__")}
    assert "__transaction_state" in page(own, ["/data"]).split("Heaviest keys</h2>")[1]


def colours(image: Path) -> tuple[int, set[bytes]]:
    """Width and the colours of a PNG's rows, so far as a look at whether something is drawn needs."""
    data = image.read_bytes()
    width = struct.unpack_from(">I", data, 16)[0]
    at, packed = 8, b""
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        packed += data[at + 8 : at + 8 + size] if kind == b"IDAT" else b""
        at += size + 12
    rows = zlib.decompress(packed)
    return width, {rows[each : each + 64] for each in range(0, 400_000, 997)}


def browse(place: Path, size: str, *options: str) -> str:
    """What a browser says of `page.html` in a window of that size."""
    browser = next(filter(None, map(shutil.which, BROWSERS)))
    command = [
        str(browser), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={size}",
        f"--user-data-dir={place / 'browser'}", *options, (place / "page.html").as_uri(),
    ]  # fmt: skip
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout


_ASK = """<script>
const wide = [...document.querySelectorAll(".scroll")].filter(each => each.scrollWidth > each.clientWidth).length;
const first = () => document.querySelector("tbody td").textContent;
const click = at => document.querySelectorAll("thead")[0].rows[0].cells[at].firstChild.click();
click(0); const last = first(); click(0);
const word = first(); click(2);
document.title = JSON.stringify([wide, last, word, first()]);
</script>"""


@pytest.mark.parametrize("width", [1000, 1300])
def test_tables_fit_a_window_and_sort_by_a_click(tmp_path, width):
    """Nobody should have to scroll sideways at a desk, nor count digits to find the largest.

    Regression: at 1,300 pixels the last of fourteen columns was cut, in print and in the README's picture too.
    """
    data = Dataset("4.3.1", "stopped")
    numbers = profile(data.path)
    html = str(page(numbers, [str(data.path)]))  # Markup would escape what is put in
    (tmp_path / "page.html").write_text(html.replace("</body>", _ASK + "</body>"))
    reported = re.search(r"<title>(\[.*\])</title>", browse(tmp_path, f"{width},1000", "--dump-dom"))
    assert reported
    topics: dict[str, int] = {}
    for place, each in numbers.items():
        topics[place.topic] = topics.get(place.topic, 0) + each.records
    wide, last, first, most = json.loads(reported[1])
    assert wide == 0
    assert {first, last} <= topics.keys()
    assert first.strip("_").lower() < last.strip("_").lower()
    assert topics[most] == max(topics.values())


@pytest.mark.parametrize(("scheme", "size"), [("light", "1100,2400"), ("dark", "390,3000")])
def test_the_page_in_a_browser(scheme, size, tmp_path):
    """Rendered without an error, in both schemes, on a phone too: nothing is wider than the window."""
    data = Dataset("4.3.1", "stopped")
    (tmp_path / "page.html").write_text(page(profile(data.path), [str(data.path)]))
    scheme = f"--blink-settings=preferredColorScheme={0 if scheme == 'dark' else 1}"
    browse(tmp_path, size, scheme, f"--screenshot={tmp_path / 'page.png'}")
    width, seen = colours(tmp_path / "page.png")
    assert width == int(size.split(",")[0])
    assert len(seen) > 20
