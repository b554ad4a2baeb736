"""The contents of all partitions of some data directories, read by a process for each processor."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing

from kafkafs.disk.in_order import Job, OrderRules, in_order
from kafkafs.log.data_directory import DataDirectory
from kafkafs.overview.contents import Contents, read_contents
from kafkafs.overview.scanning import DirectoryCount

_Task = tuple[int, str]
_Result = tuple[_Task, Contents]


def read_all(
    counts: Sequence[tuple[DataDirectory, DirectoryCount]],
    names: Mapping[int, str],
    show: Callable[[int, int], None],
    processes: int | None = None,
) -> dict[tuple[DataDirectory, str], Contents]:
    """Return the contents by data directory and the partition's name there. `names`: transactional ids by producer id.
    `show` hears how many bytes of how many are done.

    The largest logs come first, so that no process is left alone with one.
    """
    sizes = {
        (number, each.name.directory): each.log_bytes
        for number, (_, counted) in enumerate(counts)
        for each in counted.partitions
    }
    done, total = 0, sum(sizes.values())
    found: dict[tuple[DataDirectory, str], Contents] = {}

    def serve(task: _Task, tell: Callable[[_Result], None]) -> None:
        number, name = task
        tell((task, read_contents(counts[number][0].partition(name))))

    jobs = (Job(f"{number}/{name}", (number, name)) for number, name in sorted(sizes, key=lambda task: -sizes[task]))
    rules = OrderRules[_Result](lambda _: True)
    with closing(in_order(jobs, serve, processes or len(os.sched_getaffinity(0)), rules)) as results:
        for _, (task, contents) in results:
            contents.transactional = {names.get(int(each), each) for each in contents.transactional}
            found[counts[task[0]][0], task[1]] = contents
            done += sizes[task]
            show(done, total)
    return found
