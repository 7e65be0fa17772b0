#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace weir::tap {

// What a tap takes its samples of.
struct Stream {
  std::string_view name;
  bool raw = false;            // every slice as it goes to its filter first; else: as it goes to its writer
  std::uint64_t accepted = 0;  // not raw: slices that were accepted into one of these (weir_filter.h)
};

[[nodiscard]] std::span<const Stream> streams();
// None of that name: null.
[[nodiscard]] const Stream* find_stream(std::string_view name);
[[nodiscard]] std::string stream_names();  // "raw, accepted, ..."

// 16 hex digits, small letters: what a client calls its taps, another one for each client.
[[nodiscard]] bool good_id(std::string_view id);
// "tap.raw.0123456789abcdef.": a DCM's name follows. Each client has tags of its own, so that it gets what it
// asked for and nothing else, and so that a client that reads no more ends what waits for it with its lease.
[[nodiscard]] std::string tag_prefix(std::string_view stream, std::string_view id);

}  // namespace weir::tap
