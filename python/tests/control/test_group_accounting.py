# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rashpa.control.books.group_accounting import GroupAccount, account_groups, groups_so_far
from rashpa.control.nodes.fleet import LostMember
from rashpa.control.plan.model import Plan
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.control.telegrams.telegram import (
    Books,
    BufferStatus,
    DestinationStatus,
    GroupStatus,
    MemberStatus,
    SourceStatus,
    Status,
)
from rashpa.testing.group_plan import RUN, plan_of

COMPLETE, PARTIAL, MISSING = 1, 2, 3


def member(name: str) -> MemberStatus:
    return MemberStatus(
        name=name,
        state="fed",
        dealt=0,
        done=0,
        taken=0,
        resent=2,
        duplicates=0,
        lates=1,
        response_ms=1.0,
        silent_ms=104.0,
    )


def account(
    plan: Plan,
    dealt: dict[str, list[int]],
    found: dict[str, list[int]],
    fates: dict[int, list[int]] | None = None,
    lost: dict[str, LostMember] | None = None,
    left_window: int = 0,
    joined: dict[str, float] | None = None,
) -> GroupAccount:
    status = GroupStatus(
        name="farm",
        fresh=10,
        waiting=0,
        resent=2,
        duplicates=0,
        lost=left_window,
        skipped=0,
        settled=True,
        members=(member("a"), member("b")),
    )
    tables = fates or {0: [COMPLETE] * len(dealt["a"]), 1: [COMPLETE] * len(dealt["b"])}
    (result,) = account_groups(
        plan,
        {name: np.asarray(frames, "<u8").tobytes() for name, frames in dealt.items()},
        {dtp: np.asarray(table, np.uint8).tobytes() for dtp, table in tables.items()},
        {f"full_{name}": np.asarray(table, np.uint8).tobytes() for name, table in found.items()},
        lost or {},
        {"emulator": SourceStatus(elapsed_s=1.0, groups=(status,))},
        joined or {},
    )
    return result


EVEN, ODD = [1, 3, 9, 11, 17], [5, 7, 13, 15, 19]  # the ten frames of the slice


def test_a_buffer_of_a_group_is_one_at_each_member(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    assert [(buffer.section.name, buffer.receiver, buffer.images) for buffer in plan.buffers] == [
        ("full_a", "a", 10),
        ("full_b", "b", 10),
    ]
    (group,) = plan.groups
    assert (group.members, group.buffers) == (("a", "b"), ("full_a", "full_b"))
    assert group.replay_frames == 20, "without a rate all frames"
    (timed,) = plan_of(tmp_path, RUN.replace("height = 4\n[dataset]", "height = 4\nrate_hz = 100\n[dataset]")).groups
    assert timed.replay_frames == 2 * 4 * 2 * 2 + 130
    assert plan.emulators_of(group) == ("emulator",)


def test_each_image_counts_once(tmp_path: Path) -> None:
    whole = account(plan_of(tmp_path), {"a": EVEN, "b": ODD}, {"a": [1] * 5, "b": [1] * 5})
    assert (whole.images, whole.complete, whole.partial, whole.missing) == (10, 10, 0, 0)
    assert (whole.duplicates, whole.unexplained, list(whole.reasons), list(whole.cautions)) == (0, 0, [], [])
    assert [one.counted for one in whole.members] == [5, 5]


def test_the_best_of_several_copies_counts_and_the_others_are_duplicates(tmp_path: Path) -> None:
    result = account(plan_of(tmp_path), {"a": EVEN, "b": [*ODD, 17, 11]}, {"a": [1, 1, 1, 1, 3], "b": [1] * 7})
    assert (result.complete, result.missing, result.duplicates, result.unexplained) == (10, 0, 1, 0)
    assert [(one.counted, one.missing, one.duplicates) for one in result.members] == [(4, 1, 0), (6, 0, 1)]


def test_a_lost_member_counts_with_what_its_credits_proved(tmp_path: Path) -> None:
    plan, lost = plan_of(tmp_path), {"a": LostMember("was killed", 1.5, 2)}
    again = account(plan, {"a": EVEN, "b": [*ODD, 9, 11, 17]}, {"b": [1] * 8}, lost=lost)
    assert (again.complete, again.missing, again.duplicates, again.unexplained) == (10, 0, 0, 0)
    assert again.members[0].counted == 2
    (caution,) = again.cautions
    assert "without a from 1.5 s on (was killed)" in caution
    gone = account(plan, {"a": EVEN, "b": ODD}, {"b": [1] * 5}, lost=lost, left_window=3)
    assert (gone.complete, gone.missing) == (7, 3)
    assert "left the window" in next(iter(gone.reasons))


def test_what_the_log_does_not_explain_is_named(tmp_path: Path) -> None:
    fates = {0: [1, 1, 2, 1, 1], 1: [1] * 5}
    explained = account(plan_of(tmp_path), {"a": EVEN, "b": ODD}, {"a": [1, 1, 2, 1, 1], "b": [1] * 5}, fates)
    assert (explained.partial, explained.unexplained) == (1, 0)
    strange = account(plan_of(tmp_path), {"a": EVEN, "b": ODD}, {"a": [1, 1, 1, 1, 1], "b": [1, 3, 1, 1, 1]}, fates)
    assert strange.unexplained == 2
    assert "image 3 (frame 7)" in strange.first_unexplained


def test_images_that_nobody_was_dealt_are_missing_and_explained(tmp_path: Path) -> None:
    result = account(plan_of(tmp_path), {"a": EVEN, "b": ODD[:4]}, {"a": [1] * 5, "b": [1] * 4})
    assert (result.complete, result.missing, result.unexplained) == (9, 1, 0)


def so_far(plan: Plan, a: Books, b: Books, duplicates: int, members: tuple[MemberStatus, ...]) -> GroupAccount:
    group = GroupStatus(
        name="farm",
        fresh=9,
        waiting=0,
        resent=3,
        duplicates=duplicates,
        lost=1,
        skipped=4,
        settled=False,
        members=members,
    )
    last = {
        "emulator": Status(
            node="emulator", role="emulator", state="running", source=SourceStatus(elapsed_s=1.0, groups=(group,))
        )
    }
    for name, books in (("a", a), ("b", b)):
        buffer = BufferStatus(
            name=f"full_{name}",
            sink_error="",
            unit="",
            unit_error="",
            bytes_written=0,
            bytes_stored=0,
            books=books,
        )
        destination = DestinationStatus(
            receiver=name, elapsed_s=1.0, memory="", first_incomplete="", counts=(), buffers=(buffer,)
        )
        last[name] = Status(node=name, role="receiver", state="running", destination=destination)
    (result,) = groups_so_far(plan, last, {"b": LostMember("was killed", 1.5, 2)}, {"a": 0.5})
    return result


def test_a_run_that_was_given_up_counts_what_members_have_and_were_given(tmp_path: Path) -> None:
    members = (replace(member("a"), dealt=7), replace(member("b"), dealt=1))
    a, b = Books(expected=10, complete=4, partial=1), Books(expected=10, complete=3, missing=2)
    result = so_far(plan_of(tmp_path), a, b, 2, members)
    assert (result.images, result.complete, result.partial, result.missing) == (10, 5, 1, 4)
    assert (result.resent, result.duplicates, result.left_window, result.skipped) == (3, 2, 1, 4)
    first, second = result.members
    assert (first.name, first.buffer, first.joined_s, first.lost) == ("a", "full_a", 0.5, None)
    assert (first.dealt, first.complete, first.partial, first.missing, first.counted) == (7, 4, 1, 2, 5)
    assert (first.resent, first.lates, first.silent_ms, first.duplicates) == (2, 1, 104.0, 0)
    assert (second.name, second.joined_s, second.lost) == ("b", None, LostMember("was killed", 1.5, 2))
    assert (second.dealt, second.missing, second.counted) == (3, 0, 3), "it has more than was said of it"


def test_images_so_far_are_never_more_than_there_are_and_never_fewer_than_none(tmp_path: Path) -> None:
    whole = Books(expected=10, complete=9)
    many = so_far(plan_of(tmp_path), whole, whole, 0, ())
    assert (many.complete, many.partial, many.missing) == (10, 0, 0)
    torn = Books(expected=10, partial=9)
    twice = so_far(plan_of(tmp_path), torn, torn, 50, ())
    assert (twice.complete, twice.partial, twice.missing, twice.duplicates) == (0, 0, 10, 18)


def test_of_a_run_of_which_nothing_was_heard_all_is_missing(tmp_path: Path) -> None:
    (result,) = groups_so_far(plan_of(tmp_path), {}, {}, {})
    assert (result.images, result.complete, result.partial, result.missing) == (10, 0, 0, 10)
    assert (result.resent, result.duplicates, result.left_window, result.skipped) == (0, 0, 0, 0)
    for one in result.members:
        assert (one.dealt, one.missing, one.counted, one.resent, one.lates, one.silent_ms) == (0, 0, 0, 0, 0, 0.0)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('receivers = ["a", "b"]', 'receivers = ["a", "c"]', "no receiver is named c"),
        ('receivers = ["a", "b"]', 'receivers = ["a", "a"]', "2 times"),
        ('group = "farm"\nevery', 'group = "form"\nevery', "no group is named form"),
        ('group = "farm"\nevery', 'receiver = "a"\nevery', "0 buffers have group farm"),
        ('kind = "null"', 'kind = "null"\non_full = "drop"', "a sink of a group waits"),
        ("[dataset]", '[link]\nflow = "paced"\n[dataset]', "dealt by credits"),
        ("[dataset]", "[faults]\ndead_modules = [{ module = 0, from_frame = 3 }]\n[dataset]", "dead modules"),
    ],
)
def test_what_cannot_be_a_group_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(RunFileError, match=said):
        plan_of(tmp_path, RUN.replace(old, new))
