// SPDX-License-Identifier: Apache-2.0
#include "rashpa/memory/cpu_set.hpp"

#include <hwloc.h>
#include <pthread.h>

#include <algorithm>
#include <memory>

#include "rashpa/core/log.hpp"

namespace rashpa::memory {

namespace {

struct Topology {
  hwloc_topology_t handle = nullptr;
  Topology() {
    if (hwloc_topology_init(&handle) == 0) hwloc_topology_load(handle);
  }
  ~Topology() {
    if (handle != nullptr) hwloc_topology_destroy(handle);
  }
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;
};

const Topology& topology() {
  static const Topology instance;
  return instance;
}

}  // namespace

unsigned processor_count() {
  const int count = hwloc_get_nbobjs_by_type(topology().handle, HWLOC_OBJ_PU);
  return static_cast<unsigned>(std::max(count, 1));
}

bool place_this_thread(const std::string& name, int processor) noexcept {
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
  if (processor < 0) return true;
  const auto index = static_cast<unsigned>(processor) % processor_count();
  const hwloc_obj_t unit = hwloc_get_obj_by_type(topology().handle, HWLOC_OBJ_PU, index);
  const bool bound = unit != nullptr && hwloc_set_cpubind(topology().handle, unit->cpuset, HWLOC_CPUBIND_THREAD) == 0;
  if (bound) {
    log::write(log::Level::debug, {}, "thread {} is bound to processor {}", name, index);
  } else {
    log::write(log::Level::warning, {}, "thread {} could not be bound to processor {} and runs unbound", name, index);
  }
  return bound;
}

}  // namespace rashpa::memory
