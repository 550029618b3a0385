// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/flags.hpp"

#include <heddle/attention/forward.hpp>
#include <heddle/backend/cpu/attention_forward.hpp>
#include <heddle/core/philox.hpp>
#include <heddle/core/tensor.hpp>
#include <heddle/exec/serial_executor.hpp>

#include <cstdio>
#include <vector>

using heddle::index_t;
namespace at = heddle::attention;

namespace {

struct options {
  index_t queries = 4;
  index_t keys = 100000;
  index_t columns = 64;
  std::uint64_t seed = 1;
  bool check = false;
};

void declare(examples::flags& f, options& o) {
  f.number("queries", &o.queries, "queries that attend to the stream", 1, 1024);
  f.number("keys", &o.keys, "keys and values that pass by", 1, 1000000000);
  f.number("columns", &o.columns, "columns of a head", 1, 1024);
  f.number("seed", &o.seed, "seed of the random tokens");
  f.toggle("check", &o.check, "also holds the whole stream in memory, and compares with attention over it");
}

/// The tokens that stream by: element d of token t is a function of both, so that nothing needs to be kept.
struct source {
  options o;
  float query(index_t t, index_t d) const { return at_random(0, t, d); }
  float key(index_t t, index_t d) const { return at_random(1, t, d); }
  float value(index_t t, index_t d) const { return at_random(2, t, d); }

 private:
  float at_random(std::uint64_t stream, index_t t, index_t d) const {
    return 4 * heddle::philox(o.seed, stream).uniform(static_cast<std::uint64_t>(t * o.columns + d)) - 2;
  }
};

/// Attention of a few queries over a stream of keys and values: one state of the softmax monoid per query, and one
/// block of the stream. All its memory comes from `space`, which counts it.
class stream_attention {
 public:
  stream_attention(heddle::serial_executor& exec, heddle::host_space& space, source const& s)
      : o_(s.o),
        source_(s),
        queries_(exec, space, heddle::dims<2>(o_.queries, o_.columns)),
        acc_(exec, space, heddle::dims<2>(o_.queries, o_.columns)),
        keys_(exec, space, heddle::dims<2>(at::keys_per_block, o_.columns)),
        values_(exec, space, heddle::dims<2>(at::keys_per_block, o_.columns)),
        numbers_(exec, space, heddle::dims<2>(o_.queries, 2)),
        scale_(1 / heddle::sqrt(float(o_.columns))),
        pending_(0) {
    for (index_t i = 0; i < o_.queries; ++i) {
      for (index_t d = 0; d < o_.columns; ++d) queries_.view()(i, d) = source_.query(i, d);
      at::softmax_row<float> s_i = state(i);
      at::softmax_monoid<float>::identity(s_i);
      keep(i, s_i);
    }
  }

  /// Takes the next token of the stream.
  void push(index_t token) {
    for (index_t d = 0; d < o_.columns; ++d) {
      keys_.view()(pending_, d) = source_.key(token, d);
      values_.view()(pending_, d) = source_.value(token, d);
    }
    if (++pending_ == at::keys_per_block) absorb();
  }

  /// The outputs of all queries over everything that was pushed, and their log-sum-exps.
  void finish(std::vector<float>& out, std::vector<float>& lse) {
    absorb();
    out.clear();
    lse.clear();
    for (index_t i = 0; i < o_.queries; ++i) {
      at::softmax_row<float> s = state(i);
      lse.push_back(at::softmax_monoid<float>::finish(s));
      out.insert(out.end(), s.acc, s.acc + o_.columns);
    }
  }

 private:
  void absorb() {
    for (index_t i = 0; i < o_.queries; ++i) {
      float scores[at::keys_per_block];
      for (index_t c = 0; c < pending_; ++c) {
        scores[c] = 0;
        for (index_t d = 0; d < o_.columns; ++d)
          scores[c] = heddle::fma(keys_.view()(c, d), heddle::mul(scale_, queries_.view()(i, d)), scores[c]);
      }
      at::softmax_row<float> s = state(i);
      at::softmax_monoid<float>::push_block(s, pending_, scores,
                                            [&](index_t c, index_t d) { return values_.view()(c, d); });
      keep(i, s);
    }
    pending_ = 0;
  }
  at::softmax_row<float> state(index_t i) {
    return {numbers_.view()(i, 0), numbers_.view()(i, 1), &acc_.view()(i, 0), o_.columns};
  }
  void keep(index_t i, at::softmax_row<float> const& s) {
    numbers_.view()(i, 0) = s.max;
    numbers_.view()(i, 1) = s.sum;
  }

  options o_;
  source source_;
  heddle::tensor<float, 2> queries_, acc_, keys_, values_, numbers_;
  float scale_;
  index_t pending_;
};

/// Streams `keys` tokens, and returns the most bytes that were alive at once.
index_t stream(options const& o, index_t keys, std::vector<float>& out, std::vector<float>& lse) {
  heddle::host_space space;
  heddle::serial_executor exec;
  stream_attention attention(exec, space, source{o});
  for (index_t t = 0; t < keys; ++t) attention.push(t);
  attention.finish(out, lse);
  return space.counts().peak;
}

/// Whether attention over the whole stream at once gives the same bits.
bool same_as_whole(options const& o, std::vector<float> const& out, std::vector<float> const& lse) {
  source const s{o};
  index_t const n = o.columns;
  std::vector<float> q, k, v, whole(out.size()), sums(lse.size());
  for (index_t t = 0; t < o.queries * n; ++t) q.push_back(s.query(t / n, t % n));
  for (index_t t = 0; t < o.keys * n; ++t) {
    k.push_back(s.key(t / n, t % n));
    v.push_back(s.value(t / n, t % n));
  }
  heddle::dims<3> const queries(o.queries, 1, n), keys(o.keys, 1, n);
  heddle::serial_executor exec;
  at::forward(exec, heddle::view<float const, 3>(q.data(), queries), heddle::view<float const, 3>(k.data(), keys),
              heddle::view<float const, 3>(v.data(), keys), heddle::view<float, 3>(whole.data(), queries),
              heddle::view<float, 2>(sums.data(), heddle::dims<2>(1, o.queries)), at::options<at::full>{});
  exec.synchronize();
  return whole == out && sums == lse;
}

int run(int argc, char** argv) {
  options o;
  examples::flags f(
      "Attends to a stream of keys and values that is never stored: memory does not depend on its length. Online "
      "softmax is from Milakov and Gimelshein 2018, its use for attention from Rabe and Staats 2021.");
  declare(f, o);
  f.parse(argc, argv);
  std::vector<float> out, lse;
  index_t const some = stream(o, (o.keys + 9) / 10, out, lse), all = stream(o, o.keys, out, lse);
  std::printf("%lld keys: %lld bytes alive at most; %lld keys: %lld bytes\n", static_cast<long long>((o.keys + 9) / 10),
              static_cast<long long>(some), static_cast<long long>(o.keys), static_cast<long long>(all));
  std::printf("query 0: output %g %s, log-sum-exp %g\n", double(out[0]), o.columns > 1 ? "..." : "", double(lse[0]));
  bool right = some == all;
  if (o.check) {
    bool const same = same_as_whole(o, out, lse);
    std::printf("attention over the whole stream, which takes %lld bytes: %s\n",
                static_cast<long long>(2 * o.keys * o.columns * index_t{sizeof(float)}),
                same ? "the same bits" : "another result");
    right = right && same;
  }
  return right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return examples::run_main(argc, argv, run); }
