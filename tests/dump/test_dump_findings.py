"""The report behind the dump: the tool's words in the tool's order."""

from pathlib import Path

from kafkafs.dump.dump_findings import (
    GAP,
    INDEX_MISMATCH,
    OFFSET_NOT_FOUND,
    TIME_MISMATCH,
    TIME_OUT_OF_ORDER,
    Findings,
    Unreported,
)
from tests.dump.dumped import source_of


def test_the_report_has_the_words_of_the_tool(tmp_path: Path) -> None:
    """Monitoring looks for them."""
    source = source_of(tmp_path, "0.index")
    findings = Findings()
    findings.disagree(INDEX_MISMATCH, source, [(120, 113)])
    findings.disagree(INDEX_MISMATCH, source, [(600, -1)])
    findings.disagree(TIME_MISMATCH, source, [(5000, 1005)])
    findings.disagree(TIME_OUT_OF_ORDER, source, [(4000, 5000)])
    findings.disagree(OFFSET_NOT_FOUND, source, [(600, -1)])
    findings.disagree(GAP, source, [(102, 110), (-1, 100)])
    path = source.absolute_path
    assert list(findings.lines()) == [
        f"Mismatches in :{path}",
        "  Index offset: 600, log offset: -1",
        "  Index offset: 120, log offset: 113",
        f"Found timestamp mismatch in :{path}",
        "  Index timestamp: 5000, log timestamp: 1005",
        f"Found out of order timestamp in :{path}",
        "  Index timestamp: 4000, Previously indexed timestamp: 5000",
        f"The following indexed offsets are not found in :{path}",
        "Indexed offset: 600, found log offset: -1",
        f"Non-consecutive offsets in {path}",
        "  -1 is followed by 100",
        "  102 is followed by 110",
    ]


def test_a_pair_is_reported_once(tmp_path: Path) -> None:
    """Keyed by the offset before it; the last one counts."""
    source, findings = source_of(tmp_path, "0.log"), Findings()
    findings.disagree(GAP, source, [(5, 7), (5, 9)])
    findings.disagree(GAP, source, [])
    assert list(findings.lines())[1:] == ["  5 is followed by 9"]


def test_problems_are_reported_at_once_and_counted(tmp_path: Path) -> None:
    """They decide the exit code; an unknown file does not."""
    reported: list[str] = []
    findings = Findings(report=reported.append)
    findings.problem(source_of(tmp_path, "0.log"), "it is broken.")
    findings.unknown(source_of(tmp_path, "x.y"))
    assert (reported, findings.problems) == (["0.log: it is broken.", "Ignoring unknown file x.y"], 1)
    assert list(findings.lines()) == []


def test_what_nobody_hears_is_not_kept(tmp_path: Path) -> None:
    """A compacted log has millions of gaps."""
    findings = Unreported()
    findings.disagree(GAP, source_of(tmp_path, "0.log"), [(5, 7)])
    assert list(findings.lines()) == []
    assert not findings.is_heard
