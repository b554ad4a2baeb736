"""The page: everything it needs is in it. Light or dark as the reader's system is, and readable on a phone."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from kafkafs.spark.offsets import TopicPartition
from kafkafs.spark.profile.charts import Bar, amount, bars, moment, table
from kafkafs.spark.profile.measure import Numbers
from kafkafs.spark.profile.timeline import over_time

MOST_BARS = 24
_LAGS = (
    *("in order", "up to 1 s behind", "up to 10 s", "up to 1 min"),
    *("up to 10 min", "up to 1 h", "up to 1 day", "more"),
)

_STYLE = """
:root{--ground:#fbfaf8;--card:#fff;--ink:#1d2430;--soft:#5d6675;--line:#e2e0da}
:root{--bar:#2f6f8f;--other:#b5652b;--track:#efede8}
@media (prefers-color-scheme:dark){:root{--ground:#14171c;--card:#1c2027;--ink:#e8e6e1;--soft:#9aa3b2;--line:#2d333d;
--bar:#5aa9cc;--other:#e0955c;--track:#262b34}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink)}
body{font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:87rem;margin:0 auto;padding:2rem 1rem 4rem}
h1{font-size:1.7rem;margin:0 0 .2rem}h2{font-size:1.1rem;margin:0 0 .2rem}
.where,.note,.axis,.none{color:var(--soft);font-size:.9rem;margin:.1rem 0 .8rem;overflow-wrap:anywhere}
section{background:var(--card);border:1px solid var(--line);border-radius:.6rem;padding:1rem 1.1rem;margin:1rem 0}
.facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(8.5rem,1fr));gap:.7rem;padding:0;margin:1.2rem 0}
@media (min-width:60rem){.facts{grid-template-columns:repeat(6,1fr)}}
.facts div{background:var(--card);border:1px solid var(--line);border-radius:.6rem;padding:.6rem .8rem}
.facts b{display:block;font-size:1.25rem;font-variant-numeric:tabular-nums}
.facts span{color:var(--soft);font-size:.85rem}
.pair{display:grid;grid-template-columns:1fr;gap:0 1rem}@media (min-width:48rem){.pair{grid-template-columns:1fr 1fr}}
.bars{list-style:none;margin:0;padding:0}
.bars li{display:grid;grid-template-columns:minmax(5rem,11rem) 1fr 9rem}
.bars li{gap:.6rem;align-items:center;padding:.12rem 0}
.pair .bars li{grid-template-columns:8rem 1fr 8.5rem}
.name{overflow-wrap:anywhere;font-size:.9rem;line-height:1.25}
.told{font-size:.85rem;color:var(--soft);text-align:right;font-variant-numeric:tabular-nums}
.track{background:var(--track);border-radius:.2rem;height:.85rem;overflow:hidden}
.bar{display:block;height:100%;background:var(--bar);min-width:1px}.bar.other{background:var(--other)}
.columns{width:100%;height:10rem;display:block;border-bottom:1px solid var(--line)}
.plot{display:grid;grid-template-columns:auto 1fr;gap:.5rem}
.scale{display:flex;flex-direction:column;justify-content:space-between;margin:0;color:var(--soft);font-size:.8rem;
text-align:right;font-variant-numeric:tabular-nums}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1rem;margin:.3rem 0 0;font-size:.85rem;overflow-wrap:anywhere}
.legend i{display:inline-block;width:.8rem;height:.8rem;border-radius:.2rem;margin-right:.35rem;vertical-align:-.05rem}
.t0{fill:var(--bar);background:var(--bar)}.t1{fill:var(--other);background:var(--other)}
.t2{fill:#7a9a3a;background:#7a9a3a}.t3{fill:#9a6aa8;background:#9a6aa8}.t4{fill:#c9a13b;background:#c9a13b}
.t5{fill:#4aa38a;background:#4aa38a}.t6{fill:#8a8f98;background:#8a8f98}
.axis{display:flex;justify-content:space-between;gap:1rem;margin:.25rem 0;font-size:.8rem}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.82rem;font-variant-numeric:tabular-nums}
th,td{padding:.3rem .4rem;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th:first-child,td:first-child{text-align:left;white-space:normal;overflow-wrap:anywhere;min-width:7rem}
th{color:var(--soft);font-weight:600}
@media (max-width:34rem){main{padding:1.2rem .6rem 3rem}section{padding:.8rem .7rem}
.bars li,.pair .bars li{grid-template-columns:1fr auto;gap:.1rem .6rem}.track{grid-column:1/-1;grid-row:2}}
"""


def page(numbers: Mapping[TopicPartition, Numbers], places: Sequence[str]) -> str:
    """The whole document, for partitions of these data directories."""
    total = _sum(numbers.values())
    topics: dict[str, Numbers] = {}
    for place, each in sorted(numbers.items()):
        topics.setdefault(place.topic, Numbers()).add(each)
    parts = [
        f"<h1>Kafka data profile</h1><p class='where'>{escape(', '.join(places))}</p>",
        _facts(total, len(topics), len(numbers)),
        _volume(topics),
        _section("Partitions by size", _skew(numbers), bars(_largest(numbers))),
        '<div class="pair">',
        _section("Record sizes", "How many; key, value and headers together.", bars(_powers(total.record_sizes))),
        _section("Batch sizes", "How many; as they stand on disk.", bars(_powers(total.batch_sizes), "other")),
        _section("Codecs", "Bytes on disk; how much content each byte holds.", bars(_codecs(total))),
        _section("Timestamp lag", _order(total), bars(_lags(total), "other")),
        "</div>",
        _section("Topics", "The largest first. Keys are counted to about 2 %.", _topics(topics, numbers)),
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>Kafka data profile</title><style>{_STYLE}</style></head>"
        f"<body><main>{''.join(parts)}</main></body></html>\n"
    )


def _volume(topics: Mapping[str, Numbers]) -> str:
    """Records over time of the users' topics: the brokers' own tick all the time, and are named beside."""
    users = {topic: each for topic, each in topics.items() if not topic.startswith("__") and each.volume}
    shown = users or {topic: each for topic, each in topics.items() if each.volume}
    whole = _sum(shown.values())
    volumes = {topic: each.volume_in(whole.step_s) for topic, each in shown.items()}
    note = "By the records' own timestamps, UTC."
    own = {topic: each.records for topic, each in topics.items() if topic not in shown and each.records}
    if own:
        note += f" Without {sum(own.values()):,} records of Kafka's own topics ({', '.join(sorted(own))})."
    return _section("Volume over time", note, over_time(volumes, whole.step_s))


def _sum(numbers: Iterable[Numbers]) -> Numbers:
    total = Numbers()
    for each in numbers:
        total.add(each)
    return total


def _section(title: str, note: str, content: str) -> str:
    return f'<section><h2>{escape(title)}</h2><p class="note">{escape(note)}</p>{content}</section>'


def _facts(total: Numbers, topics: int, partitions: int) -> str:
    span = "no timestamps"
    if total.first_ms is not None and total.last_ms is not None:
        span = f"{moment(total.first_ms // 1000)[:10]} to {moment(total.last_ms // 1000)[:10]}"
    facts = [
        ("records", f"{total.records:,}"), ("on disk", amount(total.size)),
        ("indexes", amount(total.index_size)), ("topics", f"{topics:,}"),
        ("partitions", f"{partitions:,}"), ("segments", f"{total.segments:,}"), ("batches", f"{total.batches:,}"),
        ("different keys", f"~{total.keys:,}"), ("tombstones", f"{total.tombstones:,}"),
        ("in transactions", f"{total.transactional:,}"), ("aborted transactions", f"{total.aborts:,}"),
        ("without a key", f"{total.null_keys:,}"), ("damaged places", f"{total.damaged:,}"),
    ]  # fmt: skip
    cells = "".join(f"<div><b>{escape(value)}</b><span>{escape(name)}</span></div>" for name, value in facts)
    return f'<div class="facts">{cells}</div><p class="where">{escape(span)}</p>'


def _largest(numbers: Mapping[TopicPartition, Numbers]) -> list[Bar]:
    ranked = sorted(numbers.items(), key=lambda item: (-item[1].size, item[0]))
    found = [
        Bar(str(place), each.size, f"{amount(each.size)} · {each.records:,}") for place, each in ranked[:MOST_BARS]
    ]
    rest = _sum([each for _, each in ranked[MOST_BARS:]])
    if len(ranked) > MOST_BARS:
        found.append(Bar(f"{len(ranked) - MOST_BARS:,} more", rest.size, f"{amount(rest.size)} · {rest.records:,}"))
    return found


def _skew(numbers: Mapping[TopicPartition, Numbers]) -> str:
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


def _codecs(total: Numbers) -> list[Bar]:
    ranked = sorted(total.codecs.items(), key=lambda item: -item[1].stored)
    return [
        Bar(name, codec.stored, f"{amount(codec.stored)} · {codec.content / codec.stored if codec.stored else 0:.2f}x")
        for name, codec in ranked
    ]


def _lags(total: Numbers) -> list[Bar]:
    timed = sum(total.lags) or 1
    found = [Bar(name, count, f"{100 * count / timed:.1f} %") for name, count in zip(_LAGS, total.lags, strict=True)]
    if total.untimed:
        found.append(Bar("no timestamp", total.untimed, f"{total.untimed:,}"))
    return found


def _order(total: Numbers) -> str:
    late = sum(total.lags[1:])
    return f"How far a record lies behind the latest before it in its segment: {late:,} records are out of order."


def _minute(milliseconds: int | None) -> str:
    return "-" if milliseconds is None else moment(milliseconds // 1000)[:16]


def _topics(topics: Mapping[str, Numbers], numbers: Mapping[TopicPartition, Numbers]) -> str:
    partitions = Counter(place.topic for place in numbers)
    head = (
        *("topic", "partitions", "records", "on disk", "indexes", "batches", "a batch", "mean size"),
        *("keys", "tombstones", "transactional", "out of order", "oldest", "newest"),
    )
    rows = []
    for topic, each in sorted(topics.items(), key=lambda item: -item[1].size):
        content = sum(codec.content for codec in each.codecs.values())
        rows.append((
            topic, f"{partitions[topic]:,}", f"{each.records:,}", amount(each.size), amount(each.index_size),
            f"{each.batches:,}",
            f"{each.records / each.batches:,.1f}" if each.batches else "0",
            amount(content / each.records) if each.records else "-", f"~{each.keys:,}", f"{each.tombstones:,}",
            f"{each.transactional:,}", f"{sum(each.lags[1:]):,}", _minute(each.first_ms), _minute(each.last_ms),
        ))  # fmt: skip
    return table(head, rows)
