// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

/// @file
/// What the fuzz targets share. With HEDDLE_LIBFUZZER the entry point is libFuzzer's; else `main` replays a corpus
/// and a fixed number of random mutations of it.

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);

namespace heddle::test {

/// Ends the program where a property does not hold, which both drivers notice.
inline void must(bool holds, char const* what) {
  if (holds) return;
  std::fprintf(stderr, "property broken: %s\n", what);
  std::abort();
}

struct random_bits {
  std::uint64_t state = 0x9e3779b97f4a7c15u;
  std::uint64_t next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  }
  std::size_t below(std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(next() % n); }
};

inline std::string mutated(std::vector<std::string> const& corpus, std::vector<std::string> const& words,
                           random_bits& random) {
  std::string s = corpus[random.below(corpus.size())];
  for (std::size_t k = random.below(4) + 1; k > 0; --k) {
    std::size_t const at = random.below(s.size() + 1);
    switch (random.below(6)) {
      case 0: s.insert(at, 1, static_cast<char>(random.next())); break;
      case 1: s.erase(at, random.below(4) + 1); break;
      case 2:
        if (at < s.size()) s[at] = static_cast<char>(s[at] ^ (1 << random.below(8)));
        break;
      case 3: s.insert(at, words[random.below(words.size())]); break;
      case 4: s = s.substr(0, at); break;
      default: {
        std::string const& other = corpus[random.below(corpus.size())];
        std::size_t const from = random.below(other.size() + 1);
        s.insert(at, other.substr(from, random.below(40)));
      }
    }
  }
  return s;
}

inline int replay(std::vector<std::string> const& corpus, std::vector<std::string> const& words) {
  auto run = [](std::string const& s) {
    LLVMFuzzerTestOneInput(reinterpret_cast<std::uint8_t const*>(s.data()), s.size());
  };
  for (std::string const& s : corpus) run(s);
  random_bits random;
  constexpr int mutations = 20000;
  for (int i = 0; i < mutations; ++i) run(mutated(corpus, words, random));
  std::printf("%zu inputs and %d mutations hold every property\n", corpus.size(), mutations);
  return 0;
}

}  // namespace heddle::test
