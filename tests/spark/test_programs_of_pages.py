"""Programs for Spark that stand on pages, in the session of the tests: `getOrCreate` gives a page that one."""

from contextlib import redirect_stdout
from io import StringIO

import pytest
from pyspark.sql import SparkSession

from tests.pages import DOCS, ROOT, Session, blocks

README = ROOT / "README.md"


@pytest.fixture
def printed(session: Session, spark: SparkSession):
    """`printed(program)` is what a page's program prints on the sample."""

    def run(program: str) -> str:
        with redirect_stdout(StringIO()) as out:
            exec(compile(session.real(program), "page", "exec"), {"__name__": "__main__"})
        return out.getvalue()

    return run


def test_the_lines_of_the_readme_print_what_it_says(printed):
    (program,), (said,) = blocks(README, "python"), blocks(README, "text")
    assert printed(program).strip() == said.strip()


def test_the_python_of_the_spark_page_runs(printed):
    program = "".join(blocks(DOCS / "spark.md", "python") + blocks(DOCS / "spark.md", "py-values"))
    assert printed(program).split() == ["341", "88", "27"]
