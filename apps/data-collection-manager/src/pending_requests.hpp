#pragma once

#include <weir/base/ids.hpp>
#include <weir/base/time.hpp>
#include <weir/wire/frame.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace weir::dcm {

// The requests to one readout that it may still report, for a shaper that learns from answer times. A readout
// reports some of the answers that it sends at once, each directly behind it, and so in the order of the
// requests. At most kMax requests: the oldest are forgotten. Pure; one thread.
class PendingRequests {
 public:
  static constexpr std::size_t kMax = 4096;

  struct Question {
    SliceId slice;
    std::uint32_t offset = 0;  // of the requested range, bytes
    std::uint32_t fragments = 0;
    TimeNs asked_ns = 0;
    std::uint64_t owed = 0;  // bytes that the readout owed before, as expected
  };
  // A frame that answers.
  struct Answer {
    SliceId slice;
    std::uint32_t offset = 0;
    std::uint32_t fragments = 0;
    std::uint32_t length = 0;  // of its payload, bytes
  };
  struct Answered {
    TimeNs asked_ns = 0;
    std::uint64_t owed = 0;
    std::uint64_t bytes = 0;  // of the answer, headers included
  };

  void ask(const Question& question) {
    if (asked_.size() == room_) make_room();
    asked_.push_back(question);
  }
  // Adds up the frames with the same slice and offset as the last one.
  void answer(const Answer& answer) {
    const bool same = answer.slice == last_.slice && answer.offset == last_.offset;
    const std::uint32_t before = same ? last_.fragments : 0;
    last_ = answer;
    last_.fragments += before;
    bytes_ = (same ? bytes_ : 0) + wire::kHeaderBytes + answer.length;
  }
  // Returns the request with this slice and offset, if the last frames answered it. Forgets it and all before
  // it: a readout reports neither earlier answers nor those that it could not send at once.
  [[nodiscard]] std::optional<Answered> take_answered(SliceId slice, std::uint32_t offset);
  void clear() { *this = {}; }

 private:
  void make_room();

  std::vector<Question> asked_;  // from oldest_ on; those before it are forgotten
  std::size_t oldest_ = 0;
  std::size_t room_ = 64;    // questions, before the first ones are removed
  Answer last_;              // with the fragments of all last frames
  std::uint64_t bytes_ = 0;  // of these, headers included
};

}  // namespace weir::dcm
