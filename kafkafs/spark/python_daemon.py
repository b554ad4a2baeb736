"""The parent of Spark's Python processes: PySpark's own, of the PySpark that is installed here.

Spark puts a zip of PySpark's sources before all else, and Python keeps nothing compiled of a zip: the first tasks of a
session waited half a second for that. `python -m` comes here before it imports PySpark. `session` names it to Spark.
"""

import os
import runpy
import sys
from pathlib import Path

_ZIPS = Path("python", "lib")  # in Spark's home


def settings(home: Path, installed: Path) -> dict[str, str]:
    """Return the settings for Spark, if a home and PySpark's directory are given. Return nothing if tasks run another
    PySpark."""
    if home.resolve() != installed.resolve() or os.environ.get("PYSPARK_PYTHON") != sys.executable:
        return {}
    return {"spark.python.daemon.module": __name__}


def main() -> None:
    """Runs PySpark's parent of processes under the same command line."""
    zips = Path(os.environ.get("SPARK_HOME", ""), _ZIPS)
    sys.path[:] = [place for place in sys.path if Path(place).parent != zips]
    runpy.run_module("pyspark.daemon", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
