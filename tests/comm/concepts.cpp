// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support.hpp"

#include <heddle/comm/communicator.hpp>
#include <heddle/comm/counting.hpp>
#include <heddle/comm/elastic.hpp>

using namespace heddle;
using namespace heddle::test;

namespace {

/// The four members, and nothing else: a group of one.
struct alone {
  int rank() const { return 0; }
  int size() const { return 1; }
  void send(int, channel, const_bytes) {}
  void receive(int, channel, mutable_bytes) {}
};
struct without_receive {
  int rank() const { return 0; }
  int size() const { return 1; }
  void send(int, channel, const_bytes) {}
};
struct without_size {
  int rank() const { return 0; }
  void send(int, channel, const_bytes) {}
  void receive(int, channel, mutable_bytes) {}
};
struct sum_of_text {
  std::string operator()(std::string const& a, std::string const& b) const { return a + b; }
};

}  // namespace

TEST_CASE("concepts of comm hold for their models and refuse others", "[comm]") {
  STATIC_REQUIRE(transport<thread_communicator>);
  STATIC_REQUIRE(failable_communicator<thread_communicator>);
  STATIC_REQUIRE_FALSE(failable_communicator<counting<thread_communicator>>);
  STATIC_REQUIRE(transport<counting<thread_communicator>>);
  STATIC_REQUIRE(transport<mail_transport>);
  STATIC_REQUIRE(transport<alone>);
  STATIC_REQUIRE(!communicator<alone>);
  STATIC_REQUIRE(!transport<without_receive>);
  STATIC_REQUIRE(!transport<without_size>);
  STATIC_REQUIRE(reduction_for<plus<>, float>);
  STATIC_REQUIRE(reduction_for<plus<>, bf16>);
  STATIC_REQUIRE(reduction_for<mean, std::int8_t>);
  STATIC_REQUIRE(!reduction_for<sum_of_text, std::string>);
  STATIC_REQUIRE(!reduction_for<sum_of_text, float>);
  STATIC_REQUIRE(!reduction_for<plus<>, bool>);
  STATIC_REQUIRE(reduction_for<plus<double>, float>);
  STATIC_REQUIRE(std::is_same_v<reduction_accumulator_t<plus<double>, float>, double>);
  STATIC_REQUIRE(std::is_same_v<reduction_accumulator_t<plus<>, fp16>, float>);
  STATIC_REQUIRE(std::is_same_v<reduction_accumulator_t<plus<>, std::int16_t>, std::uint16_t>);
  STATIC_REQUIRE(std::is_same_v<reduction_accumulator_t<mean, std::int16_t>, std::int64_t>);
  STATIC_REQUIRE(std::is_same_v<reduction_accumulator_t<minimum<>, double>, double>);
}

TEST_CASE("every collective works over the minimum members", "[comm]") {
  alone comm;
  serial_executor exec;
  std::vector<int> x = {1, 2, 3}, y(3, 0);
  std::vector<index_t> const three = {3};
  barrier(comm, exec);
  broadcast(comm, exec, as_view(x), 0);
  all_gather(comm, exec, as_view(x), as_view(y));
  REQUIRE(x == y);
  all_gather_v(comm, exec, as_view(x), as_view(y), as_view(three));
  gather(comm, exec, as_view(x), as_view(y), 0);
  gather_v(comm, exec, as_view(x), as_view(y), as_view(three), 0);
  scatter(comm, exec, as_view(x), as_view(y), 0);
  scatter_v(comm, exec, as_view(x), as_view(y), as_view(three), 0);
  all_to_all(comm, exec, as_view(x), as_view(y));
  y = {0, 0, 0};
  all_to_all_v(comm, exec, as_view(x), as_view(three), as_view(y), as_view(three));
  REQUIRE(x == y);
  y = {0, 0, 0};
  all_reduce(comm, exec, as_view(x), as_view(y), [](int a, int b) { return a + b; });
  REQUIRE(x == y);
  reduce_to_root(comm, exec, as_view(x), as_view(y), 0);
  reduce_scatter(comm, exec, as_view(x), as_view(y));
  reduce_scatter_v(comm, exec, as_view(x), as_view(y), as_view(three));
  REQUIRE(x == y);
  REQUIRE_THROWS_AS(broadcast(comm, exec, as_view(x), 1), contract_error);
}
