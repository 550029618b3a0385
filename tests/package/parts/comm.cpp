// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collectives over the user's own transport, of the four members that it must have, on the user's own executor.
#include <heddle/comm/collectives.hpp>

#include "user_executor.hpp"

#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>
#include <vector>

namespace {

using letter = std::vector<unsigned char>;

/// Letters on their way, by sender, receiver and channel.
struct post_office {
  std::mutex lock;
  std::condition_variable arrived;
  std::map<std::tuple<int, int, std::uint64_t>, std::deque<letter>> box;
};

struct user_transport {
  post_office* office;
  int own, all;

  int rank() const { return own; }
  int size() const { return all; }
  void send(int peer, heddle::channel key, heddle::const_bytes out) {
    letter l(static_cast<std::size_t>(out.size));
    if (!l.empty()) std::memcpy(l.data(), out.data, l.size());
    std::lock_guard<std::mutex> const guard(office->lock);
    office->box[{own, peer, static_cast<std::uint64_t>(key)}].push_back(l);
    office->arrived.notify_all();
  }
  void receive(int peer, heddle::channel key, heddle::mutable_bytes in) {
    std::unique_lock<std::mutex> guard(office->lock);
    auto& queue = office->box[{peer, own, static_cast<std::uint64_t>(key)}];
    office->arrived.wait(guard, [&] { return !queue.empty(); });
    if (!queue.front().empty()) std::memcpy(in.data, queue.front().data(), queue.front().size());
    queue.pop_front();
  }
};

static_assert(heddle::transport<user_transport>);

}  // namespace

int main() {
  constexpr int ranks = 3;
  post_office office;
  int wrong[ranks] = {};
  std::vector<std::thread> team;
  for (int r = 0; r < ranks; ++r)
    team.emplace_back([&office, &wrong, r] {
      using heddle::view;
      user_executor exec;
      user_transport comm{&office, r, ranks};
      float mine[2] = {1.0f + static_cast<float>(r), 10}, sum[2], all[2 * ranks];
      view<float const, 1> const in(mine, heddle::dims<1>(2));
      heddle::all_reduce(comm, exec, in, view<float, 1>(sum, heddle::dims<1>(2)));
      heddle::all_gather(comm, exec, in, view<float, 1>(all, heddle::dims<1>(2 * ranks)));
      wrong[r] = (sum[0] != 6) + (sum[1] != 30) + (all[0] != 1) + (all[2] != 2) + (all[5] != 10);
    });
  for (std::thread& t : team) t.join();
  return wrong[0] + wrong[1] + wrong[2];
}
