"""The page: everything it needs is in it. Light or dark as the reader's system is, and readable on a phone.

This module makes the text of the page. `templates/` has its form.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from kafkafs.format.names import OWN_TOPICS
from kafkafs.spark.profile.charts import Bar, amount, bars, counted, minute, moment, over_time, rendered, table
from kafkafs.spark.profile.figures import Figures, by_topic, sum_of
from kafkafs.tables.offsets import TopicPartition

MOST_BARS = 24
MOST_KEYS = 24
_STAY = (
    "Kafka keeps the active segment, and a segment whose newest record has a time in the future: retention.ms counts "
    "from that record. The broker's next check deletes what is below the log start. The other segments wait; the last "
    "column has the time of the newest record in the next segment to go."
)
_HEAVIEST = (
    "By bytes of key, value and headers, without Kafka's own topics; sums are lower bounds. A key that has most of a "
    "topic makes it uneven."
)
_LAGS = (
    *("in order", "up to 1 s older", "up to 10 s", "up to 1 min"),
    *("up to 10 min", "up to 1 h", "up to 1 day", "more"),
)


def page(numbers: Mapping[TopicPartition, Figures], places: Sequence[str]) -> str:
    """The whole document, for partitions of these data directories."""
    total = sum_of(numbers.values())
    topics = by_topic(numbers)
    sections = [
        _volume(topics),
        _section("Partitions by size", _skew(numbers), bars(_largest(numbers))),
        rendered("pair", [
            _section("Record sizes", "How many; key, value and headers together.", bars(_powers(total.record_sizes))),
            _section("Batch sizes", "How many; their stored size.", bars(_powers(total.batch_sizes), "other")),
            _section("Codecs", "Bytes on disk; how much content each byte holds.", bars(_codecs(total))),
            _section("Timestamp lag", _order(total), bars(_lags(total), "other")),
        ]),
        _section("Topics", "The largest first.", _topics(topics, numbers)),
        _section("Keys, transactions and order", "Keys are counted to about 2 %.", _keys(topics)),
        _section("Why segments stay", _STAY, _stay(topics)),
        _section("Heaviest keys", _HEAVIEST, _heaviest_keys(topics)),
    ]  # fmt: skip
    return rendered("page", places, _facts(total, len(topics), len(numbers)), sections) + "\n"


def _volume(topics: Mapping[str, Figures]) -> Markup:
    """Records over time of the users' topics: the brokers' own tick all the time, and are named beside."""
    shown = _of_users({topic: each for topic, each in topics.items() if each.volume})
    whole = sum_of(shown.values())
    volumes = {topic: each.volume_in(whole.step_s) for topic, each in shown.items()}
    note = "By the records' own timestamps, UTC."
    own = {topic: each.records for topic, each in topics.items() if topic not in shown and each.records}
    if own:
        records = counted(sum(own.values()), "record")
        note += f" Without {records} of Kafka's own topics ({', '.join(sorted(own))})."
    return _section("Volume over time", note, over_time(volumes, whole.step_s))


def _of_users(topics: Mapping[str, Figures]) -> Mapping[str, Figures]:
    """The topics that are not Kafka's own; those where there are no others."""
    return {topic: each for topic, each in topics.items() if topic not in OWN_TOPICS} or topics


def _section(title: str, note: str, content: Markup) -> Markup:
    return rendered("section", title, note, content)


def _facts(total: Figures, topics: int, partitions: int) -> Markup:
    span = "no timestamps"
    if total.first_ms is not None and total.last_ms is not None:
        span = f"{moment(total.first_ms // 1000)[:10]} to {moment(total.last_ms // 1000)[:10]}"
    content = sum(codec.content for codec in total.codecs.values())
    facts = [
        _fact(total.records, "record"), ("on disk", amount(total.size)), ("indexes", amount(total.index_size)),
        ("a record, on average", amount(content / total.records) if total.records else "-"),
        _fact(topics, "topic"), _fact(partitions, "partition"), _fact(total.segments, "segment"),
        _fact(total.batches, "batch", "batches"), ("different keys", f"~{total.keys:,}"),
        ("without a key", f"{total.null_keys:,}"), _fact(total.tombstones, "tombstone"),
        ("in transactions", f"{total.transactional:,}"), _fact(total.aborts, "aborted transaction"),
        _fact(total.damaged, "damaged place"),
    ]  # fmt: skip
    return rendered("facts", facts, span)


def _fact(count: int, one: str, more: str | None = None) -> tuple[str, str]:
    """The name of a count, and the number."""
    number, _, name = counted(count, one, more).partition(" ")
    return name, number


def _largest(numbers: Mapping[TopicPartition, Figures]) -> list[Bar]:
    ranked = sorted(numbers.items(), key=lambda item: (-item[1].size, item[0]))
    found = [
        Bar(str(place), each.size, f"{amount(each.size)} · {each.records:,}") for place, each in ranked[:MOST_BARS]
    ]
    rest = sum_of([each for _, each in ranked[MOST_BARS:]])
    if len(ranked) > MOST_BARS:
        found.append(Bar(f"{len(ranked) - MOST_BARS:,} more", rest.size, f"{amount(rest.size)} · {rest.records:,}"))
    return found


def _skew(numbers: Mapping[TopicPartition, Figures]) -> str:
    """The topic whose partitions differ most."""
    sizes: dict[str, list[int]] = {}
    for place, each in numbers.items():
        sizes.setdefault(place.topic, []).append(each.size)
    skews = {topic: max(each) * len(each) / sum(each) for topic, each in sizes.items() if len(each) > 1 and any(each)}
    if not skews:
        return "Bytes and records."
    topic = max(skews, key=lambda name: skews[name])
    return f"Bytes and records. Most uneven: {topic}, its largest partition has {skews[topic]:.1f} times the average."


def _powers(histogram: Counter[int]) -> list[Bar]:
    if not histogram:
        return []
    powers = range(min(histogram), max(histogram) + 1)
    return [Bar(_power(power), histogram[power], f"{histogram[power]:,}") for power in powers]


def _power(power: int) -> str:
    return "empty" if power == 0 else f"below {_binary(1 << power)}"


def _binary(size: int) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{size} {unit}"
        size //= 1024
    raise AssertionError("the last unit takes all")


def _codecs(total: Figures) -> list[Bar]:
    ranked = sorted(total.codecs.items(), key=lambda item: -item[1].stored)
    return [
        Bar(name, codec.stored, f"{amount(codec.stored)} · {codec.content / codec.stored if codec.stored else 0:.2f}x")
        for name, codec in ranked
    ]


def _lags(total: Figures) -> list[Bar]:
    timed = sum(total.lags) or 1
    found = [Bar(name, count, f"{100 * count / timed:.1f} %") for name, count in zip(_LAGS, total.lags, strict=True)]
    if total.untimed:
        found.append(Bar("no timestamp", total.untimed, f"{total.untimed:,}"))
    return found


def _order(total: Figures) -> str:
    out_of_order = sum(total.lags[1:])
    sentence = f"{counted(out_of_order, 'record')} {'is' if out_of_order == 1 else 'are'} out of order"
    return f"How much older a record is than the newest one before it in its segment: {sentence}."


def _topics(topics: Mapping[str, Figures], numbers: Mapping[TopicPartition, Figures]) -> Markup:
    partitions = Counter(place.topic for place in numbers)
    head = (
        *("topic", "partitions", "records", "on disk", "indexes", "batches", "a batch", "mean size"),
        *("oldest", "newest"),
    )
    rows = []
    for topic, each in _largest_first(topics):
        content = sum(codec.content for codec in each.codecs.values())
        rows.append((
            topic, f"{partitions[topic]:,}", f"{each.records:,}", amount(each.size), amount(each.index_size),
            f"{each.batches:,}",
            f"{each.records / each.batches:,.1f}" if each.batches else "0",
            amount(content / each.records) if each.records else "-", minute(each.first_ms), minute(each.last_ms),
        ))  # fmt: skip
    return table(head, rows)


def _keys(topics: Mapping[str, Figures]) -> Markup:
    head = ("topic", "records", "keys", "without a key", "tombstones", "in transactions", "out of order")
    rows = [
        (
            topic, f"{each.records:,}", f"~{each.keys:,}", f"{each.null_keys:,}", f"{each.tombstones:,}",
            f"{each.transactional:,}", f"{sum(each.lags[1:]):,}",
        )
        for topic, each in _largest_first(topics)
    ]  # fmt: skip
    return table(head, rows)


def _largest_first(topics: Mapping[str, Figures]) -> list[tuple[str, Figures]]:
    return sorted(topics.items(), key=lambda item: -item[1].size)


def _stay(topics: Mapping[str, Figures]) -> Markup:
    head = (
        *("topic", "segments", "on disk", "written to", "from the future", "until"),
        *("below the log start", "without times", "waiting", "since"),
    )
    rows = []
    for topic, each in _largest_first(topics):
        kept = each.kept
        sizes = [amount(size) for size in (kept.below_start, kept.untimed, kept.waiting)]
        rows.append((
            topic, f"{each.segments:,}", amount(each.size), amount(kept.active), amount(kept.future),
            minute(kept.future_until_ms), *sizes, minute(kept.waits_since_ms),
        ))  # fmt: skip
    return table(head, rows)


def _heaviest_keys(topics: Mapping[str, Figures]) -> Markup:
    found = [(topic, key) for topic, each in _of_users(topics).items() for key in each.top_keys.heaviest(MOST_KEYS)]
    rows = []
    for topic, key in sorted(found, key=lambda item: (-item[1].size, item))[:MOST_KEYS]:
        content = sum(codec.content for codec in topics[topic].codecs.values())
        share = f"{100 * key.size / content:.1f} %" if content else "-"
        shown = key.shown.decode("utf-8", "backslashreplace")
        rows.append((shown, topic, amount(key.size), share, f"{key.records:,}", amount(key.size / key.records)))
    return table(("key", "topic", "bytes", "of the topic", "records", "mean size"), rows)
