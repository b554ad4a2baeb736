"""What `kafkafs grep` prints of events."""

import argparse

from kafkafs.cli.search_output import SearchOutput
from kafkafs.search.everywhere import VanishedFile
from kafkafs.search.results import Done, FoundLines, Trouble


def output(count=False, names=False, most=None):
    return SearchOutput(argparse.Namespace(count=count, files_with_matches=names, max_count=most))


def test_lines_names_and_counts(capfdbinary):
    events = [FoundLines("a", 2, b"1\n2\n"), FoundLines("a", 1, b"3\n"), Done("a", 5), FoundLines("b", 1, b"4\n")]
    for made, wanted in ((output(), b"1\n2\n3\n4\n"), (output(most=1), b"1\n4\n"), (output(names=True), b"a\nb\n")):
        silent = [each._replace(lines=b"") if isinstance(each, FoundLines) else each for each in events]
        with made:
            assert all(map(made.show, silent if wanted == b"a\nb\n" else events))
            made.write_counts(["a", "b", "c"])
        assert (capfdbinary.readouterr().out, made.code()) == (wanted, 0)
    made = output(count=True)
    made.show(FoundLines("a", 2, b""))
    made.write_counts(["a", "b"])
    assert capfdbinary.readouterr().out == b"a:2\nb:0\n"


def test_exit_codes(capsys):
    made = output()
    assert not made.show(VanishedFile("x"))
    assert made.code() == 1
    made.show(Trouble("a", "torn"))
    made.show(Trouble("a", "torn"))
    assert made.code() == 2
    assert capsys.readouterr().err == "kafkafs: torn\n"
