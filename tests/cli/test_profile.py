"""`kafkafs profile` before Spark starts. What the page shows is in tests/spark/test_page.py."""

import subprocess
import sys

from kafkafs.cli.main import main
from kafkafs.installation import install_command
from kafkafs.sample import unpack


def test_a_page_that_could_not_be_written_is_refused_before_the_job(tmp_path, capsys):
    """An hour of reading, and then no page."""
    data = unpack(tmp_path)
    assert main(["profile", str(data), "--html", str(data / "page.html")]) == 2
    assert capsys.readouterr().err.endswith("lies inside a data directory, where nothing is written\n")


def test_without_the_extra_it_is_spark_that_is_missed(tmp_path):
    """Not the one of its libraries that happens to be imported first."""
    words = ["profile", str(unpack(tmp_path)), "--html", str(tmp_path / "page.html")]
    program = (
        "import sys\n"
        "for name in ('pyspark', 'pyarrow', 'jinja2', 'markupsafe'): sys.modules[name] = None\n"
        f"from kafkafs.cli.main import main; sys.exit(main({words!r}))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == f"kafkafs: profile needs Spark: run {install_command('spark')}\n"
    assert not (tmp_path / "page.html").exists()
