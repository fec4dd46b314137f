// SPDX-License-Identifier: Apache-2.0
/// Behind all other headers: what of the product is included from here on is explored (explored.hpp). Its classes have
/// other names then, so that they stand beside those of its libraries.
#pragma once
#include "explored.hpp"

namespace std {  // NOLINT(cert-dcl58-cpp): the product names these std::atomic …
using rashpa::interleaving::Explored;
using rashpa::interleaving::ExploredLatch;
using rashpa::interleaving::ExploredRef;
using rashpa::interleaving::ExploredThread;
}  // namespace std

// NOLINTBEGIN(cppcoreguidelines-macro-usage)
#define atomic Explored
#define atomic_ref ExploredRef
#define thread ExploredThread
#define latch ExploredLatch
#define syscall explored_syscall
#define Doorbell ExploredDoorbell
#define Ring ExploredRing
#define Team ExploredTeam
#define RingReader ExploredRingReader
#define RingWriter ExploredRingWriter
// NOLINTEND(cppcoreguidelines-macro-usage)
