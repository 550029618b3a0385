// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/checkpoint/file.hpp>
#include <heddle/checkpoint/json.hpp>
#include <heddle/model/detail/gpt2_pieces.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::model {

namespace detail {

/// The printable stand-in of each byte in GPT-2's files: itself where it prints, else a code point from 256 on.
struct byte_alphabet {
  std::uint32_t code[256];
  int byte[324];  // of a code point, or -1

  HEDDLE_FN byte_alphabet() noexcept {
    for (int& b : byte) b = -1;
    std::uint32_t next = 256;
    for (int b = 0; b < 256; ++b) {
      bool const prints = (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
      code[b] = prints ? static_cast<std::uint32_t>(b) : next++;
      byte[code[b]] = b;
    }
  }
  byte_alphabet(byte_alphabet const&) = delete;
  byte_alphabet& operator=(byte_alphabet const&) = delete;
  HEDDLE_FN ~byte_alphabet() = default;

  /// The bytes that a text of stand-ins means; false where it has another character.
  HEDDLE_FN bool bytes_of(std::string_view text, std::string& out) const {
    out.clear();
    for (std::size_t at = 0; at < text.size();) {
      unsigned const first = static_cast<unsigned char>(text[at]);
      std::uint32_t c = first;
      if (first >= 0x80) {
        if (first < 0xc2 || first >= 0xe0 || at + 1 >= text.size()) return false;  // no UTF-8, or beyond the alphabet
        unsigned const next = static_cast<unsigned char>(text[at + 1]);
        if ((next & 0xc0) != 0x80) return false;
        c = ((first & 0x1f) << 6) | (next & 0x3f);
      }
      if (c >= 324 || byte[c] < 0) return false;
      out += static_cast<char>(byte[c]);
      at += first >= 0x80 ? 2 : 1;
    }
    return true;
  }
};

}  // namespace detail

/// Byte-level byte pair encoding as GPT-2 has it: text is cut into pieces (words with the space before them, numbers,
/// runs of signs, white space), and inside a piece the pair that was learned first is merged until none is left.
///
/// Post: any bytes can be encoded, and decode(encode(text)) == text. The tokens are those of the original for ASCII; in
/// other text every character counts as a letter when pieces are cut, where GPT-2 asks Unicode: signs, spaces and
/// digits beyond ASCII may so be joined to the letters beside them. Special tokens are not looked for in text.
/// Complexity: O(n) for ordinary text; a piece of n bytes takes at most O(n^2 log merges).
/// Source: Radford et al. 2019; Sennrich et al. 2016.
class bpe {
 public:
  HEDDLE_FN bpe() = default;
  HEDDLE_FN bpe(bpe const&) = default;
  HEDDLE_FN bpe(bpe&&) noexcept = default;
  HEDDLE_FN bpe& operator=(bpe const&) = default;
  HEDDLE_FN bpe& operator=(bpe&&) noexcept = default;
  HEDDLE_FN ~bpe() = default;

  /// Tokens are 0 .. size() - 1.
  HEDDLE_FN index_t size() const noexcept { return static_cast<index_t>(bytes_.size()); }

  HEDDLE_FN std::vector<std::int32_t> encode(std::string_view text) const {
    std::vector<std::int32_t> out;
    for (std::size_t at = 0; at < text.size();) {
      std::size_t const end = at + detail::gpt2_piece(text.substr(at));
      encode_piece(text.substr(at, end - at), out);
      at = end;
    }
    return out;
  }
  /// The bytes of one token; part of a character where the token is. Pre: 0 <= token < size().
  HEDDLE_FN std::string_view bytes(std::int32_t token) const {
    HEDDLE_EXPECTS(token >= 0 && token < size(), "a token must be in the vocabulary", token, size());
    return bytes_[static_cast<std::size_t>(token)];
  }
  HEDDLE_FN std::string decode(std::vector<std::int32_t> const& tokens) const {
    std::string out;
    for (std::int32_t t : tokens) out += bytes(t);
    return out;
  }
  /// The token with these bytes, or -1. Complexity: logarithmic.
  HEDDLE_FN std::int32_t find(std::string_view bytes) const {
    auto const at = std::lower_bound(by_bytes_.begin(), by_bytes_.end(), bytes,
                                     [this](std::int32_t t, std::string_view b) { return bytes_[index(t)] < b; });
    return at != by_bytes_.end() && bytes_[index(*at)] == bytes ? *at : -1;
  }

 private:
  friend HEDDLE_FN checkpoint::report read_bpe(std::string_view vocab, std::string_view merges, bpe& out);

  struct merge {
    std::int32_t left, right, rank, result;
    HEDDLE_FN friend bool operator<(merge const& a, merge const& b) noexcept {
      return a.left != b.left ? a.left < b.left : a.right < b.right;
    }
  };
  static HEDDLE_FN std::size_t index(std::int32_t t) noexcept { return static_cast<std::size_t>(t); }

  HEDDLE_FN merge const* find_merge(std::int32_t left, std::int32_t right) const {
    auto const at = std::lower_bound(merges_.begin(), merges_.end(), merge{left, right, 0, 0});
    return at != merges_.end() && at->left == left && at->right == right ? &*at : nullptr;
  }
  HEDDLE_FN void encode_piece(std::string_view piece, std::vector<std::int32_t>& out) const {
    std::size_t const first = out.size();
    for (char c : piece) out.push_back(single_[static_cast<unsigned char>(c)]);
    for (;;) {
      merge const* best = nullptr;
      for (std::size_t i = first; i + 1 < out.size(); ++i)
        if (merge const* m = find_merge(out[i], out[i + 1]); m && (!best || m->rank < best->rank)) best = m;
      if (!best) return;
      std::size_t to = first;  // every occurrence, from the left
      for (std::size_t i = first; i < out.size(); ++to) {
        bool const here = i + 1 < out.size() && out[i] == best->left && out[i + 1] == best->right;
        out[to] = here ? best->result : out[i];
        i += here ? 2 : 1;
      }
      out.resize(to);
    }
  }

  HEDDLE_FN void read_vocabulary(std::string_view text, detail::byte_alphabet const& alphabet,
                                 checkpoint::report& faults) {
    checkpoint::json root;
    if (!checkpoint::parse_json(text, root, faults)) return;
    if (!root.is(checkpoint::json_kind::object)) return faults.add("", 0, "the vocabulary must be one JSON object");
    std::size_t const n = root.items.size();
    bytes_.assign(n, std::string());
    std::vector<bool> seen(n, false);
    std::string bytes;
    for (std::size_t i = 0; i < n; ++i) {
      checkpoint::json const& item = root.items[i];
      index_t id = 0;
      if (!item.as_index(id) || id >= static_cast<index_t>(n))
        faults.add(root.keys[i], item.position, "must have a number from 0 to " + std::to_string(n - 1));
      else if (seen[static_cast<std::size_t>(id)])
        faults.add(root.keys[i], item.position, "has the number of another token, " + std::to_string(id));
      else if (!alphabet.bytes_of(root.keys[i], bytes) || bytes.empty())
        faults.add(root.keys[i], item.position, "is empty or has a character that stands for no byte");
      else {
        seen[static_cast<std::size_t>(id)] = true;
        bytes_[static_cast<std::size_t>(id)] = bytes;
      }
    }
    for (std::size_t i = 0; i < n; ++i) by_bytes_.push_back(static_cast<std::int32_t>(i));
    std::sort(by_bytes_.begin(), by_bytes_.end(),
              [this](std::int32_t a, std::int32_t b) { return bytes_[index(a)] < bytes_[index(b)]; });
    for (int b = 0; b < 256; ++b) {
      char const c = static_cast<char>(b);
      single_[b] = find(std::string_view(&c, 1));
      if (single_[b] < 0) faults.add("", -1, "the vocabulary lacks the byte " + std::to_string(b));
    }
  }

  HEDDLE_FN void read_merge(std::string_view line, index_t position, detail::byte_alphabet const& alphabet,
                            checkpoint::report& faults) {
    std::size_t const space = line.find(' ');
    std::string left, right;
    if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos ||
        !alphabet.bytes_of(line.substr(0, space), left) || !alphabet.bytes_of(line.substr(space + 1), right))
      return faults.add(std::string(line), position, "is no merge: two tokens with one space between them");
    merge const m{find(left), find(right), static_cast<std::int32_t>(merges_.size()), find(left + right)};
    if (m.left < 0 || m.right < 0 || m.result < 0)
      return faults.add(std::string(line), position, "merges tokens that the vocabulary lacks");
    merges_.push_back(m);
  }

  HEDDLE_FN void read_merges(std::string_view text, detail::byte_alphabet const& alphabet,
                             checkpoint::report& faults) {
    for (std::size_t at = 0; at < text.size();) {
      std::size_t end = text.find('\n', at);
      if (end == std::string_view::npos) end = text.size();
      std::string_view line = text.substr(at, end - at);
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      bool const comment = at == 0 && line.substr(0, 8) == "#version";
      if (!comment && !line.empty()) read_merge(line, static_cast<index_t>(at), alphabet, faults);
      at = end + 1;
    }
    std::sort(merges_.begin(), merges_.end());
    for (std::size_t i = 1; i < merges_.size(); ++i)
      if (!(merges_[i - 1] < merges_[i]))
        faults.add(bytes_[index(merges_[i].result)], -1, "is merged twice from the same pair");
  }

  std::vector<std::string> bytes_;      // of each token
  std::vector<std::int32_t> by_bytes_;  // tokens, sorted by their bytes
  std::vector<merge> merges_;           // sorted by the pair
  std::int32_t single_[256] = {};
};

/// Reads the text of vocab.json and of merges.txt.
///
/// Post: a report of everything that is wrong: JSON that is none, tokens that appear twice, numbers that are no
/// permutation, characters outside the byte alphabet, bytes without a token, merges of unknown tokens. Where it is not
/// clean `out` is empty.
HEDDLE_FN checkpoint::report read_bpe(std::string_view vocab, std::string_view merges, bpe& out) {
  checkpoint::report faults;
  detail::byte_alphabet const alphabet;
  bpe result;
  result.read_vocabulary(vocab, alphabet, faults);
  if (faults) result.read_merges(merges, alphabet, faults);
  out = faults ? std::move(result) : bpe();
  return faults;
}

/// The same from files. Errors: errc::file; errc::format naming the files and the first faults.
HEDDLE_FN bpe load_bpe(std::string const& vocab_path, std::string const& merges_path) {
  constexpr index_t most = 100'000'000;
  bpe result;
  checkpoint::require(read_bpe(checkpoint::read_small_file(vocab_path, most),
                               checkpoint::read_small_file(merges_path, most), result),
                      vocab_path + " with " + merges_path);
  return result;
}

}  // namespace heddle::model
