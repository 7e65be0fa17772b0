#include <weir/base/assert.hpp>
#include <weir/slice_codec/assign.hpp>
#include <weir/weir_filter.h>

#include <string>

namespace weir::slice_codec {

using slice_rows::AssignedSlice;

static_assert(WEIR_FORWARD_BYTES_MAX <= UINT16_MAX);  // AssignedSlice::forwarded_bytes

namespace {

ConstBytes part_of(ConstBytes payload, std::uint32_t offset, std::uint32_t length) {
  WEIR_ASSERT(std::size_t{offset} + length <= payload.size());
  return payload.subspan(offset, length);
}

}  // namespace

void each_assignment(std::span<const slice_rows::Assignment> rows, ConstBytes payload, bool with_order,
                     v1::Control& out, const SendMessage& send) {
  v1::Assign& assign = *out.mutable_assign();
  assign.Clear();
  std::size_t payload_bytes = 0;
  const auto send_rows = [&] {
    leave_out_zeros(*assign.mutable_attempt());
    leave_out_zeros(*assign.mutable_type());
    send(out);
    assign.mutable_payload()->DeleteSubrange(0, assign.payload_size());  // these may be large, and seldom
    assign.mutable_forwarded()->DeleteSubrange(0, assign.forwarded_size());
    assign.Clear();
    payload_bytes = 0;
  };
  for (const slice_rows::Assignment& one : rows) {
    const bool same_length = assign.slice_size() == 0 || assign.duration_ns() == one.info.duration;
    if (payload_bytes >= kPayloadBytesMax || !same_length) send_rows();
    const auto row = static_cast<std::uint32_t>(assign.slice_size());
    assign.add_slice(one.slice.value);
    assign.add_time_ns(one.info.time);
    assign.add_attempt(one.attempt.value);
    assign.add_type(one.info.type.value);
    assign.set_duration_ns(one.info.duration);
    if (with_order) assign.add_order(one.order.value);
    if (one.unfiltered) assign.add_unfiltered(row);
    if (one.suspect) assign.add_suspect(row);
    if (one.kills > 0) assign.mutable_killed()->Resize(assign.killed_size() + one.kills, row);
    if (one.forwarded_length > 0) {
      const auto bytes = part_of(payload, one.forwarded_offset, one.forwarded_length);
      v1::Assign::Forwarded& forwarded = *assign.add_forwarded();
      forwarded.set_index(row);
      forwarded.set_bytes(bytes.data(), bytes.size());
      payload_bytes += bytes.size();
    }
    if (one.kept_by != slice_rows::kNoNode) {
      v1::Assign::Kept& kept = *assign.add_kept();
      kept.set_index(row);
      kept.set_dcm(one.kept_by.value);
      kept.set_attempt(one.kept_attempt.value);
    }
    if (one.payload_length == 0) continue;
    const auto bytes = part_of(payload, one.payload_offset, one.payload_length);
    v1::Assign::Payload& own = *assign.add_payload();
    own.set_index(row);
    own.set_bytes(bytes.data(), bytes.size());
    payload_bytes += bytes.size();
  }
  if (assign.slice_size() > 0) send_rows();
}

namespace {

void append(const std::string& bytes, std::vector<std::byte>& out) {
  const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
  out.insert(out.end(), begin, begin + bytes.size());
}

// Calls with the row of each index of a list.
template <class Mark>
Expected<void, BadRow> for_each_row(std::string_view name,
                                    const google::protobuf::RepeatedField<std::uint32_t>& list,
                                    const Columns& columns, std::vector<AssignedSlice>& out,
                                    const Mark& mark) {
  for (int i = 0; i < list.size(); ++i) {
    if (!columns.has_row(list[i])) return columns.refuse(name, static_cast<std::size_t>(i));
    mark(out[list[i]]);
  }
  return {};
}

Expected<void, BadRow> put_flags(const v1::Assign& assign, const Columns& columns,
                                 std::vector<AssignedSlice>& out) {
  auto put = for_each_row("unfiltered", assign.unfiltered(), columns, out,
                          [](AssignedSlice& one) { one.unfiltered = true; });
  if (put)
    put = for_each_row("suspect", assign.suspect(), columns, out,
                       [](AssignedSlice& one) { one.suspect = true; });
  if (!put) return put;
  return for_each_row("killed", assign.killed(), columns, out, [](AssignedSlice& one) {
    if (one.kills < UINT8_MAX) ++one.kills;
  });
}

Expected<void, BadRow> put_bytes(const v1::Assign& assign, const Columns& columns,
                                 std::vector<AssignedSlice>& out) {
  for (int i = 0; i < assign.payload_size(); ++i) {
    const v1::Assign::Payload& payload = assign.payload(i);
    if (!columns.has_row(payload.index()) || !out[payload.index()].payload.empty())
      return columns.refuse("payload", static_cast<std::size_t>(i));
    append(payload.bytes(), out[payload.index()].payload);
  }
  for (int i = 0; i < assign.forwarded_size(); ++i) {
    const v1::Assign::Forwarded& forwarded = assign.forwarded(i);
    const std::size_t size = forwarded.bytes().size();
    if (!columns.has_row(forwarded.index()) || size > WEIR_FORWARD_BYTES_MAX ||
        out[forwarded.index()].forwarded_bytes > 0)
      return columns.refuse("forwarded", static_cast<std::size_t>(i));
    append(forwarded.bytes(), out[forwarded.index()].payload);
    out[forwarded.index()].forwarded_bytes = static_cast<std::uint16_t>(size);
  }
  return {};
}

Expected<void, BadRow> put_keepers(const v1::Assign& assign, const Columns& columns,
                                   std::vector<AssignedSlice>& out) {
  for (int i = 0; i < assign.kept_size(); ++i) {
    const v1::Assign::Kept& kept = assign.kept(i);
    if (!columns.has_row(kept.index()) || kept.dcm() >= UINT16_MAX || kept.attempt() > UINT16_MAX)
      return columns.refuse("kept", static_cast<std::size_t>(i));
    AssignedSlice& one = out[kept.index()];
    one.is_kept = true;
    one.kept_by = NodeIndex(static_cast<std::uint16_t>(kept.dcm()));
    one.kept_attempt = Attempt(static_cast<std::uint16_t>(kept.attempt()));
  }
  return {};
}

}  // namespace

Expected<std::vector<AssignedSlice>, BadRow> decode(const v1::Assign& assign) {
  const int rows = assign.slice_size();
  Columns columns("Assign", rows);
  columns.fits_small("attempt", assign.attempt())
      .fits("time_ns", assign.time_ns())
      .fits("type", assign.type())
      .fits("order", assign.order());
  if (columns.are_bad()) return columns.refusal();
  std::vector<AssignedSlice> assigned(static_cast<std::size_t>(rows));
  for (int i = 0; i < rows; ++i) {
    AssignedSlice& one = assigned[static_cast<std::size_t>(i)];
    one.slice = SliceId(assign.slice(i));
    one.order = SliceOrder(at_or_zero(assign.order(), i));
    one.attempt = Attempt(static_cast<std::uint16_t>(at_or_zero(assign.attempt(), i)));
    one.time = at_or_zero(assign.time_ns(), i);
    one.duration = assign.duration_ns();
    one.type = TriggerType(at_or_zero(assign.type(), i));
  }
  for (const auto put : {put_flags, put_bytes, put_keepers}) {
    if (auto good = put(assign, columns, assigned); !good) return Unexpected<BadRow>(good.error());
  }
  return assigned;
}

}  // namespace weir::slice_codec
