#include "pending_requests.hpp"

#include <weir/wire/frame.hpp>

#include <algorithm>
#include <utility>

namespace weir::dcm {
namespace {

constexpr std::ptrdiff_t kSearched = 16;

}  // namespace

void PendingRequests::ask(const Question& question) {
  if (waiting_.size() >= kMax) waiting_.pop_front();
  waiting_.push_back(question);
}

// Answers arrive in the order of the requests, except for slices that the readout does not have yet.
void PendingRequests::answer(const Answer& answer) {
  // An answer without bytes does not identify its range.
  const auto is_meant = [&answer](const Question& question) {
    return question.slice == answer.slice && (answer.length == 0 || question.offset == answer.offset);
  };
  std::uint32_t fragments = answer.fragments;
  std::uint64_t bytes = wire::kHeaderBytes + std::uint64_t{answer.length};
  while (fragments > 0 && !waiting_.empty()) {
    auto found = waiting_.begin();
    if (!is_meant(*found)) {  // hardly ever
      const auto searched = std::min<std::ptrdiff_t>(std::ssize(waiting_), kSearched);
      const auto end = found + searched;
      found = std::find_if(found, end, is_meant);
      if (found == end) {
        // Too many unanswered requests, some of departed slices: drop the oldest, so that they do not hide
        // the others.
        if (searched == kSearched) waiting_.pop_front();
        return;
      }
    }
    const std::uint32_t taken = std::min(found->fragments, fragments);
    const std::uint64_t share = bytes * taken / fragments;
    found->bytes += share;
    found->fragments -= taken;
    bytes -= share;
    fragments -= taken;
    if (found->fragments > 0) continue;
    answered_ = *found;
    if (found == waiting_.begin()) {
      waiting_.pop_front();
    } else {
      waiting_.erase(found);
    }
  }
}

std::optional<PendingRequests::Question> PendingRequests::take_answered(SliceId slice, std::uint32_t offset) {
  if (!answered_ || answered_->slice != slice || answered_->offset != offset) return std::nullopt;
  return std::exchange(answered_, std::nullopt);
}

void PendingRequests::forget(SliceId slice) {
  std::erase_if(waiting_, [slice](const Question& question) { return question.slice == slice; });
}

void PendingRequests::clear() {
  waiting_.clear();
  answered_.reset();
}

}  // namespace weir::dcm
