"""Java's properties files, held against what `java.util.Properties` reads of the same text."""

import pytest

from kafkafs.format.java_properties import parse_properties

READ = {  # as java.util.Properties.load reads it, tried with Java 17
    "a=b": {"a": "b"},
    "a = b ": {"a": "b"},
    "a:b\na:c": {"a": "c"},
    "a b": {"a": "b"},
    "a": {"a": ""},
    "# a=b\n! c=d\n\n  e=f": {"e": "f"},
    "a=b\\\n   c": {"a": "bc"},
    "a=b\\\\\nc=d": {"a": "b\\", "c": "d"},
    "a\\:b=c\\=d": {"a:b": "c=d"},
    "a\\ b=c": {"a b": "c"},
    "a=\\u0041\\tb": {"a": "A\tb"},
    "\\\n#a=b": {},
    "a=b=c": {"a": "b=c"},
    "a=b\r\nc=d\re=f": {"a": "b", "c": "d", "e": "f"},
    "a=b\\": {"a": "b"},
    "log.dirs=/a,/b\nlog.retention.hours=168": {"log.dirs": "/a,/b", "log.retention.hours": "168"},
}


@pytest.mark.parametrize("text", READ)
def test_a_file_is_read_as_java_reads_it(text):
    assert parse_properties(text) == READ[text]
