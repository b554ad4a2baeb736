"""`scripts/bench`: runs the sections asked for and prints the table. See the package."""

import argparse
import sys
import time
from pathlib import Path

from tests.bench import report
from tests.bench.data import prepare
from tests.bench.measure import Result
from tests.bench.sections import NEEDED, SECTIONS


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench", description="Measure kafkafs beside its peers.")
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"of {', '.join(SECTIONS)} (default: all)")
    parser.add_argument("--records", type=int, default=9_000_000, metavar="N", help="a codec; 1000000 is quick")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="measurements of each")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything measured there")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.sections if name not in SECTIONS]
    if unknown or arguments.records < 1 or arguments.rounds < 1:
        parser.error(f"no section {unknown[0]!r}" if unknown else "--records and --rounds are at least 1")
    sections = arguments.sections or list(SECTIONS)
    needed = {topic for name in sections for topic in NEEDED.get(name, ())}
    bench = prepare(arguments.records, needed if set(sections) <= set(NEEDED) else None)
    results: list[Result] = []
    for name in sections:
        started = time.monotonic()
        for result in SECTIONS[name](bench, arguments.rounds):
            results.append(result)
            print(f"[{time.monotonic() - started:4.0f} s] {report.table([result]).splitlines()[1]}", file=sys.stderr)
    print(report.table(results))
    if arguments.json:
        report.write_json(results, arguments.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
