#pragma once

#include <weir/base/ids.hpp>
#include <weir/base/time.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace weir::dcm {

// The unanswered requests to one readout, for a shaper that learns from answer times. At most kMax: the
// oldest are forgotten. Pure; one thread.
class PendingRequests {
 public:
  static constexpr std::size_t kMax = 4096;

  struct Question {
    SliceId slice;
    std::uint32_t offset = 0;     // of the requested range, bytes
    std::uint32_t fragments = 0;  // unanswered fragments
    TimeNs asked_ns = 0;
    std::uint64_t owed = 0;   // bytes that the readout owed before, as expected
    std::uint64_t bytes = 0;  // of the answer, headers included
  };
  // A frame that answers.
  struct Answer {
    SliceId slice;
    std::uint32_t offset = 0;
    std::uint32_t fragments = 0;
    std::uint32_t length = 0;  // of its payload, bytes
  };

  void ask(const Question& question);
  // Its fragments answer the oldest requests that they fit: one block may answer several.
  void answer(const Answer& answer);
  // Returns the last answered request if it is the given one; returns it once.
  [[nodiscard]] std::optional<Question> take_answered(SliceId slice, std::uint32_t offset);
  // The slice has left: later data of it answers no request.
  void forget(SliceId slice);
  void clear();
  [[nodiscard]] bool empty() const { return waiting_.empty(); }

 private:
  void pop_oldest();

  std::vector<Question> waiting_;  // from oldest_ on; empty if all are answered
  std::size_t oldest_ = 0;
  std::optional<Question> answered_;
};

}  // namespace weir::dcm
