#pragma once

#include <weir/base/ids.hpp>
#include <weir/base/time.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

namespace weir::dcm {

// The requests that one readout has not answered yet, for a shaper that learns from how long answers take.
// At most kMax: the oldest are forgotten. Pure; one thread.
class Questions {
 public:
  static constexpr std::size_t kMax = 4096;

  struct Question {
    SliceId slice;
    std::uint32_t offset = 0;     // of the range that was asked for, bytes
    std::uint32_t fragments = 0;  // not answered yet
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
  // The request that was answered last, when it is the one that is meant; it is told once.
  [[nodiscard]] std::optional<Question> take_answered(SliceId slice, std::uint32_t offset);
  // The slice has left: what comes of it answers nothing.
  void forget(SliceId slice);
  void clear();
  [[nodiscard]] bool empty() const { return waiting_.empty(); }

 private:
  std::deque<Question> waiting_;  // oldest first
  std::optional<Question> answered_;
};

}  // namespace weir::dcm
