"""What could not be read, in sentences: as many as a person reads, and how many more there are."""

from collections.abc import Iterator

from kafkafs.format.messages.records import InternalTopic, Problem, Unreadable

MOST = 100


class Problems:
    """Sentences in the order in which they were found, each once."""

    def __init__(self) -> None:
        self._sentences: dict[str, None] = {}
        self._records: dict[tuple[str, str], list[int]] = {}  # place, what: how many, and the first one's offset
        self._left_out = 0

    def add(self, sentence: str) -> None:
        """One more sentence."""
        if sentence in self._sentences:
            return
        if len(self._sentences) < MOST:
            self._sentences[sentence] = None
        else:
            self._left_out += 1

    def add_record(self, place: str, offset: int, what: str) -> None:
        """One more record of which the same is wrong: thousands of them are one sentence."""
        known = self._records.get((place, what))
        if known is not None:
            known[0] += 1
        elif len(self._records) < MOST:
            self._records[place, what] = [1, offset]
        else:
            self._left_out += 1

    def __iter__(self) -> Iterator[str]:
        yield from self._sentences
        for (place, what), (count, first) in self._records.items():
            more = f", and so are {count - 1:,} records behind it" if count > 1 else ""
            yield f"{place}: offset {first}: {what}{more}"
        if self._left_out:
            yield f"{self._left_out:,} more problems like these"


def what_is_wrong(record: Unreadable) -> str:
    """In words that follow the record's offset."""
    if record.problem is Problem.UNKNOWN_TYPE:
        return f"it is of type {record.number}, which only a newer Kafka knows"
    kind = "the metadata" if record.number is None else f"type {record.number}"
    if record.topic is InternalTopic.CLUSTER_METADATA:
        return f"it is no record of {kind}"
    return f"it is no record of {kind} ({record.reason.removesuffix(' due to: null.')})"
