# SPDX-License-Identifier: Apache-2.0
"""tools/check_orders.py finds atomics whose memory order has no comment, and this tree has none."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "tools" / "check_orders.py"
DECLARED = "class A {\n  std::atomic<int> ready_{0};\n"
USED = "  void set() noexcept {\n    ready_.store(1, std::memory_order_release);\n  }\n"


def said(root: Path) -> list[str]:
    done = subprocess.run([sys.executable, TOOL, root], capture_output=True, text=True, check=False)
    assert done.returncode == (0 if done.stdout.startswith("orders: ") else 1), done.stderr
    return [line for line in done.stdout.splitlines() if not line.startswith("orders: ")]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "src/rashpa/core").mkdir(parents=True)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (DECLARED + USED, 1),
        (DECLARED.replace("{0};", "{0};  // set by one thread") + USED, 1),
        (DECLARED.replace("{0};", "{0};  // release by the maker, acquire by the user") + USED, 0),
        (DECLARED.replace("  std", "  // released by the maker, acquired by the user\n  std") + USED, 0),
        (DECLARED.replace("  std", "  std::atomic<int> n{0};  // relaxed, for a status\n  std") + USED, 0),
        (DECLARED + USED.replace("1, std", "1,\n        std"), 1),
        (DECLARED + "  // release: the user acquires it\n" + USED, 0),
        (DECLARED + USED.replace("release);", "release);  // release: the user acquires it"), 0),
        ("  void f() {\n    std::atomic_thread_fence(std::memory_order_release);\n  }\n", 1),
        (
            "  void f() {\n    // release: of all stores\n    std::atomic_thread_fence(std::memory_order_release);\n  }\n",
            0,
        ),
        ("  void f() {\n    // std::memory_order_release is not enough\n  }\n", 0),
    ],
)
def test_an_order_that_nobody_explains_is_found(tree: Path, text: str, count: int) -> None:
    (tree / "src/rashpa/core/a.hpp").write_text(text)
    assert len(said(tree)) == count


def test_a_comment_of_another_folder_counts_for_names_that_this_one_has_not(tree: Path) -> None:
    (tree / "src/rashpa/words").mkdir()
    (tree / "src/rashpa/words/w.hpp").write_text("std::atomic<int> ready_{0};  // release, acquire\n")
    (tree / "src/rashpa/core/a.cpp").write_text(USED)
    assert said(tree) == []
    (tree / "src/rashpa/core/a.hpp").write_text(DECLARED)
    assert len(said(tree)) == 1


def test_this_tree_has_none() -> None:
    assert said(ROOT) == []
