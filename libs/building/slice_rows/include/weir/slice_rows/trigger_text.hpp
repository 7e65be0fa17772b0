#pragma once

#include <weir/base/expected.hpp>
#include <weir/slice_rows/words.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Requests and answers of trigger clients as lines of text; docs/triggers.md describes every word. Pure.
namespace weir::slice_rows {

constexpr std::size_t kTextLineMax = 8192;     // bytes without the line feed
constexpr std::size_t kTextPayloadMax = 4000;  // bytes of `data`
constexpr std::size_t kTextClientMax = 64;     // characters of `client`

// The identity of a trigger: the answer to it never changes in a run. number 0: none.
struct TriggerNumber {
  std::string_view client;
  std::uint64_t session = 0;
  std::uint64_t number = 0;
};

struct TextRequest {
  enum class Kind : std::uint8_t { nothing, hello, trigger };
  Kind kind = Kind::nothing;
  std::optional<SliceId> slice;
  UtcNs time = 0;  // 0: now
  TriggerType type;
  std::vector<std::byte> payload;
  TriggerNumber number;
  std::string_view signed_part;  // the line before " mac="
  std::string_view mac;          // hexadecimal; empty: none
};

// Parses a line without its line feed. The views of the request refer to the line. Errors: the text after
// "error ".
[[nodiscard]] Expected<TextRequest, std::string> parse_trigger_text(std::string_view line);

// The answer to an offered trigger.
struct OfferResult {
  bool taken = false;
  SliceId slice;                         // if taken
  VetoReason reason = VetoReason::none;  // otherwise; none: no run has begun
  bool operator==(const OfferResult&) const = default;
};
// Returns the reason's name for clients. Requires: not taken.
[[nodiscard]] std::string_view busy_name(const OfferResult& answer);

// Return the answer's line, with its line feed.
[[nodiscard]] std::string to_text(const OfferResult& answer, const TriggerNumber& number);
[[nodiscard]] std::string error_text(std::string_view what, const TriggerNumber& number);

}  // namespace weir::slice_rows
