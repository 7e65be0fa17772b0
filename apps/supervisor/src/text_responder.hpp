#pragma once

#include <weir/assignment/answered_triggers.hpp>
#include <weir/assignment/trigger_source.hpp>
#include <weir/base/ids.hpp>
#include <weir/security/keys.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace weir::supervisor {

struct TextSettings {
  std::string farm;
  RunNumber run;
  std::optional<security::FarmKeys> keys;  // nullopt: requests need no proof
  std::uint64_t claim = 0;                 // of the run: its challenge depends on it
};

enum class TextRefusal : std::uint8_t { line, number, mac, old, clients };
constexpr std::array<std::string_view, 5> kTextRefusals = {"line", "number", "mac", "old", "clients"};

struct TextCounters {
  std::uint64_t repeated = 0;
  std::array<std::uint64_t, kTextRefusals.size()> refused{};  // by TextRefusal
  std::uint64_t made_room = 0;                                // connections closed for another one
};

// Answers the requests of trigger clients, line by line (docs/triggers.md). No socket, no clock; one thread.
class TextResponder {
 public:
  // Offers a trigger to the farm.
  using Offer = std::function<slice_rows::OfferResult(const assignment::TriggerOffer& trigger)>;
  // Records the answer to a numbered trigger, before that answer leaves.
  using Note = std::function<void(const assignment::NumberedAnswer& answer)>;

  // `answered` outlives this object.
  TextResponder(TextSettings settings, assignment::AnsweredTriggers& answered, Offer offer, Note note);

  // Returns the answer to a line without its line feed; empty for an empty line or a comment. `datagram`: the
  // network may repeat the line.
  [[nodiscard]] std::string respond(std::string_view line, bool datagram);
  [[nodiscard]] TextCounters& counters() { return counters_; }

 private:
  [[nodiscard]] std::string respond(const slice_rows::TextRequest& request, bool datagram);
  [[nodiscard]] std::string refuse(TextRefusal why, const std::string& text,
                                   const slice_rows::TriggerNumber& number);

  TextSettings settings_;
  std::string challenge_;  // empty without keys
  assignment::AnsweredTriggers& answered_;
  Offer offer_;
  Note note_;
  TextCounters counters_;
};

}  // namespace weir::supervisor
