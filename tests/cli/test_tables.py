"""Columns side by side; sizes, which `tests/cli/test_ls.py` holds against those of ls(1)."""

from kafkafs.cli.tables import aligned, human


def test_columns_stand_below_each_other_and_numbers_to_the_right():
    table = [("NAME", "SIZE", "WHY"), ("a", "1", ""), ("long name", "12345", "-")]
    assert list(aligned(table, {1})) == ["NAME        SIZE  WHY", "a              1", "long name  12345  -"]


def test_a_size_has_a_unit():
    assert [human(size) for size in (0, 1023, 1024, 10_240, 1 << 20)] == ["0", "1023", "1.0K", "10K", "1.0M"]
