# SPDX-License-Identifier: Apache-2.0
"""Lost members of groups, and the order in which members are stopped at the end."""

import asyncio
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import pytest

from rashpa.control.books.group_course import GroupCourse
from rashpa.control.nodes.fleet import Fleet
from rashpa.control.nodes.node_client import NodeError
from rashpa.control.telegrams.telegram import GroupStatus, MemberStatus, SourceStatus, Stop
from rashpa.testing.group_plan import plan_of
from rashpa.testing.scripted_client import ScriptedClient, clients_of, silent


def member(name: str, dealt: int, done: int) -> MemberStatus:
    return MemberStatus(
        name=name,
        state="fed",
        dealt=dealt,
        done=done,
        taken=0,
        resent=0,
        duplicates=0,
        lates=0,
        response_ms=1.0,
        silent_ms=0.0,
    )


class Given:
    """Holds two members of a group; two images of b are missing."""

    def __init__(self, folder: Path, *, settled: bool = True) -> None:
        self.clients = clients_of([("a", "receiver"), ("b", "receiver"), ("emulator", "emulator")])
        self.told: list[str] = []
        self.stops: dict[str, Stop] = {}
        for name, client in self.clients.items():
            client.hear = self._heard(name)
        group = GroupStatus(
            name="farm",
            fresh=10,
            waiting=0,
            resent=0,
            duplicates=0,
            lost=0,
            skipped=0,
            settled=settled,
            members=(member("a", 6, 6), member("b", 4, 2)),
        )
        emulator = self.clients["emulator"]
        emulator.status_now = replace(emulator.status_now, source=SourceStatus(elapsed_s=1.0, groups=(group,)))
        self.fleet = Fleet(plan_of(folder), dict[str, ScriptedClient](self.clients))  # type: ignore[arg-type]
        self.fleet.keep("emulator", emulator.status_now)
        self.course = GroupCourse(self.fleet)

    def _heard(self, name: str):  # type: ignore[no-untyped-def]
        def hear(order: object) -> None:
            self.told.append(f"{type(order).__name__} {name}")
            if isinstance(order, Stop):
                self.stops[name] = order

        return hear

    async def watch(self, names: Collection[str]) -> None:
        """Report all nodes as finished at once."""
        self.told.append(f"watch {' '.join(names)}")


def test_who_owes_images_is_stopped_first(tmp_path: Path) -> None:
    given = Given(tmp_path)
    asyncio.run(given.course.settle(given.watch))
    assert given.told == [
        "watch emulator",
        "Feed emulator",
        "Stop b",
        "watch b",
        "watch emulator",
        "Feed emulator",
        "Stop a",
        "watch a",
    ]
    assert {name: stop.ends[0].images for name, stop in given.stops.items()} == {"a": 6, "b": 4}


def test_a_lost_member_leaves_what_its_credits_have_proven(tmp_path: Path) -> None:
    given = Given(tmp_path)
    assert asyncio.run(given.course.give_up("b", "was killed"))
    assert (given.fleet.lost["b"].reason, given.fleet.lost["b"].done) == ("was killed", 2)
    assert given.told == ["Resend emulator"]
    assert asyncio.run(given.course.give_up("b", "is lost again")), "it is lost already"
    assert given.told == ["Resend emulator"]


@pytest.mark.parametrize("name", ["a", "emulator"])
def test_the_last_member_and_who_is_none_cannot_be_given_up(tmp_path: Path, name: str) -> None:
    given = Given(tmp_path)
    asyncio.run(given.course.give_up("b", "was killed"))
    assert not asyncio.run(given.course.give_up(name, "was killed"))
    assert set(given.fleet.lost) == {"b"}


def test_a_member_that_is_lost_when_it_is_stopped_is_given_up(tmp_path: Path) -> None:
    given = Given(tmp_path)
    given.clients["b"].fails["Stop"] = silent("receiver b")
    asyncio.run(given.course.settle(given.watch))
    assert set(given.fleet.lost) == {"b"}
    assert given.told[-2:] == ["Stop a", "watch a"]


def test_an_emulator_is_through_when_its_groups_are_settled(tmp_path: Path) -> None:
    assert Given(tmp_path).course.through("emulator")
    assert not Given(tmp_path, settled=False).course.through("emulator")


def test_an_emulator_that_says_nothing_of_a_group_is_another_version(tmp_path: Path) -> None:
    given = Given(tmp_path)
    given.fleet.last.clear()
    with pytest.raises(NodeError, match="install the same rashpa everywhere"):
        asyncio.run(given.course.settle(given.watch))
