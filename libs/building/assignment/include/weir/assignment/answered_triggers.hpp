#pragma once

#include <weir/assignment/words.hpp>
#include <weir/slice_rows/trigger_text.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace weir::assignment {

// For the journal: an answer to a numbered trigger.
struct NumberedAnswer {
  std::string client;
  std::uint64_t session = 0;
  std::uint64_t number = 0;
  slice_rows::OfferResult answer;
};

// Remembers the answers to the numbered triggers of clients, so that a repeat gets the same answer and makes
// no second slice. Of each client: one session, the highest so far, and the last kNumbersMax numbers of it.
// Pure; one thread.
class AnsweredTriggers {
 public:
  static constexpr std::size_t kNumbersMax = 4096;
  static constexpr std::size_t kClientsMax = 256;

  enum class Found : std::uint8_t {
    fresh,     // not answered yet
    answered,  // `answer` has the answer
    old,       // of an earlier session, or too far below the highest number to be remembered
    full       // of a further client than kClientsMax
  };
  // Requires: number.number > 0.
  [[nodiscard]] Found find(const TriggerNumber& number, OfferResult& answer) const;
  // Requires: find() is fresh.
  void add(const TriggerNumber& number, const OfferResult& answer);

  // All that is remembered: by client, numbers ascending. A client's highest number is its last.
  [[nodiscard]] std::vector<NumberedAnswer> state() const;
  [[nodiscard]] bool empty() const { return clients_.empty(); }

 private:
  struct Slot {
    std::uint64_t number = 0;  // 0: free
    OfferResult answer;
  };
  struct Client {
    std::uint64_t session = 0;
    std::uint64_t highest = 0;
    std::vector<Slot> slots;  // place: number % kNumbersMax
  };
  std::map<std::string, Client, std::less<>> clients_;
};

}  // namespace weir::assignment
