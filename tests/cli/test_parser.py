"""What the commands' arguments have in common."""

import pytest

from kafkafs.cli.parser import build


@pytest.mark.parametrize("command", [["dump", "--files", "x.log"], ["export", "data", "--to", "out"]])
@pytest.mark.parametrize("side", ["from", "to"])
def test_a_time_back_from_now_is_a_value_and_no_flag(command: list[str], side: str) -> None:
    """The help offers `-1h`, and argparse would refuse what begins with a dash."""
    parsed = build(command[:1]).parse_args([*command, f"--{side}-time", "-1h"])
    assert getattr(parsed, f"{side}_time") == "-1h"
