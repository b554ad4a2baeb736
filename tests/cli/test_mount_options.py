"""The words behind `-o`: what each does, and that a wrong one is answered by a sentence that helps."""

import os
from dataclasses import fields

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafkafs.cli.mount_options import LARGEST_BATCH, UNITS, WORDS, MountOptions, completions, is_known, parse
from kafkafs.errors import UsageError
from kafkafs.log.read_options import ReadOptions


def test_without_a_word_all_is_as_the_contract_has_it(monkeypatch):
    assert parse([]).reading == ReadOptions()
    for user, lets_all_in in ((0, True), (1000, False)):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        assert parse([]).allow_other is lets_all_in


@pytest.mark.parametrize(
    ("word", "name", "value"),
    [
        ("isolation=read_committed", "isolation", "read_committed"),
        ("isolation=read_uncommitted", "isolation", "read_uncommitted"),
        ("corrupt=skip", "corrupt_skip", True),
        ("max_batch=512M", "max_batch", 512 << 20),
        ("cache=keep", "cache_keep", True),
    ],
)
def test_a_word_changes_what_it_names_and_nothing_else(word, name, value):
    before, after = parse([]), parse([word])
    assert getattr(after.reading, name) == value
    assert changed(before, after) <= {name}


def changed(one: MountOptions, other: MountOptions) -> set[str]:
    compared = [field.name for field in fields(one.reading) if field.compare]
    found = {name for name in compared if getattr(one.reading, name) != getattr(other.reading, name)}
    return found | ({"allow_other"} if one.allow_other != other.allow_other else set())


def test_words_are_separated_by_commas_and_the_later_one_wins():
    """fstab joins its options to those of the command line."""
    options = parse(["isolation=read_committed,corrupt=skip", ",max_batch=1,", "isolation=read_uncommitted"])
    reading = options.reading
    assert (reading.isolation, reading.corrupt_skip, reading.max_batch) == ("read_uncommitted", True, 1)
    assert parse(["noallow_other,allow_other"]).allow_other is True
    assert parse(["allow_other,noallow_other"]).allow_other is False


@pytest.mark.parametrize("name", [",", "a,b", "a,ro", ",a,,b,"])
def test_a_comma_behind_a_backslash_is_part_of_the_word(name):
    """As in libfuse and in mount(8). Regression: a tier whose address has a comma could not be named."""
    escaped = name.replace(",", r"\,")
    found = parse([f"ro,tiered=s3://disks/{escaped}?region=x,corrupt=skip", f"tiered_key=k:/{escaped}.pem"]).reading
    assert found.tiered is not None
    assert found.tiered.place == f"s3://disks/{name}?region=x"
    assert str(found.tiered.keys[0][1]) == f"/{name}.pem"
    assert found.corrupt_skip


@given(st.integers(0, 1 << 50), st.sampled_from([*UNITS, "k", "m", "g"]))
@example(LARGEST_BATCH >> 30, "G")
@example(LARGEST_BATCH + 1, "")
def test_a_size_is_a_number_and_a_unit_within_what_a_batch_can_take(number, unit):
    """A batch of terabytes is a slip of the hand, which would be met by a machine without memory."""
    wanted = number * UNITS[unit.upper()]
    word = f"max_batch={number}{unit}"
    if 0 < wanted <= LARGEST_BATCH:
        assert parse([word]).reading.max_batch == wanted
    else:
        with pytest.raises(UsageError, match="max_batch="):
            parse([word])


@pytest.mark.parametrize("value", ["", "M", "-1", "1.5G", "0", "0K", "1T", "1MB", "²", "٣", "1 M", "9" * 5000])
def test_what_is_no_size_is_refused(value):
    with pytest.raises(UsageError, match="max_batch="):
        parse([f"max_batch={value}"])


def test_an_index_directory_has_to_be_there(tmp_path, monkeypatch):
    """The daemon leaves this directory: a relative path would lead elsewhere then."""
    (tmp_path / "indexes").mkdir()
    monkeypatch.chdir(tmp_path)
    assert parse(["index_dir=indexes"]).reading.index_dir == tmp_path / "indexes"
    with pytest.raises(UsageError, match="`kafkafs reindex DATA_DIR --index-dir D` makes one"):
        parse(["index_dir=elsewhere"])
    with pytest.raises(UsageError, match=r"^index_dir='x+' cannot be opened: File name too long$"):
        parse([f"index_dir={'x' * 300}"])


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("isolation=committed", "neither read_uncommitted nor read_committed"),
        ("corrupt=fail", "the only choice is corrupt=skip"),
        ("cache=drop", "the only choice is cache=keep"),
        ("isolation", "the option is written isolation=LEVEL, not 'isolation'"),
        ("index_dir=", "the option is written index_dir=DIR, not 'index_dir='"),
        ("tiered=", "the option is written tiered=SOURCE, not 'tiered='"),
        ("allow_other=yes", "the option is written allow_other, not 'allow_other=yes'"),
        ("rw", "'rw' is refused: the mount is read-only"),
        ("exec", "'exec' is refused: files are data here"),
        ("isolatoin=read_committed", "unknown option 'isolatoin=read_committed'; known are isolation=LEVEL, "),
    ],
)
def test_a_wrong_word_is_answered_with_the_right_one(word, sentence):
    with pytest.raises(UsageError) as caught:
        parse([word])
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "word", ["ro", "defaults", "nosuid,nodev,noatime", "_netdev,nofail", "x-systemd.automount", "comment=mine", "user"]
)
def test_what_mount_8_passes_on_changes_nothing(word):
    """fstab's line has words for systemd and for mount(8) itself."""
    assert changed(parse([]), parse([word])) == set()


@given(st.one_of(st.text(st.characters(exclude_characters=","), min_size=1, max_size=12),
                 st.sampled_from([*(word.form for word in WORDS), "rw", "ro", "x-a", "sync=1"])))  # fmt: skip
def test_a_word_is_known_exactly_where_it_is_not_called_unknown(word):
    """`mount.kafkafs -s` leaves out what is not known, and must not leave out what is refused for a reason."""
    try:
        parse([word])
        unknown = False
    except UsageError as error:
        unknown = "unknown option" in str(error)
    assert is_known(word) is not unknown


def test_what_a_shell_offers_is_taken():
    """Whole options as they stand; where the value is the user's own, up to the `=`."""
    offered = completions()
    assert len(offered) == len(set(offered))
    assert {word.name for word in WORDS} == {each.partition("=")[0] for each in offered}
    for each in offered:
        assert is_known(each)
        if not each.endswith("="):
            parse([each])
