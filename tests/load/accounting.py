"""What counts: requests that failed, what was acknowledged and is not kept, how long a fault was felt. No I/O here."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

SLOW = 5.0  # seconds: a page that takes longer has not recovered

Key = tuple[str, str]  # who, and on what
Values = tuple[str, ...]


@dataclass(frozen=True)
class Request:
    """One request of a person; `error` is empty if it was answered as it should be. Seconds of one clock."""

    kind: str
    begun: float
    seconds: float
    error: str = ""

    @property
    def ended(self) -> float:
        """When the answer was there, or the failure."""
        return self.begun + self.seconds


@dataclass
class Ledger:
    """What one person did: requests, what was sent, and of it what the site said it had taken."""

    requests: list[Request] = field(default_factory=list)
    sent: dict[Key, Values] = field(default_factory=dict)
    acknowledged: dict[Key, Values] = field(default_factory=dict)
    loops: int = 0


@dataclass(frozen=True)
class Account:
    """What was sent against what is kept."""

    acknowledged: int
    lost: tuple[Key, ...]
    twice: tuple[Key, ...]
    strange: tuple[Key, ...]
    unanswered: int  # sent, and no answer came before the end


def account(ledgers: Iterable[Ledger], kept: Iterable[tuple[Key, Values]]) -> Account:
    """Hold what people sent against the rows that are kept.

    Lost: acknowledged, and no row says so. Twice: more than one row for one thing. Strange: a row that says what
    nobody sent.
    """
    rows: dict[Key, list[Values]] = defaultdict(list)
    for key, values in kept:
        rows[key].append(values)
    sent: dict[Key, Values] = {}
    acknowledged: dict[Key, Values] = {}
    for ledger in ledgers:
        sent |= ledger.sent
        acknowledged |= ledger.acknowledged
    return Account(
        acknowledged=len(acknowledged),
        lost=tuple(sorted(key for key, values in acknowledged.items() if values not in rows[key])),
        twice=tuple(sorted(key for key, found in rows.items() if len(found) > 1)),
        strange=tuple(
            sorted(key for key, found in rows.items() if any(one != sent.get(key) for one in found))
        ),
        unanswered=len(sent.keys() - acknowledged.keys()),
    )


def percentile(seconds: Collection[float], share: float) -> float:
    """Return what this share of the times did not exceed; of none, 0."""
    found = sorted(seconds)
    return found[min(len(found) - 1, int(share * len(found)))] if found else 0.0


def recovery(requests: Iterable[Request], *, at: float, until: float) -> float:
    """Return how long a fault was felt: until the last request that failed, or was slow, and ended before `until`."""
    felt = [one.ended for one in requests if at <= one.ended < until and (one.error or one.seconds > SLOW)]
    return max(felt, default=at) - at


def standstill(counts: Sequence[tuple[float, int]], *, begin: float, end: float) -> float:
    """Return the longest time between two moments in which a count, looked at now and then, did not grow."""
    longest, since, before = 0.0, begin, None
    for moment, number in counts:
        if not begin <= moment <= end:
            continue
        if before is not None and number > before:
            longest, since = max(longest, moment - since), moment
        before = number
    return max(longest, end - since)


def rate(counts: Sequence[tuple[float, int]], *, begin: float, end: float) -> float:
    """Return by how much a count grew a second between two moments, as far as it was looked at; 0 if it was not."""
    within = [(moment, number) for moment, number in counts if begin <= moment <= end]
    if len(within) < 2 or within[-1][0] == within[0][0]:
        return 0.0
    return (within[-1][1] - within[0][1]) / (within[-1][0] - within[0][0])


def table(requests: Iterable[Request], people: Mapping[str, int]) -> list[str]:
    """Return the table of requests, by kind of page: how many, how many failed, and how long the others took."""
    by_kind: dict[str, list[Request]] = defaultdict(list)
    for one in requests:
        by_kind[one.kind].append(one)
    lines = [
        "| page | people | requests | errors | p50 | p95 | most |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for kind, found in by_kind.items():
        times = [one.seconds for one in found if not one.error]
        half, most = (f"{1000 * percentile(times, share):.0f} ms" for share in (0.5, 1.0))
        p95 = f"{1000 * percentile(times, 0.95):.0f} ms"
        errors = sum(bool(one.error) for one in found)
        lines.append(f"| {kind} | {people[kind]} | {len(found):,} | {errors} | {half} | {p95} | {most} |")
    return lines


def errors(requests: Iterable[Request]) -> list[str]:
    """Return what went wrong, each with how often, the most frequent first."""
    found = Counter(f"{one.kind}: {one.error}" for one in requests if one.error)
    return [f"{number} x {words}" for words, number in found.most_common()]
