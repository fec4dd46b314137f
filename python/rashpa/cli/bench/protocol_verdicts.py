# SPDX-License-Identifier: Apache-2.0
"""`rashpa conformance --sender URL|PORT|card` and `--receiver URL`: test another maker's sender or receiver against each rule of the protocol."""

import asyncio
import json
import sys

import typer

from rashpa.control.nodes.node_client import NodeError
from rashpa.control.nodes.node_url import is_node_url
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.data.base.exit_code import ExitCode
from rashpa.node.judge.judge_engine import JudgeFactory
from rashpa.node.judge.judging import judge_node, judge_orders
from rashpa.node.judge.receiver_judge import ReceiverJudge
from rashpa.node.judge.rules import Verdicts

_SILENT_S = 3.0
_PORTS = range(1, 1 << 16)
_CARD = "card"  # the simulated one, of an emulator that runs as long as the judge


def judge_sender(sender: str, runs: int, patience_s: float, as_json: bool) -> int:
    """Test the sender and print the verdicts. Return exit code 0 when each rule was exercised and none was broken."""
    factory = JudgeFactory(_SILENT_S)
    try:
        problem = asyncio.run(_judge(factory, sender, runs, patience_s))
    except (NodeError, RunFileError, OSError, ValueError) as error:
        sys.stderr.write(f"rashpa conformance: {error}\n")
        return ExitCode.BAD_INPUT
    return _print(factory.verdicts, problem, as_json)


def judge_receiver(url: str, patience_s: float, as_json: bool) -> int:
    """Test the receiver at `url` and print the verdicts. Return the exit code as `judge_sender` does."""
    try:
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"--receiver {url}: no URL of a node; give one such as http://127.0.0.1:4781")
        judge = ReceiverJudge(url, patience_s)
        problem = asyncio.run(judge.judge())
    except (NodeError, OSError, ValueError) as error:
        sys.stderr.write(f"rashpa conformance: {error}\n")
        return ExitCode.BAD_INPUT
    return _print(judge.verdicts, problem, as_json)


def _print(verdicts: Verdicts, problem: str, as_json: bool) -> int:
    if as_json:
        typer.echo(json.dumps(_document(verdicts, problem)))
    else:
        typer.echo("\n".join(_lines(verdicts, problem)))
    return ExitCode.GOOD if verdicts.whole and not problem else ExitCode.FAILED


async def _judge(factory: JudgeFactory, sender: str, runs: int, patience_s: float) -> str:
    if is_node_url(sender):
        return await judge_node(factory, sender)
    if sender == _CARD:
        return await judge_node(factory, "local", "sim")
    if not sender.isdecimal() or int(sender) not in _PORTS:
        raise ValueError(
            f"--sender {sender}: neither the URL of a node nor a port; give a port (1 … 65535) of this machine to which the sender then gives its orders, or the word card for the simulated card"
        )
    return await judge_orders(factory, int(sender), runs, patience_s, _announce)


def _announce(url: str) -> None:
    sys.stderr.write(f"waiting for the orders of a sender at {url}/telegram\n")
    sys.stderr.flush()


def _document(verdicts: Verdicts, problem: str) -> dict[str, object]:
    rules = {
        rule: {"verdict": one.word, "kept": one.kept, "broken": one.broken, "faults": one.faults}
        for rule, one in verdicts.by_rule.items()
    }
    return {"whole": verdicts.whole and not problem, "problem": problem, "rules": rules}


def _lines(verdicts: Verdicts, problem: str) -> list[str]:
    lines: list[str] = []
    for rule, one in verdicts.by_rule.items():
        times = f" ({one.broken} times)" if one.broken else f" ({one.kept} times)" if one.kept else ""
        lines.append(f"{one.word:9}{rule}: {verdicts.rules[rule]}{times}")
        lines += [f"{'':9}{fault}" for fault in one.faults]
    if problem:
        lines.append(f"problem  {problem}")
    return lines
