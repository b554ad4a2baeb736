"""Makes the pictures of real output: `.venv/bin/python scripts/make_pictures.py` (rich and Chromium).

docs/pictures/session.svg   questions about a week of a shop's traffic, what is typed, and what that prints
docs/pictures/profile.png   the page that `kafkafs profile` writes of that week
docs/pictures/shop.tar.xz   the week, as a real broker left it: `python -m tests.kafka.shop` makes it anew

`tests/test_pictures.py` fails when one of them no longer shows what its commands print.
"""

import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import zlib
from pathlib import Path

from rich.console import Console
from rich.text import Text

from kafkafs.spark.profile import profile_job
from kafkafs.spark.profile.page import page
from kafkafs.spark.segment_units import live_segments

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
DATA, COPY = "/var/kafka-logs", "/srv/copy"
_READ = f"kafkafs cat {DATA}"
PANELS = (
    ("The brokers are down. Who is behind, and by how much?", f"kafkafs groups --table {DATA}"),
    ("Billing stands at 2039: which order did it die of?", f"{_READ} orders-0/by-offset/2039.value; echo"),
    (
        "When was that, and what came next?",
        f"{_READ} orders-0/by-offset/2039..2042.jsonl | jq -c '[(.timestamp / 1000 | floor | todate), .key, .offset]'",
    ),
    (
        "Who bought most on Friday evening?",
        f"{_READ} orders-0/by-time/2026-03-06T18:00Z..2026-03-06T22:00Z.jsonl | jq -r .key | sort | uniq -c | sort -rn"
        " | head -n 3",
    ),
    (
        "What was open when the power went?",
        f"{_READ} .cluster/open-transactions.jsonl | jq -c '[.topic, .firstOffset, .transactionalId]'",
    ),
    (
        "A byte of a copy is wrong. Where?",
        f"kafkafs cat {COPY} 'orders-*/by-offset/0...batches.jsonl' | grep '\"valid\":false' | cut -c -108",
    ),
    (
        "How does Kafka find a time?",
        f"{_READ} orders-1/by-time/2026-03-06T20:00Z.explain | grep -v slots | cut -c -126",
    ),
)
FLIPPED = ("orders-1", 9000)  # the byte of the copy's log
COLUMNS = 128
DEADLINE_S = 60
_WORDS = b"kafkafs\0"  # the keyword of the PNG's text: what the page says


def unpacked(scratch: Path) -> dict[str, Path]:
    """{name in the picture: directory}: the week, and a copy of it with one wrong byte."""
    with tarfile.open(PICTURES / "shop.tar.xz") as archive:
        archive.extractall(scratch, filter="data")
    data, copy = scratch / "kafka-logs", scratch / "copy"
    shutil.copytree(data, copy)
    partition, position = FLIPPED
    log = copy / partition / f"{0:020}.log"
    content = bytearray(log.read_bytes())
    content[position] ^= 0xFF
    log.write_bytes(content)
    return {DATA: data, COPY: copy}


def printed(command: str, places: dict[str, Path]) -> str:
    """What a terminal shows of a command, with the names of the picture."""
    real = command
    for name, place in places.items():
        real = real.replace(name, str(place))
    ours = f'kafkafs() {{ "{sys.executable}" -m kafkafs "$@"; }}; {real}'
    done = subprocess.run(["bash", "-c", ours], capture_output=True, text=True, check=True, timeout=DEADLINE_S)
    return done.stdout.rstrip()


def session(places: dict[str, Path]) -> str:
    """A terminal with the panels, as they were run just now, as SVG."""
    with open("/dev/null", "w") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere, force_terminal=True, color_system="truecolor")
        for number, (question, command) in enumerate(PANELS):
            console.print(Text(("\n" if number else "") + f"# {question}", "bold cyan"))
            console.print(Text.assemble(("$ ", "green"), (command, "bold white")))
            console.print(Text(printed(command, places)))
    drawn = console.export_svg(title="a week of a shop, on the disk of a dead broker")
    return re.sub(r"@font-face \{.*?\}", "", drawn, flags=re.S)  # fonts from the net: the reader's own will do


def words(places: dict[str, Path]) -> tuple[str, str]:
    """The profile's page, and what it says without its markup."""
    units = live_segments([places[DATA]], "furthest")
    numbers = profile_job.added_up(units, [profile_job.measure_segment(unit) for unit in units])
    html = str(page(numbers, [DATA]))
    return html, " ".join(re.sub(r"<(style|script)>.*?</\1>|<[^>]+>", " ", html, flags=re.S).split())


def profile(places: dict[str, Path], scratch: Path) -> None:
    """The page's upper part in a browser; what it says stands in the picture's own text."""
    html, reported = words(places)
    (scratch / "page.html").write_text(html)
    browser = shutil.which("chromium") or shutil.which("google-chrome") or "chromium"
    picture = PICTURES / "profile.png"
    command = [
        *(browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1000,1340"),
        *(f"--user-data-dir={scratch / 'browser'}", f"--screenshot={picture}"),
        (scratch / "page.html").as_uri(),
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=240)
    chunk = b"tEXt" + _WORDS + reported.encode("latin-1", "backslashreplace")
    data = picture.read_bytes()
    packed = struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))
    picture.write_bytes(data[:33] + packed + data[33:])  # behind the signature and the header


def words_of(picture: Path) -> str:
    """What was put into the PNG: what its page said."""
    found = re.search(rb"(....)tEXt" + re.escape(_WORDS), picture.read_bytes(), re.S)
    assert found is not None
    size = struct.unpack(">I", found[1])[0]
    return picture.read_bytes()[found.end() : found.end() + size - len(_WORDS)].decode("latin-1")


def main() -> None:
    """Both pictures."""
    with tempfile.TemporaryDirectory() as scratch:
        places = unpacked(Path(scratch))
        (PICTURES / "session.svg").write_text(session(places))
        profile(places, Path(scratch))


if __name__ == "__main__":
    main()
