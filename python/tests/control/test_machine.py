# SPDX-License-Identifier: Apache-2.0
"""Machine facts are plain JSON and name what every figure needs beside it."""

import json
import os

from rashpa.control.nodes.machine import machine_facts


def test_facts_are_json_and_name_processor_memory_and_system() -> None:
    facts = machine_facts()
    assert json.loads(json.dumps(facts)) == facts
    assert {"cores", "memory_gb", "kernel", "os", "python", "architecture"} <= facts.keys()
    assert facts["cores"] == len(os.sched_getaffinity(0))


def test_what_is_not_known_is_left_out() -> None:
    assert None not in machine_facts().values()
