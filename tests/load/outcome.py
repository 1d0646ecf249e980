"""What a run came to: its tables, and what of it did not hold."""

from __future__ import annotations

import os
from dataclasses import dataclass

from tests.load import accounting
from tests.load.accounting import Account, Request
from tests.load.people import Browser

P95 = 0.4  # seconds
SHARE = 0.8  # of the batch's speed alone
RECOVERED = 10.0  # seconds
WARM = 5.0  # seconds after its first verdict, in which a batch comes to its speed
KINDS = {
    "labellers": ("next", "read a trace", "keep a draft", "submit a label"),
    "leads": ("read a dispute", "decide a dispute"),
    "watchers": ("a batch", "how a batch stands"),
}


@dataclass(frozen=True)
class Options:
    """The size of a run; times in seconds."""

    traces: int = 100_000
    calls: int = 20_000
    seconds: float = 60.0
    alone: float = 20.0
    latency: float = 1.0
    think: tuple[float, float] = (1.0, 3.0)
    labellers: int = 40
    leads: int = 5
    watchers: int = 5
    seed: int = 1
    faults: bool = False


@dataclass(frozen=True)
class Fault:
    """What was done to a server, when, and when the server was there again."""

    name: str
    at: float
    back: float


@dataclass
class Outcome:
    """What a run came to."""

    people: list[Browser]
    failures: list[str]
    counts: list[tuple[float, int]]
    begun: float
    ended: float
    finished: float
    faults: list[Fault]
    computing: dict[str, float]  # processor seconds of each part while the people were there
    labels: Account
    decisions: Account
    batch: dict[str, int]
    broken: list[str]

    @property
    def requests(self) -> list[Request]:
        """All requests of all people."""
        return [one for person in self.people for one in person.ledger.requests]

    def accounts(self) -> dict[str, Account]:
        """Return what was sent against what is kept, by what it is."""
        return {"labels": self.labels, "decisions": self.decisions}

    def until(self, fault: Fault) -> float:
        """Return when the next fault began, or the batch ended."""
        return min((other.at for other in self.faults if other.at > fault.at), default=self.finished)

    def felt(self, fault: Fault) -> float:
        """Return for how many seconds a fault was felt once the server was there again, as far as the next one."""
        felt = accounting.recovery(self.requests, at=fault.at, until=self.until(fault))
        return max(0.0, fault.at + felt - fault.back)

    def speeds(self) -> tuple[float, float, float]:
        """Return the verdicts a second before, beside and after the people."""
        warm = self.counts[0][0] + WARM if self.counts else 0.0
        return (
            accounting.rate(self.counts, begin=warm, end=self.begun),
            accounting.rate(self.counts, begin=self.begun, end=self.ended),
            accounting.rate(self.counts, begin=self.ended, end=self.finished - WARM),
        )


def tell(outcome: Outcome, options: Options) -> None:
    """Print the tables."""
    requests, loops = outcome.requests, dict.fromkeys(KINDS, 0)
    for person in outcome.people:
        loops[person.name.partition("-")[0]] += person.ledger.loops
    numbers = {kind: getattr(options, kind) for kind in KINDS}
    seconds = outcome.ended - outcome.begun
    shortest, longest = options.think
    print(
        f"\n{sum(numbers.values())} people for {seconds:.0f} s, thinking {shortest:g} to {longest:g} s; ",
        end="",
    )
    print(f"a batch of {options.calls:,} calls, replies after {options.latency:g} s\n")
    by_page = {page: numbers[kind] for kind, pages in KINDS.items() for page in pages}
    print("\n".join(accounting.table(requests, by_page)))
    print(
        f"\nlabels {loops['labellers']:,}, decisions {loops['leads']:,}, looks {loops['watchers']:,}; ",
        end="",
    )
    print(f"{len(requests) / seconds:.1f} requests a second")
    before, beside, after = outcome.speeds()
    print(f"verdicts a second: {before:.1f} alone, {beside:.1f} beside the people, {after:.1f} after them")
    for name, found in outcome.accounts().items():
        print(
            f"{name}: {found.acknowledged:,} acknowledged, {len(found.lost)} lost, {len(found.twice)} kept twice, ",
            end="",
        )
        print(f"{len(found.strange)} not as sent, {found.unanswered} sent without an answer")
    print("batch: " + ", ".join(f"{number:,} {name}" for name, number in outcome.batch.items()))
    if not outcome.faults:
        parts = ", ".join(f"{part} {used:.1f}" for part, used in outcome.computing.items())
        print(f"processor seconds in these {seconds:.0f} s on {os.cpu_count()} cores: {parts}")
    for fault in outcome.faults:
        print(f"{fault.name}: away for {fault.back - fault.at:.1f} s, pages recovered ", end="")
        still = accounting.standstill(outcome.counts, begin=fault.at, end=outcome.until(fault))
        print(f"{outcome.felt(fault):.1f} s later; the batch stood still for {still:.1f} s at most")
    for words in accounting.errors(requests):
        print(f"  {words}")


def missed(outcome: Outcome, options: Options) -> list[str]:
    """Return what did not hold."""
    wrong = [*outcome.failures, *outcome.broken]
    for name, found in outcome.accounts().items():
        for word in ("lost", "twice", "strange"):
            if keys := getattr(found, word):
                wrong.append(f"{len(keys)} {name} {word}, such as {keys[0]}")
        if not found.acknowledged:
            wrong.append(f"no {name} were made")
    for name, number in outcome.batch.items():
        wanted = {"left open": 0, "attempts lost": number}.get(name, options.calls)
        if number != wanted:
            wrong.append(f"{name}: {number}, not {wanted}")
    if options.faults:
        felt = {fault.name: outcome.felt(fault) for fault in outcome.faults}
        return wrong + [f"{name}: felt for {time:.1f} s" for name, time in felt.items() if time > RECOVERED]
    wrong += accounting.errors(outcome.requests)
    for page in (page for pages in KINDS.values() for page in pages):
        p95 = accounting.percentile([one.seconds for one in outcome.requests if one.kind == page], 0.95)
        if p95 >= P95:
            wrong.append(f"{page}: p95 {1000 * p95:.0f} ms")
    before, beside, _ = outcome.speeds()
    if beside < SHARE * before:
        wrong.append(f"the batch kept {beside / before:.2f} of its speed")
    return wrong
