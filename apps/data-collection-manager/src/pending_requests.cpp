#include "pending_requests.hpp"

#include <weir/wire/frame.hpp>

#include <algorithm>
#include <utility>

namespace weir::dcm {
namespace {

constexpr std::ptrdiff_t kSearched = 16;
constexpr std::size_t kAnsweredMost = 64;  // answered requests that may stay in front; fewer than the others

// An answer without bytes does not identify its range.
bool is_meant(const PendingRequests::Question& question, const PendingRequests::Answer& answer) {
  return question.slice == answer.slice && (answer.length == 0 || question.offset == answer.offset);
}

}  // namespace

void PendingRequests::ask(const Question& question) {
  if (waiting_.size() - oldest_ >= kMax) {
    keep_answered();
    ++oldest_;
  }
  if (oldest_ > std::max(kAnsweredMost, waiting_.size() / 2)) drop_answered();
  waiting_.push_back(question);
}

void PendingRequests::keep_answered() {
  if (std::exchange(answered_in_front_, false)) answered_ = waiting_[oldest_ - 1];
}

void PendingRequests::drop_answered() {
  keep_answered();
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(oldest_));
  oldest_ = 0;
}

// Answers arrive in the order of the requests, except for slices that the readout does not have yet.
void PendingRequests::answer(const Answer& answer) {
  if (empty()) return;
  Question& oldest = waiting_[oldest_];
  if (oldest.fragments != answer.fragments || !is_meant(oldest, answer)) return answer_some(answer);
  oldest.bytes += wire::kHeaderBytes + std::uint64_t{answer.length};
  ++oldest_;
  answered_in_front_ = true;
  answered_.reset();
}

// The answer has another number of fragments than the oldest request, or is not meant for it.
void PendingRequests::answer_some(const Answer& answer) {
  std::uint32_t fragments = answer.fragments;
  std::uint64_t bytes = wire::kHeaderBytes + std::uint64_t{answer.length};
  while (fragments > 0 && !empty()) {
    const auto oldest = waiting_.begin() + static_cast<std::ptrdiff_t>(oldest_);
    const auto searched = std::min<std::ptrdiff_t>(waiting_.end() - oldest, kSearched);
    const auto end = oldest + searched;
    const auto found =
        std::find_if(oldest, end, [&answer](const Question& one) { return is_meant(one, answer); });
    if (found == end) {
      // Too many unanswered requests, some of departed slices: drop the oldest, so that they do not hide
      // the others.
      if (searched < kSearched) return;
      keep_answered();
      ++oldest_;
      return;
    }
    const std::uint32_t taken = std::min(found->fragments, fragments);
    const std::uint64_t share = bytes * taken / fragments;
    found->bytes += share;
    found->fragments -= taken;
    bytes -= share;
    fragments -= taken;
    if (found->fragments > 0) continue;
    answered_ = *found;
    answered_in_front_ = false;
    if (found == oldest) {
      ++oldest_;
    } else {
      waiting_.erase(found);
    }
  }
}

std::optional<PendingRequests::Question> PendingRequests::take_answered(SliceId slice, std::uint32_t offset) {
  keep_answered();
  if (!answered_ || answered_->slice != slice || answered_->offset != offset) return std::nullopt;
  return std::exchange(answered_, std::nullopt);
}

void PendingRequests::forget(SliceId slice) {
  const auto oldest = waiting_.begin() + static_cast<std::ptrdiff_t>(oldest_);
  const auto is_its = [slice](const Question& question) { return question.slice == slice; };
  waiting_.erase(std::remove_if(oldest, waiting_.end(), is_its), waiting_.end());
}

void PendingRequests::clear() {
  waiting_.clear();
  oldest_ = 0;
  answered_in_front_ = false;
  answered_.reset();
}

}  // namespace weir::dcm
