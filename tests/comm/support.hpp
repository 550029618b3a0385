// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// What the tests of comm share: ranks with a deadline, vectors seen as views, and a transport of the minimum members.

#include <heddle/comm/collectives.hpp>
#include <heddle/comm/transport/thread.hpp>
#include <heddle/core/bf16.hpp>
#include <heddle/core/fp16.hpp>
#include <heddle/exec/serial_executor.hpp>

#include <support/catch.hpp>
#include <support/sampled.hpp>

#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

namespace heddle::test {

inline constexpr int rank_counts[] = {1, 2, 3, 4, 5, 7, 8};
inline constexpr index_t element_counts[] = {0, 1, 3, 13, 31, 1024, 4097, 100000};

template <class T>
view<T, 1> as_view(std::vector<T>& v) {
  return view<T, 1>(v.data(), dims<1>(static_cast<index_t>(v.size())));
}
template <class T>
view<T const, 1> as_view(std::vector<T> const& v) {
  return view<T const, 1>(v.data(), dims<1>(static_cast<index_t>(v.size())));
}

/// Failures on rank threads, which Catch2 may not see: collected, and asserted once by the test.
class rank_checks {
 public:
  void operator()(bool holds, std::string const& what) {
    std::lock_guard<std::mutex> const guard(lock_);
    ++count_;
    if (!holds && failures_.size() < 5) failures_.push_back(what);
  }
  void finish(std::size_t expected_at_least = 1) {
    for (std::string const& f : failures_) FAIL_CHECK(f);
    REQUIRE(failures_.empty());
    REQUIRE(count_ >= expected_at_least);
  }

 private:
  std::mutex lock_;
  std::vector<std::string> failures_;
  std::size_t count_ = 0;
};

/// The ranks of a user's transport: mailboxes under one lock, with just the four members that are needed.
class post_office {
 public:
  void put(int from, int to, channel key, const_bytes data) {
    std::lock_guard<std::mutex> const guard(lock_);
    auto const* b = static_cast<char const*>(data.data);
    boxes_[{from, to, static_cast<std::uint64_t>(key)}].emplace_back(b, b + data.size);
    changed_.notify_all();
  }
  void take(int from, int to, channel key, mutable_bytes data) {
    std::unique_lock<std::mutex> guard(lock_);
    auto& box = boxes_[{from, to, static_cast<std::uint64_t>(key)}];
    if (!changed_.wait_for(guard, std::chrono::seconds(20), [&] { return !box.empty(); }))
      throw error(errc::timeout, "no letter came", from);
    std::vector<char> const letter = box.front();
    box.pop_front();
    if (letter.size() != data.size) throw error(errc::truncated, "a letter of another size", from);
    if (data.size > 0) std::memcpy(data.data, letter.data(), data.size);
  }

 private:
  std::mutex lock_;
  std::condition_variable changed_;
  std::map<std::tuple<int, int, std::uint64_t>, std::deque<std::vector<char>>> boxes_;
};

class mail_transport {
 public:
  mail_transport(post_office& office, int rank, int size) : office_(office), rank_(rank), size_(size) {}
  int rank() const { return rank_; }
  int size() const { return size_; }
  void send(int peer, channel key, const_bytes data) { office_.put(rank_, peer, key, data); }
  void receive(int peer, channel key, mutable_bytes data) { office_.take(peer, rank_, key, data); }

 private:
  post_office& office_;
  int rank_, size_;
};
static_assert(transport<mail_transport>);

/// Only the messages of a communicator: collectives over it use the generic algorithms, and sends that wait.
template <class C>
class messages_only {
 public:
  explicit messages_only(C& comm) : comm_(comm) {}
  int rank() const { return comm_.rank(); }
  int size() const { return comm_.size(); }
  void send(int peer, channel key, const_bytes data) { comm_.send(peer, key, data); }
  void receive(int peer, channel key, mutable_bytes data) { comm_.receive(peer, key, data); }

 private:
  C& comm_;
};

/// Ranks that may not take longer than the tests do.
template <class F>
void run_test_ranks(int p, F const& f, double deadline = 20) {
  rank_options options;
  options.deadline = deadline;
  run_ranks(p, f, options);
}

/// One test body for three ways to reach the peers: shared memory, messages between threads, a user's transport.
template <class F>
void on_every_transport(int p, F const& f) {
  run_test_ranks(p, [&](thread_communicator& comm) { f(comm); });
  run_test_ranks(p, [&](thread_communicator& comm) {
    messages_only<thread_communicator> over(comm);
    f(over);
  });
  post_office office;
  run_test_ranks(p, [&](thread_communicator& comm) {
    mail_transport mail(office, comm.rank(), comm.size());
    f(mail);
  });
}

/// Runs f and returns the code of the heddle::error that it throws; 0 where it throws nothing.
template <class F>
int code_of(F const& f, std::string* what = nullptr, int* rank = nullptr) {
  try {
    f();
  } catch (error const& e) {
    if (what) *what = e.what();
    if (rank) *rank = e.rank();
    return static_cast<int>(e.code());
  } catch (contract_error const& e) {
    if (what) *what = e.what();
    return -1;
  }
  return 0;
}
inline constexpr int contract = -1;
inline int code(errc c) { return static_cast<int>(c); }

template <class T>
std::vector<T> filled(index_t n, T value) {
  return std::vector<T>(static_cast<std::size_t>(n), value);
}

}  // namespace heddle::test
