"""`scripts/link_pyfuse3.py`: Debian's pyfuse3 in an environment where it fits, and nothing else of Debian's."""

import importlib.metadata
import runpy
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

HERE = EXTENSION_SUFFIXES[0]
link = runpy.run_path(str(Path(__file__).parents[2] / "scripts/link_pyfuse3.py"))["main"]


@pytest.fixture
def site(tmp_path):
    """The packages of a fresh virtual environment."""
    place = tmp_path / "site-packages"
    place.mkdir()
    return place


@pytest.fixture
def packages(tmp_path: Path):
    """Debian's directory with pyfuse3 and a neighbour."""

    def make(version: str, ending: str) -> Path:
        place = tmp_path / "dist-packages"
        for name in ("pyfuse3", f"pyfuse3-{version}.egg-info", "neighbour"):
            (place / name).mkdir(parents=True)
        (place / f"pyfuse3/__init__{ending}").touch()
        (place / "_pyfuse3.py").touch()
        (place / f"pyfuse3-{version}.egg-info/PKG-INFO").write_text(f"Name: pyfuse3\nVersion: {version}\n")
        return place

    return make


@pytest.mark.parametrize(
    ("version", "ending", "fits"),
    [
        ("3.4.0", HERE, True),
        ("3.10.0", HERE, True),  # not older than 3.4, though it sorts before it as text
        ("3.2.1", HERE, False),
        ("3.4.0", ".cpython-27-x86_64-linux-gnu.so", False),
    ],
)
def test_only_a_package_that_fits_is_linked(site, packages, version, ending, fits):
    assert link("3.4", packages(version, ending), site) == (0 if fits else 1)
    names = {path.name for path in site.iterdir()}
    assert names == ({"pyfuse3", "_pyfuse3.py", f"pyfuse3-{version}.egg-info"} if fits else set())


def test_pip_then_finds_it_and_a_second_run_changes_nothing(site, packages):
    place = packages("3.4.0", HERE)
    for _ in range(2):
        assert link("3.4", place, site) == 0
        (found,) = importlib.metadata.distributions(path=[str(site)])
        assert (found.name, found.version) == ("pyfuse3", "3.4.0")
    assert not (site / "neighbour").exists()


def test_links_to_a_package_that_is_gone_are_replaced(site, packages):
    for name in ("pyfuse3", "_pyfuse3.py"):
        (site / name).symlink_to(f"/nowhere/{name}")
    assert link("3.4", packages("3.4.0", HERE), site) == 0
    assert all(path.exists() for path in site.iterdir())


def test_a_compiled_release_is_left_alone(site, packages):
    (site / "pyfuse3-3.5.0.dist-info").mkdir()
    link("3.4", packages("3.4.0", HERE), site)
    assert not (site / "pyfuse3").exists()


def test_no_such_directory_links_nothing(site, tmp_path):
    """A system without Debian's layout."""
    assert link("3.4", tmp_path / "nowhere", site) == 1
