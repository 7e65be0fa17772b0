#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace weir::tap {

// A stream from which a tap takes its samples.
struct TapStream {
  std::string_view name;
  bool raw = false;            // every slice before its filter; otherwise before its writer
  std::uint64_t accepted = 0;  // not raw: slices that were accepted into one of these (weir_filter.h)
};

[[nodiscard]] std::span<const TapStream> streams();
// Returns null for an unknown name.
[[nodiscard]] const TapStream* find_stream(std::string_view name);
[[nodiscard]] std::string stream_names();  // "raw, accepted, ..."

// Checks a client's id for its taps: 16 lower-case hex digits, different for each client.
[[nodiscard]] bool good_id(std::string_view id);
// Returns "tap.raw.0123456789abcdef.", to be followed by a DCM's name. Each client has tags of its own, so
// that it receives only its own samples, and so that the queue of a client that has stopped reading ends with
// its lease.
[[nodiscard]] std::string tag_prefix(std::string_view stream, std::string_view id);

}  // namespace weir::tap
