"""Makes the pictures of the README of real output: `.venv/bin/python scripts/make_pictures.py` (rich and Chromium).

docs/pictures/session.svg   commands on the bundled sample, and what they print
docs/pictures/profile.png   the page that `kafkafs profile` writes of it
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

from kafkafs.sample import unpack
from kafkafs.spark.profile import job
from kafkafs.spark.profile.page import page
from kafkafs.spark.segments import live_segments

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
PLACE = "/var/kafka-logs"
COMMANDS = (
    f"kafkafs ls {PLACE} test-0 test-0/by-offset",
    f"kafkafs cat {PLACE} test-0/by-time/2021-09-23T09:43:27.8Z.jsonl",
    f"kafkafs cat {PLACE} test-0/by-offset/23400..23403.jsonl | jq -r .value",
    f"kafkafs cat {PLACE} test-0/by-offset/23350.explain",
    f"kafkafs grep -c 'message 234' {PLACE}",
)
COLUMNS = 110


def main() -> None:
    """Both pictures."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        data = unpack(Path(scratch))
        session(data)
        profile(data, Path(scratch))


def session(data: Path) -> None:
    """A terminal with the commands, as they were run just now."""
    with open("/dev/null", "w") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere, force_terminal=True, color_system="truecolor")
        for command in COMMANDS:
            console.print(Text.assemble(("$ ", "green"), (command, "bold white")))
            real = command.replace(PLACE, str(data)).replace(
                "kafkafs ", f"{Path(sys.executable).with_name('kafkafs')} ", 1
            )
            done = subprocess.run(real, shell=True, capture_output=True, text=True, check=True)
            console.print(Text(done.stdout.rstrip().replace(str(data), PLACE)))
    drawn = console.export_svg(title="kafkafs: a dead broker's disk")
    drawn = re.sub(r"@font-face \{.*?\}", "", drawn, flags=re.S)  # fonts from the net: the reader's own will do
    (PICTURES / "session.svg").write_text(drawn)


def profile(data: Path, scratch: Path) -> None:
    """The page's upper part in a browser."""
    units = live_segments([data], "furthest")
    numbers = job.added_up(units, [job.measure_segment(unit) for unit in units])
    (scratch / "page.html").write_text(page(numbers, [PLACE]))
    browser = shutil.which("chromium") or shutil.which("google-chrome") or "chromium"
    command = [
        *(browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1000,1700"),
        *(f"--user-data-dir={scratch / 'browser'}", f"--screenshot={PICTURES / 'profile.png'}"),
        (scratch / "page.html").as_uri(),
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=120)


if __name__ == "__main__":
    main()
