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
  [[nodiscard]] bool empty() const { return oldest_ == waiting_.size(); }

 private:
  void answer_some(const Answer& answer);
  void drop_answered();
  void keep_answered();

  std::vector<Question> waiting_;  // from oldest_ on; those before it are answered
  std::size_t oldest_ = 0;
  bool answered_in_front_ = false;    // the last answered request is the one before oldest_
  std::optional<Question> answered_;  // otherwise
};

}  // namespace weir::dcm
