// SPDX-License-Identifier: Apache-2.0
/// The groups among which an emulator deals images: orders to them, and their reports.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.hpp"
#include "bindings/named_values.hpp"
#include "bindings/names.hpp"
#include "rashpa/core/parameter.hpp"
#include "rashpa/emulator/groups.hpp"

namespace rashpa::bindings {

namespace nb = nanobind;
using namespace nb::literals;
using emulator::Group;
using emulator::GroupMember;
using transfer::GroupStatus;
using transfer::MemberState;
using transfer::MemberStatus;

namespace {

constexpr Names<MemberState, 5> kMemberStates{"state of a member",
                                              {{{MemberState::fed, "fed"},
                                                {MemberState::late, "late"},
                                                {MemberState::held, "held"},
                                                {MemberState::ejected, "ejected"},
                                                {MemberState::broken, "broken"}}}};

}  // namespace

void bind_group(nb::module_& m) {
  nb::class_<GroupMember>(m, "GroupMember")
      .def(nb::init<>())
      .def_rw("name", &GroupMember::name)
      .def_rw("stack", &GroupMember::stack)
      .def_rw("dtps", &GroupMember::dtps);
  nb::class_<Group>(m, "Group")
      .def(
          "__init__",
          [](Group* self, const nb::dict& values) {
            new (self) Group(emulator::group_parameters().read(values_of("group", values)));
          },
          "values"_a)
      .def_rw("name", &Group::name)
      .def_rw("replay_frames", &Group::replay_frames)
      .def_rw("members", &Group::members);
  nb::class_<MemberStatus>(m, "MemberStatus")
      .def_ro("name", &MemberStatus::name)
      .def_prop_ro("state", [](const MemberStatus& s) { return kMemberStates.name(s.state); })
      .def_ro("dealt", &MemberStatus::dealt)
      .def_ro("done", &MemberStatus::done)
      .def_ro("taken", &MemberStatus::taken)
      .def_ro("resent", &MemberStatus::resent)
      .def_ro("duplicates", &MemberStatus::duplicates)
      .def_ro("lates", &MemberStatus::lates)
      .def_ro("response_ns", &MemberStatus::response_ns)
      .def_ro("silent_ns", &MemberStatus::silent_ns)
      .def_ro("given_ago_ns", &MemberStatus::given_ago_ns);
  nb::class_<GroupStatus>(m, "GroupStatus")
      .def_ro("members", &GroupStatus::members)
      .def_ro("fresh", &GroupStatus::fresh)
      .def_ro("waiting", &GroupStatus::waiting)
      .def_ro("resent", &GroupStatus::resent)
      .def_ro("duplicates", &GroupStatus::duplicates)
      .def_ro("lost", &GroupStatus::lost)
      .def_ro("skipped", &GroupStatus::skipped)
      .def_ro("settled", &GroupStatus::settled)
      .def_ro("error", &GroupStatus::error);
}

}  // namespace rashpa::bindings
