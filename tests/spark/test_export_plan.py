"""Plans as they are written down; what whole exports do with them is in `test_export_job`."""

import json

import pytest

from kafkafs.errors import UsageError
from kafkafs.spark.export import export_plan
from kafkafs.spark.export.output import output
from kafkafs.spark.export.settling import settle
from tests.spark.test_export_job import request


def test_a_plan_keeps_its_id_and_one_of_an_earlier_release_has_none(tmp_path):
    out, wanted = output(str(tmp_path / "out")), request("partitions")
    made = settle(out, wanted)
    assert made.has_place_columns
    export_plan.save(out, wanted, made)
    assert settle(out, wanted).id == made.id
    file = tmp_path / "out" / export_plan.PLAN
    for id_ in ("", None, 7, "../x"):
        file.write_text(json.dumps(json.loads(file.read_text()) | {"id": id_}))
        assert not settle(out, wanted).has_place_columns


@pytest.mark.parametrize("text", [b"", b"[]", b"{}", b'{"version":9,"files":[]}', b"[" * 99_999])
def test_what_is_no_plan_has_no_files(text, tmp_path):
    with pytest.raises(UsageError, match="is no plan of an export, or another release's"):
        export_plan.units_of(output(str(tmp_path)), text)


def test_files_are_those_of_the_request(tmp_path):
    out, wanted = output(str(tmp_path / "out")), request("partitions")
    made = settle(out, wanted)
    export_plan.save(out, wanted, made)
    reported, units = export_plan.units_of(out, (tmp_path / "out" / export_plan.PLAN).read_bytes())
    assert units == made.units
    assert reported["request"] == wanted.words()
