#include "orders.hpp"

#include <weir/node/columns.hpp>

namespace weir::dcm {

using node::at_or_zero;
using node::fits;
Expected<std::vector<assembly::AssignedSlice>, wire::WireError> assignments_of(const v1::Assign& assign) {
  const int rows = assign.slice_size();
  if (!fits(assign.attempt(), rows) || !fits(assign.time_ns(), rows) || !fits(assign.type(), rows) ||
      !fits(assign.order(), rows)) {
    return bad_payload();
  }
  std::vector<assembly::AssignedSlice> assigned(static_cast<std::size_t>(rows));
  for (int i = 0; i < rows; ++i) {
    assembly::AssignedSlice& one = assigned[static_cast<std::size_t>(i)];
    one.slice = SliceId(assign.slice(i));
    one.order = SliceOrder(at_or_zero(assign.order(), i));
    one.attempt = Attempt(static_cast<std::uint16_t>(at_or_zero(assign.attempt(), i)));
    one.time = at_or_zero(assign.time_ns(), i);
    one.duration = assign.duration_ns();
    one.type = TriggerType(at_or_zero(assign.type(), i));
  }
  for (const std::uint32_t index : assign.unfiltered()) {
    if (index < static_cast<std::uint32_t>(rows)) assigned[index].unfiltered = true;
  }
  for (const std::uint32_t index : assign.suspect()) {
    if (index < static_cast<std::uint32_t>(rows)) assigned[index].suspect = true;
  }
  for (const std::uint32_t index : assign.killed()) {
    if (index < static_cast<std::uint32_t>(rows) && assigned[index].kills < UINT8_MAX)
      ++assigned[index].kills;
  }
  for (const v1::Assign::Payload& payload : assign.payload()) {
    if (payload.index() >= static_cast<std::uint32_t>(rows)) continue;
    const auto* bytes = reinterpret_cast<const std::byte*>(payload.bytes().data());
    assigned[payload.index()].payload.assign(bytes, bytes + payload.bytes().size());
  }
  for (const v1::Assign::Forwarded& forwarded : assign.forwarded()) {
    if (forwarded.index() >= static_cast<std::uint32_t>(rows)) continue;
    assembly::AssignedSlice& one = assigned[forwarded.index()];
    const std::string& bytes = forwarded.bytes();
    if (bytes.size() > WEIR_FORWARD_BYTES_MAX || one.forwarded_bytes > 0) return bad_payload();
    const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
    one.payload.insert(one.payload.end(), begin, begin + bytes.size());
    one.forwarded_bytes = static_cast<std::uint16_t>(bytes.size());
  }
  for (const v1::Assign::Kept& kept : assign.kept()) {
    if (kept.index() >= static_cast<std::uint32_t>(rows) || kept.dcm() >= UINT16_MAX) continue;
    assembly::AssignedSlice& one = assigned[kept.index()];
    one.is_kept = true;
    one.kept_by = NodeIndex(static_cast<std::uint16_t>(kept.dcm()));
    one.kept_attempt = Attempt(static_cast<std::uint16_t>(kept.attempt()));
  }
  return assigned;
}

Expected<std::vector<ConfirmedSlice>, wire::WireError> confirmations_of(const v1::Confirm& confirm) {
  const int rows = confirm.slice_size();
  if (!fits(confirm.attempt(), rows) || !fits(confirm.code(), rows) || !fits(confirm.epoch(), rows) ||
      !fits(confirm.writer(), rows)) {
    return bad_payload();
  }
  std::vector<ConfirmedSlice> confirmed(static_cast<std::size_t>(rows));
  for (int i = 0; i < rows; ++i) {
    ConfirmedSlice& one = confirmed[static_cast<std::size_t>(i)];
    one.slice = SliceId(confirm.slice(i));
    one.attempt = Attempt(static_cast<std::uint16_t>(at_or_zero(confirm.attempt(), i)));
    one.code = static_cast<v1::Confirmation>(at_or_zero(confirm.code(), i));
    one.epoch = StoreEpoch(static_cast<std::uint16_t>(at_or_zero(confirm.epoch(), i)));
    one.writer = NodeIndex(static_cast<std::uint16_t>(at_or_zero(confirm.writer(), i)));
  }
  return confirmed;
}

}  // namespace weir::dcm
