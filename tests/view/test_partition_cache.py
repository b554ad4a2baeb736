"""What is remembered of a partition: one look for each state of its log, as answers are known by theirs."""

from kafkafs.disk.budget import Budget
from kafkafs.log.read_options import ReadOptions
from kafkafs.search.partition_keys import KEY_MEMORY, PartitionKeys
from kafkafs.view.partition_view import PartitionCache
from tests.log.making import log_of, made, partition_of, write_partition


def test_a_log_has_one_look_and_another_log_another(tmp_path):
    """Answers are remembered by the look: a second one of the same log would forget them, and one kept for too
    long would answer for a log that is gone."""
    write_partition(tmp_path, {0: [made(0, [1])]})
    partition, keys = partition_of(tmp_path), PartitionKeys(Budget(KEY_MEMORY))
    cache = PartitionCache(partition, ReadOptions(), keys)
    log, other = partition.log(), log_of(tmp_path)
    first = cache.look_at(log)
    assert cache.look_at(log) is first
    assert (first.log, first.keys) == (log, keys)
    assert cache.look_at(other).log is other
    assert cache.look_at(log) is not first


def test_a_look_sees_what_the_options_let_it_see(tmp_path):
    write_partition(tmp_path, {0: [made(0, [1])]})
    partition = partition_of(tmp_path)
    for isolation in ("read_uncommitted", "read_committed"):
        cache = PartitionCache(partition, ReadOptions(isolation=isolation), PartitionKeys(Budget(KEY_MEMORY)))
        assert cache.look_at(partition.log()).visible.visible.options.isolation == isolation
