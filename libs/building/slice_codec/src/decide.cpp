#include <weir/slice_codec/decide.hpp>

#include <string>

namespace weir::slice_codec {

using slice_rows::Answer;
using slice_rows::AttemptDecision;
using slice_rows::Confirmation;
using slice_rows::DiscardReason;
using slice_rows::Verdict;

static_assert(v1::CONFIRMATION_REFUSED == static_cast<int>(Answer::refused) &&
              v1::CONFIRMATION_SETTLED == static_cast<int>(Answer::settled) &&
              v1::CONFIRMATION_STORE == static_cast<int>(Answer::store) &&
              v1::CONFIRMATION_KEEP == static_cast<int>(Answer::keep) &&
              v1::Confirmation_ARRAYSIZE == static_cast<int>(Answer::keep) + 1);

static_assert(v1::Verdict_ARRAYSIZE == v1::VERDICT_FORWARD + 1);  // put_verdict() knows all

namespace {

v1::Verdict code_of(const AttemptDecision& row) {
  switch (row.verdict) {
    case Verdict::reject:
      return row.incomplete ? v1::VERDICT_REJECT_INCOMPLETE : v1::VERDICT_REJECT;
    case Verdict::accept:
      return row.incomplete ? v1::VERDICT_ACCEPT_INCOMPLETE : v1::VERDICT_ACCEPT;
    case Verdict::failed:
      return v1::VERDICT_FAILED;
    case Verdict::held:
      return v1::VERDICT_HELD;
    case Verdict::forward:
      break;
  }
  return v1::VERDICT_FORWARD;
}

bool put_verdict(std::uint32_t code, AttemptDecision& out) {
  switch (code) {
    case v1::VERDICT_REJECT_INCOMPLETE:
      out.incomplete = true;
      [[fallthrough]];
    case v1::VERDICT_REJECT:
      out.verdict = Verdict::reject;
      return true;
    case v1::VERDICT_ACCEPT_INCOMPLETE:
      out.incomplete = true;
      [[fallthrough]];
    case v1::VERDICT_ACCEPT:
      out.verdict = Verdict::accept;
      return true;
    case v1::VERDICT_FORWARD:
      out.verdict = Verdict::forward;
      return true;
    case v1::VERDICT_HELD:
      out.verdict = Verdict::held;
      return true;
    case v1::VERDICT_FAILED:
      out.verdict = Verdict::failed;
      out.reason = DiscardReason::unspecified;
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
Expected<void, BadRow> put_forwards(const v1::Decide& decide, const Columns& columns,
                                    std::vector<AttemptDecision>& out) {
  std::vector<bool> known(out.size());
  for (int i = 0; i < decide.forwards_size(); ++i) {
    const v1::Decide::Forward& forward = decide.forwards(i);
    const std::size_t row = forward.index();
    if (!columns.has_row(forward.index()) || out[row].verdict != Verdict::forward ||
        forward.group() > UINT8_MAX)
      return columns.refuse("forwards", static_cast<std::size_t>(i));
    out[row].group = GroupIndex(static_cast<std::uint8_t>(forward.group()));
    out[row].kept = forward.kept();
    out[row].bytes = {reinterpret_cast<const std::byte*>(forward.bytes().data()), forward.bytes().size()};
    known[row] = true;
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i].verdict == Verdict::forward && !known[i]) return columns.refuse("verdict", i);
  }
  return {};
}

}  // namespace

void append(const AttemptDecision& row, v1::Decide& out) {
  const auto index = static_cast<std::uint32_t>(out.slice_size());
  out.add_slice(row.slice.value);
  out.add_attempt(row.attempt.value);
  add(*out.mutable_verdict(), code_of(row));
  if (row.verdict == Verdict::failed) {
    v1::Decide::Failure& failure = *out.add_failures();
    failure.set_index(index);
    failure.set_reason(std::string(name(row.reason)));
  } else if (row.verdict == Verdict::forward) {
    v1::Decide::Forward& forward = *out.add_forwards();
    forward.set_index(index);
    forward.set_group(row.group.value);
    forward.set_kept(row.kept);
    forward.set_bytes(row.bytes.data(), row.bytes.size());
  }
}

void encode(std::span<const AttemptDecision> rows, v1::Decide& out) {
  out.Clear();
  for (const AttemptDecision& row : rows) append(row, out);
  leave_out_zeros(*out.mutable_attempt());
}

Expected<void, BadRow> decode(const v1::Decide& decide, std::vector<AttemptDecision>& out) {
  const int rows = decide.slice_size();
  Columns columns("Decide", rows);
  columns.fills("verdict", decide.verdict()).fits_small("attempt", decide.attempt());
  if (columns.are_bad()) return columns.refusal();
  out.clear();
  for (int i = 0; i < rows; ++i) {
    AttemptDecision& row = out.emplace_back();
    row.slice = SliceId(decide.slice(i));
    row.attempt = Attempt(static_cast<std::uint16_t>(at_or_zero(decide.attempt(), i)));
    if (!put_verdict(at_or_zero(decide.verdict(), i), row))
      return columns.refuse("verdict", static_cast<std::size_t>(i));
  }
  for (int i = 0; i < decide.failures_size(); ++i) {
    const v1::Decide::Failure& failure = decide.failures(i);
    if (!columns.has_row(failure.index()) || out[failure.index()].verdict != Verdict::failed)
      return columns.refuse("failures", static_cast<std::size_t>(i));
    out[failure.index()].reason = slice_rows::discard_reason(failure.reason());
  }
  if (has_forward(decide)) return put_forwards(decide, columns, out);
  return {};
}

void encode(std::span<const Confirmation> rows, v1::Confirm& out) {
  out.Clear();
  std::string& codes = *out.mutable_code();
  for (const Confirmation& one : rows) {
    out.add_slice(one.slice.value);
    out.add_attempt(one.attempt.value);
    add(codes, static_cast<int>(one.answer));
    out.add_epoch(one.epoch.value);
    out.add_writer(one.answer == Answer::store ? one.writer.value : 0);
  }
  leave_out_zeros(*out.mutable_attempt());
  leave_out_zeros(*out.mutable_epoch());
  leave_out_zeros(*out.mutable_writer());
}

Expected<std::vector<Confirmation>, BadRow> decode(const v1::Confirm& confirm) {
  const int rows = confirm.slice_size();
  Columns columns("Confirm", rows);
  columns.fits_small("attempt", confirm.attempt())
      .fits("code", confirm.code())
      .fits_small("epoch", confirm.epoch())
      .fits_small("writer", confirm.writer());
  if (columns.are_bad()) return columns.refusal();
  std::vector<Confirmation> confirmed(static_cast<std::size_t>(rows));
  for (int i = 0; i < rows; ++i) {
    Confirmation& one = confirmed[static_cast<std::size_t>(i)];
    if (!v1::Confirmation_IsValid(at_or_zero(confirm.code(), i)))
      return columns.refuse("code", static_cast<std::size_t>(i));
    one.slice = SliceId(confirm.slice(i));
    one.attempt = Attempt(static_cast<std::uint16_t>(at_or_zero(confirm.attempt(), i)));
    one.answer = static_cast<Answer>(at_or_zero(confirm.code(), i));
    one.epoch = StoreEpoch(static_cast<std::uint16_t>(at_or_zero(confirm.epoch(), i)));
    one.writer = NodeIndex(static_cast<std::uint16_t>(at_or_zero(confirm.writer(), i)));
  }
  return confirmed;
}

}  // namespace weir::slice_codec
