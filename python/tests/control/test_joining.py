# SPDX-License-Identifier: Apache-2.0
"""The changes of a plan by a receiver that joins, and its request."""

import asyncio
import os
import threading
from pathlib import Path

import pytest

from rashpa.control.books.group_course import GroupCourse
from rashpa.control.handover.join_request import JOIN, JoinAnswer, ask_to_join
from rashpa.control.handover.journal import VERSION, Journal, JournalError, Record, journal_of
from rashpa.control.handover.run_request import RequestDesk, Wanted
from rashpa.control.nodes.fleet import Fleet
from rashpa.control.nodes.launcher import LOCAL
from rashpa.control.nodes.node_client import NodeClient, NodeError
from rashpa.control.orders.plan_telegrams import join_telegram
from rashpa.control.plan.groups import Joined
from rashpa.control.plan.model import Plan
from rashpa.control.plan.planned_node import PlannedNode
from rashpa.control.plan.run_plan import joined_plan
from rashpa.control.run import joining as joining_module
from rashpa.control.run.joining import Joining
from rashpa.control.run.run_nodes import RunNodes
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram import Capabilities, Configured, Endpoint, Placement
from rashpa.testing.group_plan import plan_of
from rashpa.testing.scripted_client import HOLDER, ScriptedClient, clients_of, silent
from rashpa.testing.waiting import GUARD_S

ONE_MORE = Joined("farm", {"name": "c", "node": "http://127.0.0.1:9"})


def record_of(plan: Plan, *joined: Joined) -> Record:
    path, output = str(plan.source.path), plan.file.run.output
    return Record(
        VERSION,
        "ann",
        "f" * 32,
        "t",
        os.uname().nodename,
        path,
        plan.source.text,
        True,
        output,
        "",
        5.0,
        (),
        "",
        joined,
    )


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Journal:
    """Return the journal of a run that goes on."""
    monkeypatch.chdir(tmp_path)
    plan = plan_of(tmp_path)
    journal = journal_of(plan)
    journal.write(record_of(plan))
    return journal


def test_who_joins_comes_behind_all_others_and_leaves_them_as_they_are(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    more = joined_plan(plan, ONE_MORE)
    assert more.dtps[: len(plan.dtps)] == plan.dtps
    assert more.receivers[: len(plan.receivers)] == plan.receivers
    (group,) = more.groups
    assert (group.members, group.buffers) == (("a", "b", "c"), ("full_a", "full_b", "full_c"))
    assert group.replay_frames == plan.groups[0].replay_frames, "the source's window is what it was"
    assert [(buffer.section.name, buffer.receiver) for buffer in more.buffers][-1] == ("full_c", "c")
    twice = joined_plan(more, Joined("", {"name": "d"}))
    assert twice.groups[0].members == ("a", "b", "c", "d")
    assert [dtp.id for dtp in twice.dtps_of("d")] == [3]


@pytest.mark.parametrize(
    ("joined", "said"),
    [
        (Joined("form", {"name": "c"}), "no group form; there is farm"),
        (Joined("farm", {"name": "a"}), "has a receiver a"),
        (Joined("farm", {"name": "c", "colour": "red"}), "colour"),
        (Joined("farm", {"name": "c", "port": 70000}), "port"),
        (Joined("farm", {"name": "emulator"}), "emulator"),
    ],
)
def test_who_cannot_join_is_told_why(tmp_path: Path, joined: Joined, said: str) -> None:
    with pytest.raises(RunFileError, match=said):
        joined_plan(plan_of(tmp_path), joined)


def test_the_emulator_is_told_of_the_new_dtps_alone(tmp_path: Path) -> None:
    plan = joined_plan(plan_of(tmp_path), ONE_MORE)
    end, placement = (
        Endpoint(address="127.0.0.1", port=9, qpn=1, rkey=2, credit_offset=3),
        Placement(
            pixels_offset=0,
            slot_bytes=64,
            slots=4,
            first_line_offset=0,
            pitch=16,
            line_bytes=16,
            lines=4,
            records_offset=256,
        ),
    )
    order = join_telegram(plan, "c", {2: (end, placement)})
    assert (order.group, order.member.name, order.member.dtps, order.member.stack) == ("farm", "c", (2,), 2)
    (dtp,) = order.dtps
    assert (dtp.id, dtp.images, dtp.every, dtp.phase, dtp.destination, dtp.placement) == (2, 10, 2, 1, end, placement)


def test_who_takes_a_run_over_knows_who_has_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plan = plan_of(tmp_path)
    journal = journal_of(plan)
    journal.write(record_of(plan, ONE_MORE))
    journal.close()
    record = Journal(journal.path).take_over()
    assert record.joined == (ONE_MORE,)
    assert record.plan().groups == joined_plan(plan, ONE_MORE).groups


def join_desk(journal: Journal) -> RequestDesk[Joined, JoinAnswer]:
    return RequestDesk(JOIN, journal.path)


def answered(desk: RequestDesk[Joined, JoinAnswer], text: str, trouble: str) -> Wanted[Joined]:
    """Answer the first request as a manager does."""
    while (request := desk.next()) is None:
        pass
    desk.answer(request, JoinAnswer(text, trouble))
    return request


@pytest.mark.parametrize(("text", "trouble"), [("c is a member of group farm", ""), ("", "c has no link roce")])
def test_a_request_gets_its_answer_and_nothing_stays(journal: Journal, text: str, trouble: str) -> None:
    found: list[Wanted[Joined]] = []
    manager = threading.Thread(target=lambda: found.append(answered(join_desk(journal), text, trouble)))
    manager.start()
    answer = ask_to_join(journal.path, ONE_MORE, 60.0)
    manager.join()
    assert (answer.text, answer.trouble) == (text, trouble)
    assert found[0].what == ONE_MORE
    assert [path.name for path in journal.path.parent.iterdir() if "_join" in path.name] == []


def test_nobody_waits_for_a_run_that_has_ended(journal: Journal) -> None:
    journal.remove()
    with pytest.raises(JournalError, match=r"there is no such run .*has come to its end"):
        ask_to_join(journal.path, ONE_MORE, 60.0)
    assert not list(journal.path.parent.glob("*_join*"))


def test_patience_ends_and_the_request_is_withdrawn(journal: Journal) -> None:
    with pytest.raises(JournalError, match="no answer"):
        ask_to_join(journal.path, ONE_MORE, 0.1)
    assert join_desk(journal).next() is None


def test_two_do_not_ask_at_once(journal: Journal) -> None:
    request = journal.path.with_name("dealt_join.json")
    request.write_text("{}")
    with pytest.raises(JournalError, match="somebody else has asked already"):
        ask_to_join(journal.path, ONE_MORE, 1.0)
    assert join_desk(journal).next() is None, "what is no request is nobody's"
    assert not request.exists()


def test_what_others_have_put_there_is_no_request(journal: Journal, tmp_path: Path) -> None:
    request = journal.path.with_name("dealt_join.json")
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text('{"id": "1", "what": {"group": "farm", "receiver": {"name": "c"}}}')
    request.symlink_to(elsewhere)
    assert join_desk(journal).next() is None
    assert not request.is_symlink()
    os.mkfifo(request)
    assert join_desk(journal).next() is None
    request.unlink(missing_ok=True)
    request.write_bytes(elsewhere.read_bytes())
    if os.getuid() == 0:
        os.chown(request, 12345, 12345)
        assert join_desk(journal).next() is None


def test_an_answer_to_somebody_else_is_not_taken(journal: Journal) -> None:
    desk = join_desk(journal)
    desk.answer(Wanted("other", ONE_MORE), JoinAnswer("not for you"))
    with pytest.raises(JournalError, match="no answer"):
        ask_to_join(journal.path, ONE_MORE, 0.2)
    desk.close()
    assert not list(journal.path.parent.glob("*_join*"))


class _Nodes(RunNodes):
    """Connects to one scripted receiver, and records the nodes that it frees."""

    def __init__(self, client: ScriptedClient) -> None:
        super().__init__(LOCAL, "", {})
        self.client = client
        self.left: list[str] = []

    async def reach(self, plan: Plan, node: PlannedNode, holder: str) -> NodeClient:
        await self.client.order(telegram.Claim(holder=holder))
        return self.client

    async def let_go(self, node: PlannedNode, client: NodeClient) -> None:
        self.left.append(node.name)


class _Joins:
    """Holds a run that gets a request to join, and the result."""

    def __init__(self, journal: Journal, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        plan = plan_of(folder)
        self.client = ScriptedClient("receiver c", "receiver", "idle")
        self.client.configured = lambda order: Configured(
            node="c",
            endpoints=(Endpoint(address="127.0.0.1", port=1, qpn=0, rkey=0, credit_offset=0),),
            placements=(
                Placement(
                    pixels_offset=0,
                    slot_bytes=64,
                    slots=4,
                    first_line_offset=0,
                    pitch=8,
                    line_bytes=8,
                    lines=4,
                    records_offset=0,
                ),
            ),
        )
        self.clients = clients_of([("a", "receiver"), ("b", "receiver"), ("emulator", "emulator")])
        self.clients["emulator"].configured = lambda order: Configured(
            node="emulator", endpoints=(Endpoint(address="127.0.0.1", port=2, qpn=0, rkey=0, credit_offset=0),)
        )
        self.nodes, self.fleet = _Nodes(self.client), Fleet(plan, dict(self.clients), HOLDER)
        self.groups, self.capabilities = GroupCourse(self.fleet), dict[str, Capabilities]()
        self.followed: list[Joined] = []
        desk = join_desk(journal)
        self.joining = Joining(
            self.fleet, self.nodes, self.groups, self.capabilities, desk, self.followed.append, forced=False
        )
        monkeypatch.setattr(joining_module, "check_abilities", lambda plan, can: None)
        monkeypatch.setattr(joining_module, "overloads", lambda plan, can: [])
        self._journal = journal

    def asked(self) -> JoinAnswer:
        """Carry out the one request and return the answer."""

        async def both() -> JoinAnswer:
            asking = asyncio.create_task(asyncio.to_thread(ask_to_join, self._journal.path, ONE_MORE, GUARD_S))
            while not asking.done():
                self.joining.look()
                await asyncio.sleep(0.01)  # wait: the request comes from a thread
            await self.joining.end()
            return await asking

        return asyncio.run(both())


def test_a_receiver_that_joins_is_armed_started_and_fed(
    journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _Joins(journal, tmp_path, monkeypatch)
    assert run.asked() == JoinAnswer("receiver c is a member of group farm", "")
    assert run.client.orders == ["Claim", "Configure", "Arm", "Start"]
    assert run.clients["emulator"].orders == ["Join", "Feed"]
    assert run.fleet.receivers == ["a", "b", "c"]
    assert (set(run.groups.joined), set(run.capabilities), run.followed) == ({"c"}, {"c"}, [ONE_MORE])


@pytest.mark.parametrize("who", ["the receiver", "the emulator", "the plan"])
def test_who_cannot_join_is_let_go_and_the_run_is_as_it_was(
    journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, who: str
) -> None:
    run = _Joins(journal, tmp_path, monkeypatch)
    if who == "the plan":
        monkeypatch.setattr(joining_module, "overloads", lambda plan, can: ["has no room"])
    else:
        client, order = (run.client, "Configure") if who == "the receiver" else (run.clients["emulator"], "Join")
        client.fails[order] = NodeError(client.name, "has no room", "resource")
    assert run.asked() == JoinAnswer("", "has no room")
    assert run.nodes.left == ["c"]
    assert (run.fleet.receivers, run.followed, run.capabilities) == (["a", "b"], [], {})


def test_who_fails_after_it_was_taken_in_is_a_lost_member(
    journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _Joins(journal, tmp_path, monkeypatch)
    run.client.fails["Start"] = silent("receiver c")
    assert run.asked() == JoinAnswer("", "receiver c does not answer")
    assert set(run.fleet.lost) == {"c"}
    assert run.nodes.left == [], "it belongs to the run, which ends it"
