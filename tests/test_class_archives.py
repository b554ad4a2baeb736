"""The environment in which tests start Java's programs."""

from tests import class_archives


def test_spark_asks_for_no_address_of_the_machines_name():
    """Regression: on a machine whose name has none, `scripts/setup --test` printed a traceback of Java."""
    assert class_archives.spark()["SPARK_LOCAL_IP"] == "127.0.0.1"
    assert class_archives._environment(())["SPARK_LOCAL_IP"] == "127.0.0.1"
