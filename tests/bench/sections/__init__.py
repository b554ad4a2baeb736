"""What is measured, a module each: `run(bench, rounds)` yields results."""

from collections.abc import Callable, Iterator, Mapping

from tests.bench.data import Bench
from tests.bench.measure import Result
from tests.bench.sections import (
    amounts,
    bucket,
    cluster,
    decoded,
    dump,
    grep,
    keys,
    latency,
    listing,
    points,
    revive,
    scale,
    schemas,
    segments,
    sizes,
    spark,
    starting,
    stream,
    tiers,
    topics,
)

Section = Callable[[Bench, int], Iterator[Result]]

SECTIONS: Mapping[str, Section] = {
    "points": points.run,
    "stream": stream.run,
    "decoded": decoded.run,
    "sizes": sizes.run,
    "topics": topics.run,
    "dump": dump.run,
    "listing": listing.run,
    "scale": scale.run,
    "cluster": cluster.run,
    "segments": segments.run,
    "latency": latency.run,
    "keys": keys.run,
    "grep": grep.run,
    "schemas": schemas.run,
    "revive": revive.run,
    "tiers": tiers.run,
    "bucket": bucket.run,
    "spark": spark.run,
    "amounts": amounts.run,
    "starting": starting.run,
}

NEEDED: Mapping[str, tuple[str, ...]] = {"amounts": amounts.TOPICS, "bucket": bucket.TOPICS}
"""The topics that a section reads; sections that are not named here may read all."""
