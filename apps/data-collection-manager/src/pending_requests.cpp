#include "pending_requests.hpp"

#include <weir/wire/frame.hpp>

#include <algorithm>
#include <utility>

namespace weir::dcm {
namespace {

constexpr std::ptrdiff_t kSearched = 16;
constexpr std::size_t kAnsweredMost = 64;  // answered requests that may stay in front; fewer than the others

}  // namespace

void PendingRequests::ask(const Question& question) {
  if (waiting_.size() - oldest_ >= kMax) pop_oldest();
  waiting_.push_back(question);
}

void PendingRequests::pop_oldest() {
  if (++oldest_ == waiting_.size()) {
    waiting_.clear();
    oldest_ = 0;
    return;
  }
  if (oldest_ <= std::max(kAnsweredMost, waiting_.size() / 2)) return;
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(oldest_));
  oldest_ = 0;
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
    const auto oldest = waiting_.begin() + static_cast<std::ptrdiff_t>(oldest_);
    auto found = oldest;
    if (!is_meant(*found)) {  // hardly ever
      const auto searched = std::min<std::ptrdiff_t>(waiting_.end() - oldest, kSearched);
      const auto end = oldest + searched;
      found = std::find_if(found, end, is_meant);
      if (found == end) {
        // Too many unanswered requests, some of departed slices: drop the oldest, so that they do not hide
        // the others.
        if (searched == kSearched) pop_oldest();
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
    if (found == oldest) {
      pop_oldest();
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
  const auto oldest = waiting_.begin() + static_cast<std::ptrdiff_t>(oldest_);
  const auto is_its = [slice](const Question& question) { return question.slice == slice; };
  waiting_.erase(std::remove_if(oldest, waiting_.end(), is_its), waiting_.end());
  if (oldest_ < waiting_.size()) return;
  waiting_.clear();
  oldest_ = 0;
}

void PendingRequests::clear() {
  waiting_.clear();
  oldest_ = 0;
  answered_.reset();
}

}  // namespace weir::dcm
