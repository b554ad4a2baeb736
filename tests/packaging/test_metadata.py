"""What the package says of itself to `pip`: its requirements leave alone what a platform has installed."""

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.spark.releases.test_releases import RELEASES

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]


@pytest.mark.parametrize("installed", [*RELEASES, "4.0.0", "4.1.0+platform.7"])
def test_the_extra_keeps_a_platforms_own_pyspark(installed):
    """`pip` replaces what does not meet a requirement: a cluster's Spark would be gone from its drivers."""
    found = [Requirement(each) for each in PROJECT["optional-dependencies"]["spark"]]
    pyspark = next(each for each in found if each.name == "pyspark")
    assert pyspark.specifier.contains(installed)


def test_nothing_without_an_extra_brings_spark_or_fuse():
    names = {Requirement(each).name for each in PROJECT["dependencies"]}
    assert not names & {"pyspark", "pyarrow", "pyfuse3", "trio", "pyseccomp"}
