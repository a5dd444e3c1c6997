"""
The laws of `relevo.log.log.Log`, for every log there is.

A log of your own: subclass `LogContract` and give it a fixture `log` that yields an empty one and closes it.
"""

from __future__ import annotations

import asyncio
import random
from contextlib import aclosing
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from relevo.errors import InvalidValue, LeaseLost, LogClosed, LogMoved, NotJson, SessionNotFound
from relevo.events import (
    Body,
    Event,
    SessionCreated,
    SessionIdle,
    SessionRunning,
    SessionUpdated,
    ToolEnded,
    Unknown,
    UserMessage,
)
from relevo.log import MAX_EVENT_BYTES, Log, Snapshot

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
S = "sesn_1"


def created(**changed: Any) -> SessionCreated:
    return SessionCreated(agent={"name": "clerk"}, **changed)


def said(text: str) -> UserMessage:
    return UserMessage(content=[{"type": "text", "text": text}])


def ended(data: Any) -> ToolEnded:
    return ToolEnded(tool_use_id="sevt_1_2.0", name="look", content="", data=data)


async def begun(log: Log, session_id: str = S, *more: Body) -> int:
    return await log.append(session_id, [created(), *more], expected=0, at=NOW)


def texts(events: list[Event]) -> list[str]:
    return [event.body.content[0]["text"] for event in events if isinstance(event.body, UserMessage)]


async def turns(count: int = 20) -> None:
    """Let other tasks run, without a clock."""
    for _ in range(count):
        await asyncio.sleep(0)


class LogContract:
    @pytest.fixture
    def log(self) -> Log:
        raise NotImplementedError

    # Appending

    async def test_what_is_appended_is_read_at_its_position(self, log: Log) -> None:
        bodies: list[Body] = [created(), said("a"), said("b")]

        assert await log.append(S, bodies, expected=0, at=NOW) == 3
        assert await log.read(S) == [Event(S, place, NOW, body) for place, body in enumerate(bodies, 1)]

    async def test_appending_goes_on_from_the_last_position(self, log: Log) -> None:
        head = await begun(log)

        head = await log.append(S, [said("a")], expected=head, at=NOW)
        head = await log.append(S, [said("b"), said("c")], expected=head, at=NOW)

        assert head == 4
        assert texts(await log.read(S)) == ["a", "b", "c"]

    @pytest.mark.parametrize("expected", [0, 1, 3, 99])
    async def test_another_position_than_the_last_is_refused_and_changes_nothing(self, log: Log, expected: int) -> None:
        await begun(log, S, said("a"))
        bodies: list[Body] = [said("b")] if expected else [created()]

        with pytest.raises(LogMoved) as caught:
            await log.append(S, bodies, expected=expected, at=NOW)

        assert (caught.value.expected, caught.value.actual) == (expected, 2)
        assert len(await log.read(S)) == 2

    async def test_a_session_that_is_not_there_cannot_be_continued(self, log: Log) -> None:
        with pytest.raises(SessionNotFound):
            await log.append(S, [said("a")], expected=1, at=NOW)
        with pytest.raises(SessionNotFound):
            await log.read(S)
        with pytest.raises(SessionNotFound):
            await log.claim(S)

    async def test_of_many_writers_at_one_position_exactly_one_wins(self, log: Log) -> None:
        head = await begun(log)

        outcomes = await asyncio.gather(
            *(log.append(S, [said(str(n))], expected=head, at=NOW) for n in range(20)), return_exceptions=True
        )

        assert sorted(type(one).__name__ for one in outcomes) == ["LogMoved"] * 19 + ["int"]
        assert len(await log.read(S)) == 2

    @pytest.mark.parametrize("bodies", [[said("a")], [said("a"), created()], [created(), created()]])
    async def test_a_log_begins_with_session_created_and_has_no_other(self, log: Log, bodies: list[Body]) -> None:
        with pytest.raises(InvalidValue):
            await log.append(S, bodies, expected=0, at=NOW)
        with pytest.raises(SessionNotFound):
            await log.read(S)

    async def test_session_created_cannot_come_later(self, log: Log) -> None:
        head = await begun(log)

        with pytest.raises(InvalidValue):
            await log.append(S, [created()], expected=head, at=NOW)

    async def test_nothing_appended_is_only_a_question_about_the_position(self, log: Log) -> None:
        assert await log.append(S, [], expected=0, at=NOW, flush=True) == 0
        assert await log.sessions() == []
        head = await begun(log)

        assert await log.append(S, [], expected=head, at=NOW, flush=True) == head
        with pytest.raises(LogMoved):
            await log.append(S, [], expected=head + 1, at=NOW)

    @pytest.mark.parametrize("session_id", ["", "a\0b", "half \ud83d", "line\nbreak"])
    async def test_an_id_that_is_no_text_for_people_is_refused(self, log: Log, session_id: str) -> None:
        with pytest.raises(InvalidValue):
            await begun(log, session_id)
        with pytest.raises(SessionNotFound):
            await log.read(session_id)

    async def test_a_negative_position_is_refused(self, log: Log) -> None:
        with pytest.raises(InvalidValue):
            await log.append(S, [], expected=-1, at=NOW)

    async def test_flushed_events_are_stored_like_others(self, log: Log) -> None:
        head = await log.append(S, [created()], expected=0, at=NOW, flush=True)

        assert await log.append(S, [said("a")], expected=head, at=NOW, flush=True) == 2

    # Values

    @pytest.mark.parametrize(
        "bad",
        [float("nan"), float("inf"), NOW, b"x", {1, 2}, object(), {"a": [{"b": NOW}]}, 10**5000],
        ids=["nan", "inf", "datetime", "bytes", "set", "object", "deep", "huge int"],
    )
    async def test_b117_b211_a_value_json_cannot_say_is_refused_and_nothing_is_held(self, log: Log, bad: Any) -> None:
        head = await begun(log)

        with pytest.raises(NotJson):
            await log.append(S, [said("before"), ended(bad)], expected=head, at=NOW)

        assert await log.append(S, [said("after")], expected=head, at=NOW) == head + 1
        assert texts(await log.read(S)) == ["after"]

    async def test_b211_a_cyclic_value_is_refused(self, log: Log) -> None:
        head = await begun(log)
        cyclic: list[Any] = []
        cyclic.append({"again": cyclic})

        with pytest.raises(NotJson):
            await log.append(S, [ended(cyclic)], expected=head, at=NOW)

        assert await log.append(S, [said("after")], expected=head, at=NOW) == head + 1

    async def test_b122_half_a_surrogate_pair_is_stored_clean(self, log: Log) -> None:
        head = await begun(log)

        await log.append(
            S, [said("ok \ud83d"), said("\ud83d\ude00 joined"), said("\0 and \u2028")], expected=head, at=NOW
        )

        assert texts(await log.read(S)) == ["ok \ufffd", "\U0001f600 joined", "\0 and \u2028"]

    async def test_an_event_that_is_too_large_is_refused(self, log: Log) -> None:
        head = await begun(log)

        with pytest.raises(InvalidValue, match="bytes"):
            await log.append(S, [said("x" * MAX_EVENT_BYTES)], expected=head, at=NOW)

    async def test_a_large_event_is_stored_whole(self, log: Log) -> None:
        head = await begun(log)
        big = "0123456789abcdef" * 131_072

        await log.append(S, [said(big), said("small")], expected=head, at=NOW)

        assert texts(await log.read(S)) == [big, "small"]

    async def test_nothing_mutable_is_shared_with_the_log(self, log: Log) -> None:
        block: dict[str, Any] = {"type": "text", "text": "a"}
        head = await begun(log)
        await log.append(S, [UserMessage(content=[block])], expected=head, at=NOW)

        block["text"] = "changed by the writer"
        first = (await log.read(S, after=head))[0].body
        assert isinstance(first, UserMessage)
        first.content[0]["text"] = "changed by a reader"  # type: ignore[index]  # what a careless reader would do

        assert texts(await log.read(S)) == ["a"]

    async def test_an_unknown_kind_is_kept(self, log: Log) -> None:
        strange = Unknown(unknown_kind="agent.dreamt", version=7, data={"of": ["sheep", None, 1.5]})
        head = await begun(log)

        await log.append(S, [strange], expected=head, at=NOW)

        assert (await log.read(S, after=head))[0].body == strange

    # Time

    async def test_b198_b222_order_is_the_position_whatever_the_clock_says(self, log: Log) -> None:
        head = await begun(log)
        times = [NOW, NOW, NOW - timedelta(hours=1), NOW + timedelta(microseconds=1), NOW]

        for number, at in enumerate(times):
            head = await log.append(S, [said(str(number))], expected=head, at=at)

        events = await log.read(S, after=1)
        assert texts(events) == ["0", "1", "2", "3", "4"]
        assert [event.at for event in events] == times

    async def test_b198_a_time_is_the_same_moment_in_utc(self, log: Log) -> None:
        there = datetime(2026, 12, 1, 12, 0, 0, 123457, tzinfo=timezone(timedelta(hours=-5, minutes=-30)))

        await log.append(S, [created()], expected=0, at=there)

        at = (await log.read(S))[0].at
        assert at == there
        assert at.utcoffset() == timedelta(0)

    async def test_b198_a_naive_time_is_refused(self, log: Log) -> None:
        with pytest.raises(InvalidValue, match="time zone"):
            await log.append(S, [created()], expected=0, at=NOW.replace(tzinfo=None))

    # Leases

    async def test_each_claim_raises_the_epoch_and_tells_where_the_log_ends(self, log: Log) -> None:
        await begun(log, S, said("a"))

        first = await log.claim(S)
        second = await log.claim(S)

        assert second.epoch == first.epoch + 1
        assert first.head == second.head == 2
        assert first.session_id == S

    async def test_an_older_holder_is_refused_also_at_the_right_position(self, log: Log) -> None:
        head = await begun(log)
        zombie = await log.claim(S)
        owner = await log.claim(S)

        with pytest.raises(LeaseLost) as caught:
            await log.append(S, [said("from the dead")], expected=head, at=NOW, epoch=zombie.epoch)
        head = await log.append(S, [said("alive")], expected=head, at=NOW, epoch=owner.epoch)

        assert (caught.value.epoch, caught.value.newest) == (zombie.epoch, owner.epoch)
        assert texts(await log.read(S)) == ["alive"]

    async def test_a_zombie_is_told_to_stop_not_to_read_again(self, log: Log) -> None:
        head = await begun(log)
        zombie = await log.claim(S)
        owner = await log.claim(S)
        await log.append(S, [said("a")], expected=head, at=NOW, epoch=owner.epoch)

        with pytest.raises(LeaseLost):
            await log.append(S, [said("b")], expected=head, at=NOW, epoch=zombie.epoch)
        with pytest.raises(LeaseLost):
            await log.append(S, [], expected=head, at=NOW, epoch=zombie.epoch)

    async def test_who_claims_learns_whether_the_holder_before_is_gone(self, log: Log) -> None:
        await begun(log)
        first = await log.claim(S)
        second = await log.claim(S)
        await log.release(first)
        third = await log.claim(S)
        await log.release(third)
        fourth = await log.claim(S, take_over=True)

        assert [lease.alone for lease in (first, second, third, fourth)] == [True, False, False, True]

    async def test_who_only_speaks_needs_no_lease(self, log: Log) -> None:
        head = await begun(log)
        lease = await log.claim(S)

        head = await log.append(S, [said("from outside")], expected=head, at=NOW)

        assert await log.append(S, [said("mine")], expected=head, at=NOW, epoch=lease.epoch) == 3

    async def test_a_lease_of_one_session_says_nothing_about_another(self, log: Log) -> None:
        await begun(log, "sesn_a")
        head = await begun(log, "sesn_b")
        await log.claim("sesn_a")
        lease = await log.claim("sesn_b")
        await log.claim("sesn_a")

        assert await log.append("sesn_b", [said("x")], expected=head, at=NOW, epoch=lease.epoch) == 2

    # Reading

    async def test_a_range_is_after_up_to_and_with_until(self, log: Log) -> None:
        await begun(log, S, *(said(str(n)) for n in range(2, 11)))

        async def places(**range_: Any) -> list[int]:
            return [event.position for event in await log.read(S, **range_)]

        assert await places(after=7) == [8, 9, 10]
        assert await places(after=3, until=5) == [4, 5]
        assert await places(until=2) == [1, 2]
        assert (
            await places(after=10)
            == await places(after=99)
            == await places(until=0)
            == await places(after=5, until=3)
            == []
        )
        assert await places(after=-5, until=10**12) == list(range(1, 11))

    async def test_only_the_kinds_asked_for_are_read(self, log: Log) -> None:
        await begun(log, S, said("a"), ended(1), said("b"))

        assert [e.position for e in await log.read(S, kinds=["user.message"])] == [2, 4]
        assert [e.position for e in await log.read(S, after=2, kinds={"user.message", "tool.ended"})] == [3, 4]
        assert await log.read(S, kinds=[]) == await log.read(S, kinds=["no.such"]) == []

    async def test_a_long_log_is_read_whole_and_in_order(self, log: Log) -> None:
        await begun(log, S, *(said(str(n)) for n in range(2, 1001)))

        assert [e.position for e in await log.read(S)] == list(range(1, 1001))
        assert [e.position for e in await log.read(S, after=10, until=900)] == list(range(11, 901))

    async def test_sessions_do_not_mix(self, log: Log) -> None:
        heads = {name: await begun(log, name) for name in ("sesn_a", "sesn_b", "sesn_é")}
        rng = random.Random(7)
        wanted: dict[str, list[str]] = {name: [] for name in heads}

        for number in range(100):
            name = rng.choice(list(heads))
            heads[name] = await log.append(name, [said(str(number))], expected=heads[name], at=NOW)
            wanted[name].append(str(number))

        assert {name: texts(await log.read(name)) for name in heads} == wanted

    # Following

    async def test_a_follower_sees_what_is_there_and_what_comes_each_once(self, log: Log) -> None:
        head = await begun(log, S, said("a"))
        seen: list[int] = []

        async def watch() -> None:
            async with aclosing(log.follow(S)) as events:  # type: ignore[type-var]  # every generator has aclose
                async for event in events:
                    seen.append(event.position)
                    if event.position == 52:
                        return

        watching = asyncio.create_task(watch())
        for number in range(50):
            head = await log.append(S, [said(str(number))], expected=head, at=NOW)
            await asyncio.sleep(0)
        await asyncio.wait_for(watching, 10)

        assert seen == list(range(1, 53))

    async def test_a_follower_may_begin_in_the_middle_and_several_may_follow(self, log: Log) -> None:
        head = await begun(log, S, said("a"), said("b"))
        first, second = log.follow(S, after=2), log.follow(S, after=3)

        assert (await anext(first)).position == 3
        await log.append(S, [said("c")], expected=head, at=NOW)

        assert (await anext(first)).position == (await anext(second)).position == 4
        for one in (first, second):
            await one.aclose()  # type: ignore[attr-defined]  # every generator has it

    async def test_following_ends_when_the_log_is_closed(self, log: Log) -> None:
        await begun(log)

        async def watch() -> list[int]:
            return [event.position async for event in log.follow(S)]

        watching = asyncio.create_task(watch())
        await turns()
        await log.close()

        assert await asyncio.wait_for(watching, 10) == [1]

    async def test_a_follower_that_is_cancelled_leaves_the_others(self, log: Log) -> None:
        head = await begun(log)

        async def next_of(events: Any) -> Event:
            event: Event = await anext(events)
            return event

        one, other = log.follow(S, after=head), log.follow(S, after=head)
        leaving, staying = asyncio.create_task(next_of(one)), asyncio.create_task(next_of(other))
        await turns()
        leaving.cancel()
        await asyncio.wait([leaving])
        await log.append(S, [said("a")], expected=head, at=NOW)

        assert (await asyncio.wait_for(staying, 10)).position == 2
        await other.aclose()  # type: ignore[attr-defined]

    async def test_a_session_that_is_not_there_cannot_be_followed(self, log: Log) -> None:
        with pytest.raises(SessionNotFound):
            await anext(log.follow(S))

    # Lists

    async def test_sessions_are_listed_newest_first_and_in_pages(self, log: Log) -> None:
        ids = [f"sesn_{n}" for n in range(7)]
        for session_id in ids:
            await begun(log, session_id)
        await log.append(ids[0], [said("later, but not younger")], expected=1, at=NOW)

        first = [info.id for info in await log.sessions(limit=3)]
        second = [info.id for info in await log.sessions(limit=3, before=first[-1])]
        third = [info.id for info in await log.sessions(limit=3, before=second[-1])]

        assert first + second + third == ids[::-1]
        assert await log.sessions(before=ids[0]) == []

    async def test_a_line_of_the_list_says_what_the_log_says(self, log: Log) -> None:
        later = NOW + timedelta(minutes=1)
        head = await log.append(S, [created(title="old"), said("a")], expected=0, at=NOW)
        lease = await log.claim(S)
        await log.append(S, [SessionRunning(epoch=1), SessionUpdated(title="new"), said("b")], expected=head, at=later)

        (info,) = await log.sessions()

        assert (info.id, info.agent, info.title, info.head, info.epoch) == (S, "clerk", "new", 5, lease.epoch)
        assert (info.status, info.stop_reason) == ("running", None)
        assert (info.created_at, info.updated_at) == (NOW, later)

    async def test_the_status_is_the_newest_status_event(self, log: Log) -> None:
        async def status() -> tuple[str, str | None]:
            (info,) = await log.sessions()
            return info.status, info.stop_reason

        head = await begun(log)
        assert await status() == ("idle", None)

        head = await log.append(S, [SessionRunning(epoch=1)], expected=head, at=NOW)
        assert await status() == ("running", None)

        head = await log.append(S, [SessionIdle(stop_reason={"type": "end_turn"}), said("a")], expected=head, at=NOW)
        assert await status() == ("idle", "end_turn")

        gone = Unknown(unknown_kind="session.status_terminated", version=1, data={})
        await log.append(S, [gone], expected=head, at=NOW)
        assert await status() == ("terminated", None)

    async def test_an_update_changes_only_what_it_names(self, log: Log) -> None:
        await log.append(
            S,
            [created(title="kept"), SessionUpdated(agent={"name": "other"}), SessionUpdated(metadata={"a": 1})],
            expected=0,
            at=NOW,
        )

        (info,) = await log.sessions()

        assert (info.agent, info.title) == ("other", "kept")

    @pytest.mark.parametrize("limit", [0, -1, 1001])
    async def test_a_page_has_1_to_1000_lines(self, log: Log, limit: int) -> None:
        with pytest.raises(InvalidValue):
            await log.sessions(limit=limit)

    async def test_a_page_before_nobody_is_refused(self, log: Log) -> None:
        with pytest.raises(SessionNotFound):
            await log.sessions(before="sesn_nobody")

    # Snapshots

    async def test_the_newest_snapshot_is_kept(self, log: Log) -> None:
        await begun(log)
        older, newer = Snapshot(3, 1, b"older"), Snapshot(5, 1, b"\0newer\xff")

        assert await log.load_snapshot(S) is None
        await log.save_snapshot(S, newer)
        await log.save_snapshot(S, older)

        assert await log.load_snapshot(S) == newer

    async def test_a_snapshot_of_another_fold_replaces_one_at_the_same_place(self, log: Log) -> None:
        await begun(log)
        await log.save_snapshot(S, Snapshot(1, 1, b"one"))

        await log.save_snapshot(S, Snapshot(1, 2, b"two"))

        assert await log.load_snapshot(S) == Snapshot(1, 2, b"two")

    async def test_a_session_that_is_not_there_has_no_snapshot(self, log: Log) -> None:
        assert await log.load_snapshot("sesn_nobody") is None
        assert await log.load_snapshot("half \ud83d") is None
        with pytest.raises(SessionNotFound):
            await log.save_snapshot("sesn_nobody", Snapshot(1, 1, b""))

    # The end

    async def test_b220_a_closed_log_refuses_everything_also_nothing(self, log: Log) -> None:
        await begun(log)

        await log.close()
        await log.close()

        uses = [
            log.append(S, [said("a")], expected=1, at=NOW),
            log.append(S, [], expected=1, at=NOW),
            log.claim(S),
            log.read(S),
            log.sessions(),
            log.save_snapshot(S, Snapshot(1, 1, b"")),
            log.load_snapshot(S),
            anext(log.follow(S)),
        ]
        for use in uses:
            with pytest.raises(LogClosed):
                await use

    async def test_b220_an_unused_log_can_be_closed(self, log: Log) -> None:
        await log.close()

        with pytest.raises(LogClosed):
            await begun(log)
