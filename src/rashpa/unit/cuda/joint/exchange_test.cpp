// SPDX-License-Identifier: Apache-2.0
/// A member reads the counts of the others, which the host writes in this test. Run by `make test-device`.
#include "rashpa/unit/cuda/joint/exchange.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <functional>
#include <vector>

#include "rashpa/memory/cuda/resources.hpp"
#include "rashpa/unit/cuda/joint/joint.hpp"
#include "rashpa/unit/stack_ring.hpp"

namespace rashpa::unit::cuda {
namespace {

using kernel::cuda::DeviceFinding;
using memory::cuda::DeviceMemory;
using memory::cuda::Stream;

constexpr std::uint32_t kStack = 3;
constexpr std::uint32_t kColumns = 3;
constexpr std::size_t kNumbers = std::size_t{kStack} * kColumns;
constexpr std::uint32_t kTicket = 7;
constexpr std::uint32_t kSlot = 1;

/// One of two members, at a meeting where columns 1 and 2 are added up and the second decides.
struct Member {
  Member()
      : ring(64, 8, kStack, 2, memory::MemoryKind::pageable),
        joint(ring.layout, {}, {{.behind = 1, .first = 1, .end = 3, .bounds = {{1, 10, 20, 1, 2}}}}, 2),
        order(order_bytes(kStack)),
        scalars(kNumbers * sizeof(Scalar)),
        findings(kStack * sizeof(DeviceFinding)),
        bounds(sizeof(kernel::Bound)) {
    std::vector<std::byte> bytes(order_bytes(kStack));
    auto& told = *reinterpret_cast<Order*>(bytes.data());
    told.ticket = kTicket;
    for (std::uint32_t i = 0; i < kStack; ++i) told.work()[i] = 1;
    copy(order.as<void>(), bytes.data(), bytes.size());
    step.order = order.as<Order>();
    step.work = order.as<std::uint8_t>() + sizeof(Order);
    step.stack = kStack;
    step.scalars = scalars.as<Scalar>();
    step.columns = kColumns;
    step.first = 1;
    step.end = 3;
    step.findings = findings.as<DeviceFinding>();
    step.boxes = joint.boxes(0, kSlot);
    step.members = 2;
    step.self = 0;
    step.over = joint.over_word();
    copy(bounds.as<void>(), joint.meetings()[0].bounds.data(), sizeof(kernel::Bound));
    step.bounds = bounds.as<kernel::Bound>();
    step.bound_count = 1;
    step.bound_column = 1;
    step.step = 4;
  }
  static void copy(void* to, const void* from, std::size_t bytes) {
    memory::cuda::check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "copy");
  }
  /// Column c of image i is i + 100 c.
  void count() const {
    std::vector<Scalar> all;
    for (std::uint32_t i = 0; i < kStack; ++i) {
      for (std::uint32_t c = 0; c < kColumns; ++c) all.push_back(Scalar::of_count(i + 100 * c));
    }
    copy(scalars.as<void>(), all.data(), all.size() * sizeof(Scalar));
  }
  /// The other member's counts: columns 1 and 2 of each image.
  void tell(const std::array<std::int64_t, std::size_t{2} * kStack>& numbers) const {
    std::byte* const box = joint.boxes(0, kSlot) + box_bytes(numbers.size());
    copy(box + sizeof(Box), numbers.data(), sizeof(numbers));
    reinterpret_cast<Box*>(box)->ticket = kTicket;
  }
  void meet() const {
    memory::cuda::check(cudaStreamSynchronize(nullptr), "prepare");
    memory::cuda::check(exchange(step, stream.get()), "meet");
    memory::cuda::check(cudaStreamSynchronize(stream.get()), "met");
  }
  template <typename T>
  [[nodiscard]] static std::vector<T> all_of(const void* memory, std::size_t count) {
    std::vector<T> all(count);
    copy(all.data(), memory, count * sizeof(T));
    return all;
  }
  [[nodiscard]] std::vector<std::uint8_t> work() const { return all_of<std::uint8_t>(step.work, kStack); }
  [[nodiscard]] std::vector<DeviceFinding> found() const { return all_of<DeviceFinding>(step.findings, kStack); }

  StackRing ring;
  Joint joint;
  DeviceMemory order, scalars, findings, bounds;
  Stream stream;
  Exchange step;
};

using Work = std::vector<std::uint8_t>;

TEST(Exchange, columns_are_added_up_and_the_bounds_of_the_last_step_decide) {
  const Member member;
  member.count();
  // Column 2 becomes 9, 10, 21: too few, kept, too many.
  member.tell({5, 9 - 200, -1, 10 - 201, 0, 21 - 202});
  member.meet();
  const auto scalars = Member::all_of<Scalar>(member.step.scalars, kNumbers);
  const std::array<std::int64_t, 9> sums{0, 105, 9, 1, 100, 10, 2, 102, 21};
  for (std::size_t i = 0; i < sums.size(); ++i) EXPECT_EQ(scalars[i].integer(), sums[i]) << i;
  EXPECT_EQ(member.work(), (Work{0, 1, 0}));
  const auto found = member.found();
  EXPECT_EQ(found[0].verdict, 1);
  EXPECT_EQ(found[0].step, 4);
  EXPECT_EQ(found[1].verdict, 0);
  EXPECT_EQ(found[2].verdict, 2);
  for (const DeviceFinding& one : found) EXPECT_EQ(one.lost, 0);
  EXPECT_EQ(member.joint.over(), Over::no);
}

TEST(Exchange, what_it_has_counted_is_told_the_others_behind_its_ticket) {
  const Member member;
  member.count();
  member.tell({});
  member.meet();
  const std::byte* const box = member.joint.boxes(0, kSlot);
  EXPECT_EQ(reinterpret_cast<const Box*>(box)->ticket, kTicket);
  const auto told = Member::all_of<std::uint64_t>(box + sizeof(Box), std::size_t{2} * kStack);
  EXPECT_EQ(told, (std::vector<std::uint64_t>{100, 200, 101, 201, 102, 202}));
}

TEST(Exchange, images_that_were_refused_before_stay_so) {
  const Member member;
  member.count();
  member.tell({0, 15 - 200, 0, 15 - 201, 0, 0});
  const std::uint8_t none = 0;
  Member::copy(member.step.work + 2, &none, 1);
  member.meet();
  EXPECT_EQ(member.work(), (Work{1, 1, 0}));
  EXPECT_EQ(member.found()[2].verdict, 0);
}

TEST(Exchange, alone_it_waits_for_nobody) {
  Member member;
  member.count();
  member.step.members = 1;
  const kernel::Bound bound{1, 200, 201, 1, 2};
  Member::copy(member.bounds.as<void>(), &bound, sizeof(bound));
  member.meet();
  EXPECT_EQ(member.work(), (Work{1, 1, 0}));
}

TEST(Exchange, when_it_is_over_the_images_are_lost_at_once) {
  Member member;
  member.count();
  member.joint.end();
  const auto start = std::chrono::steady_clock::now();
  member.meet();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
  EXPECT_EQ(member.work(), (Work{0, 0, 0}));
  for (const DeviceFinding& one : member.found()) EXPECT_EQ(one.lost, 1);
  EXPECT_EQ(member.joint.over(), Over::ended);
}

TEST(Exchange, a_member_that_never_comes_makes_it_over) {
  const Member member;
  member.count();
  member.meet();  // ten seconds
  EXPECT_EQ(member.joint.over(), Over::silent);
  EXPECT_EQ(member.work(), (Work{0, 0, 0}));
}

}  // namespace
}  // namespace rashpa::unit::cuda
