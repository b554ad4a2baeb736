"""What `kafkafs profile` may be given."""

from pathlib import Path

from tests.cli.arguments.parsing import parsed, refusal


def test_it_takes_directories_and_a_page_to_write():
    arguments = parsed("profile", "one", "two", "--html", "page.html", "--replicas", "refuse")
    assert (arguments.data_dirs, arguments.html, arguments.replicas) == (["one", "two"], Path("page.html"), "refuse")


def test_the_page_has_to_be_named(capsys):
    assert refusal(capsys, "profile", "data").endswith("the following arguments are required: --html")
