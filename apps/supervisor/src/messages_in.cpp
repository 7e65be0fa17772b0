#include "messages_in.hpp"

#include <weir/node/columns.hpp>
#include <weir/slice_rows/reasons.hpp>

#include <algorithm>
#include <iterator>

namespace weir::supervisor {
namespace {

Unexpected<wire::WireError> bad_payload() {
  return Unexpected<wire::WireError>(wire::WireError::bad_payload);
}

// False: not one of v1::Verdict, and no guess is safe: a wrong one would throw the slice away.
bool put_verdict(std::uint32_t verdict, assignment::AttemptDecision& out) {
  switch (verdict) {
    case v1::VERDICT_REJECT_INCOMPLETE:
      out.incomplete = true;
      [[fallthrough]];
    case v1::VERDICT_REJECT:
      out.verdict = slice_rows::Verdict::reject;
      return true;
    case v1::VERDICT_ACCEPT_INCOMPLETE:
      out.incomplete = true;
      [[fallthrough]];
    case v1::VERDICT_ACCEPT:
      out.verdict = slice_rows::Verdict::accept;
      return true;
    case v1::VERDICT_FORWARD:
      out.verdict = slice_rows::Verdict::forward;
      return true;
    case v1::VERDICT_HELD:
      out.verdict = slice_rows::Verdict::held;
      return true;
    case v1::VERDICT_FAILED:
      out.verdict = slice_rows::Verdict::failed;
      out.reason = slice_rows::DiscardReason::unspecified;
      return true;
    default:
      return false;
  }
}

bool has_forward(const v1::Decide& decide) {
  return decide.forwards_size() > 0 ||
         decide.verdict().find(static_cast<char>(v1::VERDICT_FORWARD)) != std::string::npos;
}

// Each forwarded slice needs its group.
bool put_forwards(const v1::Decide& decide, std::vector<assignment::AttemptDecision>& out) {
  std::vector<bool> known(out.size());
  for (const v1::Decide::Forward& forward : decide.forwards()) {
    const std::size_t row = forward.index();
    if (row >= out.size() || out[row].verdict != slice_rows::Verdict::forward || forward.group() > UINT8_MAX)
      return false;
    out[row].group = GroupIndex(static_cast<std::uint8_t>(forward.group()));
    out[row].kept = forward.kept();
    out[row].bytes = {reinterpret_cast<const std::byte*>(forward.bytes().data()), forward.bytes().size()};
    known[row] = true;
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i].verdict == slice_rows::Verdict::forward && !known[i]) return false;
  }
  return true;
}

}  // namespace

Expected<void, wire::WireError> take_decisions(const v1::Decide& decide,
                                               std::vector<assignment::AttemptDecision>& out) {
  const int rows = decide.slice_size();
  const int attempts = decide.attempt_size();
  if (std::ssize(decide.verdict()) != rows || (attempts != 0 && attempts != rows)) return bad_payload();
  out.clear();
  for (int i = 0; i < rows; ++i) {
    assignment::AttemptDecision decision;
    decision.slice = SliceId(decide.slice(i));
    if (!put_verdict(node::at_or_zero(decide.verdict(), i), decision)) return bad_payload();
    if (attempts != 0) decision.attempt = Attempt(static_cast<std::uint16_t>(decide.attempt(i)));
    out.push_back(decision);
  }
  for (const v1::Decide::Failure& failure : decide.failures()) {
    if (failure.index() < out.size())
      out[failure.index()].reason = slice_rows::discard_reason(failure.reason());
  }
  if (has_forward(decide) && !put_forwards(decide, out)) return bad_payload();
  return {};
}

Expected<assignment::FilterNote, wire::WireError> filter_note_of(const v1::Filtering& filtering) {
  if (filtering.attempt_size() != filtering.slice_size()) return bad_payload();
  const auto lease = [](std::uint64_t slice, std::uint32_t attempt) {
    return assignment::Lease{SliceId(slice), Attempt(static_cast<std::uint16_t>(attempt))};
  };
  assignment::FilterNote note;
  for (int i = 0; i < filtering.slice_size(); ++i)
    note.for_long.push_back(lease(filtering.slice(i), filtering.attempt(i)));
  if (filtering.has_alone()) note.alone = lease(filtering.alone(), filtering.alone_attempt());
  return note;
}

Expected<std::vector<assignment::FilterKill>, wire::WireError> filter_kills_of(
    const v1::FilterKills& message) {
  const int rows = message.slice_size();
  if (message.attempt_size() != rows || message.number_size() != rows) return bad_payload();
  std::vector<assignment::FilterKill> kills;
  for (int i = 0; i < rows; ++i)
    kills.push_back({SliceId(message.slice(i)), Attempt(static_cast<std::uint16_t>(message.attempt(i))),
                     message.number(i)});
  return kills;
}

Expected<std::vector<assignment::Lease>, wire::WireError> fetched_of(const v1::Fetched& fetched) {
  const int rows = fetched.slice_size();
  if (fetched.attempt_size() != rows) return bad_payload();
  std::vector<assignment::Lease> slices;
  for (int i = 0; i < rows; ++i)
    slices.push_back({SliceId(fetched.slice(i)), Attempt(static_cast<std::uint16_t>(fetched.attempt(i)))});
  return slices;
}

Expected<std::vector<NodeIndex>, wire::WireError> lost_of(
    const google::protobuf::RepeatedField<std::uint32_t>& lost, std::size_t places) {
  std::vector<NodeIndex> out;
  for (const std::uint32_t index : lost) {
    if (index >= places) return bad_payload();
    out.emplace_back(static_cast<std::uint16_t>(index));
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace weir::supervisor
