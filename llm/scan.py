"""Finds the JSON-like objects of a reply, outside of its thinking.

The work is bounded by design, not by luck. An object is tried at each top-level "{", at most `MAX_DEPTH`
levels deep, and after a failed try the scan goes on one character later, so that a stray brace in prose
cannot hide the object after it. Every character that a try looks at is counted in `Found.work`; once
`WORK_PER_CHARACTER` times the length is spent, the scan no longer goes back: it goes on where the try
failed. So a text costs at most a constant times its length, whatever it holds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from llm.lenient import BLANK, QUOTES, Failure, Object, Reader

WORK_PER_CHARACTER = 40

_THINKERS = r"(?:seed:)?(?:think|thinking|thought|thoughts|reasoning|scratchpad)"
_OPEN = rf"<{_THINKERS}>|\[THINK\]|◁think▷|<\|channel\|>(?:analysis|commentary)[^<{{]{{0,40}}<\|message\|>"
_CLOSE = rf"</{_THINKERS}>|\[/THINK\]|◁/think▷|<\|channel\|>final<\|message\|>"
_MARK = re.compile(rf"(?P<brace>\{{)|(?P<open>{_OPEN})|(?P<close>{_CLOSE})", re.IGNORECASE)
_END_OF_THOUGHT = re.compile(rf"{_CLOSE}|<\|end\|>", re.IGNORECASE)


@dataclass(frozen=True)
class FoundObject:
    """A complete object in `text[start:end]`.

    `repairs` names what was not JSON; `doubtful` says that its extent is a guess.
    """

    start: int
    end: int
    value: Object
    repairs: frozenset[str]
    doubtful: bool = False


@dataclass(frozen=True)
class Found:
    """What a scan found outside of thinking.

    `unclosed_thinking`: a thinking block never ended. `unfinished`: an object with watched keys never ended.
    `visible`: there is text outside of thinking. `work`: characters looked at by all tries together.
    """

    objects: tuple[FoundObject, ...] = ()
    thinking: bool = False
    unclosed_thinking: bool = False
    unfinished: bool = False
    visible: bool = False
    work: int = 0


def find_objects(text: str, *, watched: frozenset[str]) -> Found:
    """Find the outermost complete objects of `text` outside of thinking, in order.

    `watched` holds the canonical keys that mark the objects of interest. When such an object is broken,
    nothing inside it is offered in its place; when it never ends, the scan ends too, since what follows may
    be inside one of its strings.
    """
    scan = _Scan(text, watched)
    scan.run()
    return Found(
        objects=tuple(scan.objects),
        thinking=scan.thinking,
        unclosed_thinking=scan.unclosed_thinking,
        unfinished=scan.unfinished,
        visible=scan.visible,
        work=scan.work,
    )


class _Scan:
    def __init__(self, text: str, watched: frozenset[str]) -> None:
        self.text, self.watched = text, watched
        self.objects: list[FoundObject] = []
        self.thinking = self.unclosed_thinking = self.unfinished = self.visible = False
        self.work = 0
        self.budget = WORK_PER_CHARACTER * len(text)

    def run(self) -> None:
        at = 0
        while not self.unfinished:
            mark = _MARK.search(self.text, at)
            gap = self.text[at : mark.start() if mark else len(self.text)]
            self.work += len(gap) + 1
            self.visible = self.visible or bool(gap.strip(BLANK))
            if mark is None:
                return
            if mark["brace"]:
                self.visible = True
                at = self._brace(mark.start())
                continue
            self.thinking = True
            if mark["close"]:
                # The template began the thought, so the reply holds only its end: all before it was thinking.
                self.objects.clear()
                self.visible = False
                at = mark.end()
                continue
            end = _END_OF_THOUGHT.search(self.text, mark.end())
            if end is None:
                self.unclosed_thinking = True
                self.work += len(self.text) - mark.end()
                return
            self.work += end.end() - mark.end()
            at = end.end()

    def _brace(self, start: int) -> int:
        """Try an object at `start`; return where the scan goes on."""
        attempt = Reader(self.text, start, self.watched)
        try:
            value = attempt.run()
        except Failure as failure:
            self.work += attempt.work
            return self._after_failure(attempt, failure)
        self.work += attempt.work
        self._keep(attempt, value)
        return attempt.at

    def _after_failure(self, attempt: Reader, failure: Failure) -> int:
        start, failed_at = attempt.start, attempt.at
        if failure.where == "end" and attempt.watched_key_seen:
            self.unfinished = True
            return failed_at
        if self.work > self.budget:
            return max(failed_at, start + 1)
        if failure.where == "string":
            again = Reader(self.text, start, self.watched, loose=True)
            try:
                value = again.run()
            except Failure as second:
                self.work += again.work
                if second.where == "end" and again.watched_key_seen:
                    self.unfinished = True
                    return again.at
            else:
                self.work += again.work
                if again.watched_key_seen or not again.doubtful:
                    self._keep(again, value)
                    return again.at
        if attempt.watched_key_seen:
            end, work = _end_of_braces(self.text, start)
            self.work += work
            return end if end is not None else max(failed_at, start + 1)
        return start + 1

    def _keep(self, attempt: Reader, value: Object) -> None:
        before, after = self.text[attempt.start - 1 : attempt.start], self.text[attempt.at : attempt.at + 1]
        if before and after and QUOTES.get(before) == after:
            return  # somebody else's words, quoted
        self.objects.append(
            FoundObject(attempt.start, attempt.at, value, frozenset(attempt.repairs), attempt.doubtful)
        )


# An unclosed string runs to the end, so that no quote is looked at twice.
_BRACES = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[{}]', re.DOTALL)


def _end_of_braces(text: str, start: int) -> tuple[int | None, int]:
    """Return where the brace at `start` closes (strings skipped) or None, and the work that took."""
    depth = 0
    for match in _BRACES.finditer(text, start):
        if match.group() == "{":
            depth += 1
        elif match.group() == "}":
            depth -= 1
            if depth == 0:
                return match.end(), match.end() - start
    return None, len(text) - start
