"""What `kafkafs ls` may be given."""

from tests.cli.arguments.parsing import parsed


def test_without_paths_and_flags_it_lists_the_root():
    arguments = parsed("ls", "data")
    assert (arguments.paths, arguments.long, arguments.all, arguments.directory) == ([], False, False, False)


def test_flags_may_be_joined_as_those_of_ls():
    arguments = parsed("ls", "-lad", "data", "t-0", "u-0")
    assert (arguments.long, arguments.all, arguments.directory) == (True, True, True)
    assert arguments.paths == ["t-0", "u-0"]
    arguments = parsed("ls", "-lhtr", "-R1", "data", "--time-style", "iso")
    assert (arguments.human, arguments.order, arguments.reverse) == (True, "time", True)
    assert (arguments.recursive, arguments.single, arguments.time_style) == (True, True, "iso")
