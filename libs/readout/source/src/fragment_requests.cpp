// FragmentBuffer: requests, waiting ones included, and their answers.
#include <weir/source/fragment_buffer.hpp>

#include <algorithm>

namespace weir::source {

void FragmentBuffer::request(const RequestedFragment& request, AnswerSink& sink) {
  const std::uint32_t column = column_of(request.source);
  if (column == kNone) return answer_missing(request, MissingReason::unknown_source, sink);
  const std::uint32_t at = index_.find(request.slice);
  if (at != SliceIndex::kNone) {
    Entry& entry = entries_[at];
    if (entry.state == State::held) {
      const SourceFragment& fragment = rows_[entry.row][column];
      return is_pending(fragment) ? park(entry.parked, request, sink) : answer(request, fragment, sink);
    }
    return park(entry.parked, request, sink);
  }
  const MissingReason reason = reason_of_absent(request.slice);
  if (reason != MissingReason::none) return answer_missing(request, reason, sink);
  if (parked_.size() >= limits_.parked_max) return answer_missing(request, MissingReason::overflow, sink);
  early_lowest_ = early_.empty() ? request.slice : std::min(early_lowest_, request.slice);
  park(early_[request.slice.value], request, sink);
}

void FragmentBuffer::forget(std::uint32_t connection) {
  const auto drop = [&](const RequestedFragment& request) { return request.connection == connection; };
  for (Entry& entry : entries_) counters_.forgotten += parked_.drop_if(entry.parked, drop);
  for (auto at = early_.begin(); at != early_.end();) {
    const auto here = at++;
    counters_.forgotten += parked_.drop_if(here->second, drop);
    if (here->second.empty()) early_.erase(here);
  }
  counters_.parked = parked_.size();
}

void FragmentBuffer::cancel(std::uint32_t connection, SliceId slice, Attempt attempt, AnswerSink& sink) {
  // Every request is answered, because the DCM counts the outstanding answers.
  const auto give_up = [&](const RequestedFragment& request) {
    if (request.connection != connection || request.attempt != attempt) return false;
    answer_missing(request, MissingReason::deadline, sink);
    return true;
  };
  const std::uint32_t at = index_.find(slice);
  if (at != SliceIndex::kNone) {
    parked_.drop_if(entries_[at].parked, give_up);
  } else if (const auto early = early_.find(slice.value); early != early_.end()) {
    parked_.drop_if(early->second, give_up);
    if (early->second.empty()) early_.erase(early);
  }
  counters_.parked = parked_.size();
}

void FragmentBuffer::answer(const RequestedFragment& request, const SourceFragment& fragment,
                            AnswerSink& sink) {
  if (fragment.status == FragmentStatus::missing) {
    ++counters_.missing[static_cast<std::size_t>(fragment.reason)];
  } else {
    ++counters_.served;
  }
  sink.answer(request, fragment);
}

void FragmentBuffer::answer_missing(const RequestedFragment& request, MissingReason reason,
                                    AnswerSink& sink) {
  answer(request, missing_fragment(reason), sink);
}

void FragmentBuffer::answer_all_missing(ParkedRequests::List& list, MissingReason reason, AnswerSink& sink) {
  parked_.take(list, [&](const RequestedFragment& request) { answer_missing(request, reason, sink); });
  counters_.parked = parked_.size();
}

void FragmentBuffer::park(ParkedRequests::List& list, const RequestedFragment& request, AnswerSink& sink) {
  if (!parked_.park(list, request)) return answer_missing(request, MissingReason::overflow, sink);
  ++counters_.parked_total;
  counters_.parked = parked_.size();
}

void FragmentBuffer::answer_early(SliceId slice, MissingReason reason, AnswerSink& sink) {
  const auto at = early_.find(slice.value);
  if (at == early_.end()) return;
  answer_all_missing(at->second, reason, sink);
  early_.erase(at);
}

}  // namespace weir::source
