// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/ability.hpp"

#include <gtest/gtest.h>

namespace rashpa {
namespace {

class Worker {
 public:
  virtual ~Worker() = default;
};

class Counting {
 public:
  virtual ~Counting() = default;
  [[nodiscard]] virtual int counted() const = 0;
};

class Plain final : public Worker {};

class Counter final : public Worker, public Counting {
 public:
  [[nodiscard]] int counted() const override { return 3; }
};

TEST(Able, finds_what_an_object_can_do_besides_its_contract) {
  Counter counter;
  Worker& worker = counter;
  ASSERT_NE(able<Counting>(worker), nullptr);
  EXPECT_EQ(able<Counting>(worker)->counted(), 3);
  const Worker& constant = counter;
  EXPECT_EQ(able<const Counting>(constant)->counted(), 3);
}

TEST(Able, says_null_of_what_it_cannot) {
  Plain plain;
  Worker& worker = plain;
  EXPECT_EQ(able<Counting>(worker), nullptr);
}

}  // namespace
}  // namespace rashpa
