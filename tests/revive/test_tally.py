"""What a scan says of losses: the first ones by themselves, the number of all."""

from kafkafs.revive.tally import Loss, Tally


def test_of_many_losses_the_first_are_named():
    """A disk that is damaged all over must not make a report that nobody can open."""
    tally = Tally(0, 0)
    for offset in range(1000):
        tally.add_loss(Loss(offset, offset, "damaged", is_damage=True))
    assert tally.lost == 1000
    assert [each.first for each in tally.losses] == [*range(100)]
