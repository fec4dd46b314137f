# SPDX-License-Identifier: Apache-2.0
"""Our receiver keeps each rule of the protocol, and a receiver that breaks a rule gets a verdict that names it."""

import asyncio
import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from typer.testing import CliRunner

from rashpa.cli.main import app
from rashpa.control.telegrams import telegram
from rashpa.node.engine.native_engine import NativeFactory
from rashpa.node.judge.judging import served
from rashpa.node.judge.receiver_judge import ReceiverJudge
from rashpa.node.judge.receiver_rules import RECEIVER_RULES
from rashpa.node.judge.rules import Verdicts
from rashpa.node.state.node import Node
from rashpa.testing.waiting import slowed
from rashpa.testing.warm_nodes import WarmNodes

replace = dataclasses.replace


@dataclass(frozen=True)
class Mutant:
    """Changes the orders to a receiver, or its answers. `rule`: the rule that it breaks; `words`: texts of the verdict."""

    rule: str
    words: str
    order: Callable[[telegram.Configure], telegram.Configure] = lambda order: order
    configured: Callable[[telegram.Configured], telegram.Configured] = lambda answer: answer
    arm: Callable[[telegram.Arm], telegram.Arm] = lambda order: order
    status: Callable[[Any], Any] = lambda status: status
    stop: Callable[[telegram.Stop], telegram.Stop | None] = lambda order: order
    node: type[Node] = Node


class MutantEngine:
    """A native receiver with the mutant's changes."""

    def __init__(self, engine: Any, mutant: Mutant) -> None:
        self._engine, self._mutant = engine, mutant

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def configured(self, node: str) -> telegram.Configured:
        return self._mutant.configured(self._engine.configured(node))

    def arm(self, order: telegram.Arm) -> None:
        self._engine.arm(self._mutant.arm(order))

    def status(self) -> Any:
        return self._mutant.status(self._engine.status())

    def stop(self, order: telegram.Stop) -> None:
        if (changed := self._mutant.stop(order)) is not None:
            self._engine.stop(changed)


class MutantFactory(NativeFactory):
    def __init__(self, mutant: Mutant) -> None:
        super().__init__("receiver")
        self._mutant = mutant

    def make(self, order: telegram.Configure) -> Any:
        return MutantEngine(super().make(self._mutant.order(order)), self._mutant)


def options(**values: object) -> Callable[[telegram.Configure], telegram.Configure]:
    """Return a change of an order that gives the link other options."""

    def changed(order: telegram.Configure) -> telegram.Configure:
        assert order.destination is not None
        own = order.destination.options.model_copy(update=values)
        return replace(order, destination=replace(order.destination, options=own))

    return changed


def destination(**values: object) -> Callable[[telegram.Configure], telegram.Configure]:
    def changed(order: telegram.Configure) -> telegram.Configure:
        assert order.destination is not None
        return replace(order, destination=replace(order.destination, **values))

    return changed


def end(**values: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a change of the first endpoint of an order or answer."""

    def changed(message: Any) -> Any:
        first, *others = message.endpoints
        spoiled = replace(first, **{name: change(getattr(first, name)) for name, change in values.items()})
        return replace(message, endpoints=(spoiled, *others))

    return changed


def place(**values: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a change of the last placement of an answer."""

    def changed(message: Any) -> Any:
        *others, last = message.placements
        spoiled = replace(last, **{name: change(getattr(last, name)) for name, change in values.items()})
        return replace(message, placements=(*others, spoiled))

    return changed


def of_buffer(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda status: replace(status, buffers=tuple(change(one) for one in status.buffers))


def lies(status: Any) -> Any:
    """Return the status with partial images counted as complete."""
    dtps = tuple(replace(dtp, complete=dtp.complete + dtp.partial, partial=0, lines_missing=0) for dtp in status.dtps)
    return replace(status, dtps=dtps)


class Anybodys(Node):
    """Accepts each order as one of its owner."""

    async def obey(self, order: telegram.Telegram) -> telegram.Telegram:
        if isinstance(order, telegram.Order) and self._ownership.owned:
            order = replace(order, owner=self._ownership._owner)
        return await super().obey(order)


class Hasty(Node):
    """Reports that it has started, whatever its state is."""

    async def obey(self, order: telegram.Telegram) -> telegram.Telegram:
        if isinstance(order, telegram.Start) and self.state == "configured":
            return self.status()
        return await super().obey(order)


class Terse(Node):
    """Refuses without a reason."""

    def fault(self, code: str, text: str) -> telegram.Fault:
        return super().fault(code, "no")


class Easy(Node):
    """Answers refused orders with its status."""

    async def obey(self, order: telegram.Telegram) -> telegram.Telegram:
        answer = await super().obey(order)
        return self.status() if isinstance(answer, telegram.Fault) else answer


def second_run_of(change: Callable[[telegram.Configure], telegram.Configure]) -> Any:
    return lambda order: change(order) if order.run == 2 else order


MUTANTS: dict[str, Mutant] = {
    "no ICRC": Mutant("strangers", "with a wrong ICRC, counts as 1 complete", options(icrc="off")),
    "another run": Mutant("images", "image 0 is not decided", lambda order: replace(order, run=order.run + 7)),
    "no credits": Mutant("credits", "no credit for image 0", destination(flow="paced")),
    "no records": Mutant("records", "with a record of another run, counts as", options(records=False)),
    "lost records": Mutant("loss", "whose record was lost, counts as", options(records=False)),
    "slots too many": Mutant("placement", "slots 8; 4", configured=place(slots=lambda slots: slots + 4)),
    "lines too few": Mutant("placement", "lines 4; 5", configured=place(lines=lambda lines: lines - 1)),
    "two in one place": Mutant("placement", "are given to two parts", configured=place(first_line_offset=lambda _: 0)),
    "no port": Mutant("endpoint", "port 0", configured=end(port=lambda _: 0)),
    "no queue pair": Mutant("endpoint", "qpn 0", configured=end(qpn=lambda _: 0)),
    "no address": Mutant("endpoint", '"here"', configured=end(address=lambda _: "here")),
    "one end lacks": Mutant("endpoint", "1 Endpoints", configured=lambda said: replace(said, endpoints=said.endpoints[:1])),
    "key of credits": Mutant("address", "that of the sender's end", arm=end(rkey=lambda key: key ^ 1)),
    "queue pair of credits": Mutant("address", "queue pair", arm=end(qpn=lambda qpn: qpn ^ 1)),
    "place of credits": Mutant("address", "its credit_offset", arm=end(credit_offset=lambda offset: offset + 16)),
    "ends in another order": Mutant("address", "queue pair", arm=lambda said: replace(said, endpoints=tuple(replace(b, port=a.port) for a, b in zip(said.endpoints, reversed(said.endpoints), strict=True)))),
    "sequence of credits": Mutant("sequence", "is next", configured=end(psn=lambda psn: psn ^ 1)),
    "partial is complete": Mutant("loss", "of which a line was lost, counts as 1 complete", status=of_buffer(lies)),
    "books": Mutant("books", "do not balance", status=of_buffer(lambda one: replace(one, books=replace(one.books, accepted=one.books.accepted + 9)))),
    "no end": Mutant("end", "running", stop=lambda _: None),
    "another end": Mutant("end", "are missing behind Stop", stop=lambda said: replace(said, ends=tuple(replace(one, images=one.images - 1) for one in said.ends))),
    "anybody's": Mutant("owner", "of another owner is obeyed", node=Anybodys),
    "hasty": Mutant("telegrams", "Start before Arm is obeyed", node=Hasty),
    "terse": Mutant("refusals", "does not name", node=Terse),
    "easy": Mutant("refusals", "is answered by Status; a Fault", node=Easy),
    "second run is refused": Mutant("restart", "image 0 is not decided", second_run_of(lambda order: replace(order, run=9))),
    "credits without flow": Mutant("paced", "a packet comes back", second_run_of(destination(flow="credits"))),
}  # fmt: skip


def judged(mutant: Mutant, patience_s: float) -> tuple[Verdicts, str]:
    async def run() -> tuple[Verdicts, str]:
        node = mutant.node("mutant", "receiver", MutantFactory(mutant))
        async with served(node, 0) as url:
            judge = ReceiverJudge(url, patience_s)
            problem = await judge.judge()
        return judge.verdicts, problem

    return asyncio.run(run())


def test_our_receiver_keeps_every_rule_by_the_command(tmp_path: Any) -> None:
    with WarmNodes(tmp_path) as nodes:
        done = CliRunner().invoke(app, ["conformance", "--receiver", nodes.url("receiver"), "--json"])
    document = json.loads(done.stdout)
    assert done.exit_code == 0, document
    assert document["whole"]
    assert list(document["rules"]) == list(RECEIVER_RULES)
    assert document["rules"]["strangers"]["kept"] == 7


@pytest.mark.parametrize("name", list(MUTANTS))
def test_a_broken_rule_is_named(name: str) -> None:
    mutant = MUTANTS[name]
    verdicts, problem = judged(mutant, patience_s=slowed(2.0))
    verdict = verdicts.by_rule[mutant.rule]
    assert verdict.broken, (problem, verdicts.by_rule)
    assert any(mutant.words in fault for fault in verdict.faults), (verdict.faults, problem)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--receiver", "4781"], "no URL of a node"),
        (["--receiver", "http://127.0.0.1:9"], "cannot be reached"),
        (["--receiver", "http://127.0.0.1:9", "--sender", "9"], "exclude each other"),
    ],
)
def test_a_receiver_that_cannot_be_judged_is_told(words: list[str], said: str) -> None:
    done = CliRunner().invoke(app, ["conformance", *words])
    assert done.exit_code == 2
    assert said in done.stderr
