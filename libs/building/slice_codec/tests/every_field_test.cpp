// Each message about slices, found in the schema: each field survives decoding and encoding, and each entry
// that no process sends is refused.
#include "random_rows.hpp"
#include "weir_catch.hpp"
#include <weir/slice_codec/announce.hpp>
#include <weir/slice_codec/assign.hpp>
#include <weir/slice_codec/decide.hpp>
#include <weir/slice_codec/fetch.hpp>
#include <weir/slice_codec/filtering.hpp>
#include <weir/slice_codec/settled.hpp>
#include <weir/slice_codec/tables.hpp>

#include <google/protobuf/util/message_differencer.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace weir::slice_codec {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using test::RandomRows;
using Trip = std::function<Expected<void, BadRow>(const v1::Control&, v1::Control&)>;

// Messages about slices that other parts write and read: triggers of clients, and slices saved for alerts.
const std::set<std::string> kElsewhere{"BurstStored", "Seen", "TriggerAnswer", "TriggerOffer"};

bool is_about_slices(const google::protobuf::Descriptor& message) {
  for (int i = 0; i < message.field_count(); ++i) {
    const auto& field = *message.field(i);
    if (field.name() == "slice" || field.name() == "from_slice" || field.name() == "from_order") return true;
    if (field.message_type() != nullptr && field.message_type()->containing_type() == &message &&
        is_about_slices(*field.message_type()))
      return true;
  }
  return false;
}

Expected<void, BadRow> assign_trip(const v1::Control& in, v1::Control& out) {
  const auto rows = decode(in.assign());
  if (!rows) return Unexpected<BadRow>(rows.error());
  std::vector<std::byte> payload;
  std::vector<slice_rows::Assignment> sent;
  for (const slice_rows::AssignedSlice& row : *rows) {
    slice_rows::Assignment& one = sent.emplace_back();
    one.slice = row.slice;
    one.order = row.order;
    one.attempt = row.attempt;
    one.info = {row.time, row.duration, row.type};
    one.unfiltered = row.unfiltered;
    one.suspect = row.suspect;
    one.kills = row.kills;
    if (row.is_kept) one.kept_by = row.kept_by;
    one.kept_attempt = row.kept_attempt;
    one.payload_offset = static_cast<std::uint32_t>(payload.size());
    one.payload_length = static_cast<std::uint32_t>(row.trigger_payload().size());
    one.forwarded_offset = one.payload_offset + one.payload_length;
    one.forwarded_length = row.forwarded_bytes;
    payload.insert(payload.end(), row.payload.begin(), row.payload.end());
  }
  v1::Control message;
  each_assignment(sent, payload, true, message, [&out](const v1::Control& one) { out = one; });
  return {};
}

Expected<void, BadRow> announce_trip(const v1::Control& in, v1::Control& out) {
  std::vector<slice_rows::Announcement> rows;
  if (const auto taken = decode(in.announce(), rows); !taken) return taken;
  v1::Control message;
  each_announcement(rows, in.announce().again(), in.announce().utc_ns(), message,
                    [&out](const v1::Control& one) { out = one; });
  return {};
}

Expected<void, BadRow> clear_trip(const v1::Control& in, v1::Control& out) {
  ClearedSlices cleared;
  decode(in.clear(), cleared);
  std::vector<slice_rows::Cleared> rows;
  const std::set<SliceId> stored(cleared.stored.begin(), cleared.stored.end());
  for (const SliceId slice : cleared.slices) {
    rows.emplace_back().slice = slice;
    if (stored.contains(slice)) rows.back().outcome = slice_rows::Outcome::stored;
  }
  encode(rows, true, *out.mutable_clear());
  return {};
}

Expected<void, BadRow> open_trip(const v1::Control& in, v1::Control& out) {
  std::vector<slice_rows::Announcement> rows;
  for (const SliceId slice : decode(in.open_slices())) rows.emplace_back().slice = slice;
  encode(rows, *out.mutable_open_slices());
  return {};
}

Expected<void, BadRow> decide_trip(const v1::Control& in, v1::Control& out) {
  std::vector<slice_rows::AttemptDecision> rows;
  if (const auto taken = decode(in.decide(), rows); !taken) return taken;
  encode(rows, *out.mutable_decide());
  return {};
}

Expected<void, BadRow> settled_trip(const v1::Control& in, v1::Control& out) {
  SettledSlices settled;
  if (const auto taken = decode(in.settled(), settled); !taken) return taken;
  encode(settled.slices, *out.mutable_settled());
  encode(settled.copies, NodeIndex(), *out.mutable_settled());
  return {};
}

Expected<void, BadRow> fetch_trip(const v1::Control& in, v1::Control& out) {
  const auto rows = decode(in.fetch());
  if (!rows) return Unexpected<BadRow>(rows.error());
  for (const slice_rows::FetchRow& row : *rows) append(row, *out.mutable_fetch());
  return {};
}

Expected<void, BadRow> fetched_trip(const v1::Control& in, v1::Control& out) {
  const auto rows = decode(in.fetched());
  if (!rows) return Unexpected<BadRow>(rows.error());
  for (const slice_rows::Lease& row : *rows) append(row, *out.mutable_fetched());
  return {};
}

Expected<void, BadRow> confirm_trip(const v1::Control& in, v1::Control& out) {
  const auto rows = decode(in.confirm());
  if (!rows) return Unexpected<BadRow>(rows.error());
  encode(*rows, *out.mutable_confirm());
  return {};
}

Expected<void, BadRow> filtering_trip(const v1::Control& in, v1::Control& out) {
  const auto note = decode(in.filtering());
  if (!note) return Unexpected<BadRow>(note.error());
  encode(*note, in.filtering().serial(), *out.mutable_filtering());
  return {};
}

Expected<void, BadRow> kills_trip(const v1::Control& in, v1::Control& out) {
  const auto rows = decode(in.filter_kills());
  if (!rows) return Unexpected<BadRow>(rows.error());
  encode(*rows, *out.mutable_filter_kills());
  return {};
}

Expected<void, BadRow> destinations_trip(const v1::Control& in, v1::Control& out) {
  slice_rows::DestinationTable table;
  if (const auto taken = decode(in.destinations(), table); !taken) return taken;
  encode(table, *out.mutable_destinations());
  return {};
}

Expected<void, BadRow> absences_trip(const v1::Control& in, v1::Control& out) {
  const auto ranges = decode(in.absences());
  if (!ranges) return Unexpected<BadRow>(ranges.error());
  encode(*ranges, *out.mutable_absences());
  return {};
}

const std::map<std::string, Trip> kTrips{{"Absences", absences_trip},
                                         {"Announce", announce_trip},
                                         {"Assign", assign_trip},
                                         {"ClearSlices", clear_trip},
                                         {"Confirm", confirm_trip},
                                         {"Decide", decide_trip},
                                         {"Destinations", destinations_trip},
                                         {"Fetch", fetch_trip},
                                         {"Fetched", fetched_trip},
                                         {"FilterKills", kills_trip},
                                         {"Filtering", filtering_trip},
                                         {"OpenSlices", open_trip},
                                         {"Settled", settled_trip}};

// Calls with each body of Control that is about slices, and its trip.
void for_each_body(const std::function<void(const google::protobuf::FieldDescriptor&, const Trip&)>& call) {
  const auto& bodies = *v1::Control::descriptor()->FindOneofByName("body");
  for (int i = 0; i < bodies.field_count(); ++i) {
    const auto& body = *bodies.field(i);
    const std::string name(body.message_type()->name());
    if (!is_about_slices(*body.message_type()) || kElsewhere.contains(name)) continue;
    INFO(name << " has no codec");
    REQUIRE(kTrips.contains(name));
    call(body, kTrips.at(name));
  }
}

}  // namespace

TEST_CASE("each field of each message about slices survives decoding and encoding") {
  std::size_t messages = 0;
  for_each_body([&](const google::protobuf::FieldDescriptor& body, const Trip& trip) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      v1::Control in;
      RandomRows(seed).fill(*in.GetReflection()->MutableMessage(&in, &body));
      v1::Control out;
      CAPTURE(seed, in.DebugString());
      const auto taken = trip(in, out);
      if (!taken) FAIL(taken.error().message << "." << taken.error().column << " row " << taken.error().row);
      std::string difference;
      google::protobuf::util::MessageDifferencer differencer;
      differencer.ReportDifferencesToString(&difference);
      if (!differencer.Compare(in, out)) FAIL(difference);
    }
    ++messages;
  });
  CHECK(messages == kTrips.size());
}

// Calls with each message that differs from a good one by one bad entry, and the name of its column.
void for_each_spoiled(const Message& good,
                      const std::function<void(const Message&, const std::string&)>& call) {
  const auto& type = *good.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const auto& field = *type.field(i);
    const std::unique_ptr<Message> bad(good.New());
    bad->CopyFrom(good);
    const auto& reflection = *bad->GetReflection();
    const std::string name(field.name());
    const bool is_number = field.cpp_type() == FieldDescriptor::CPPTYPE_UINT32;
    if (is_number && test::is_small(field)) {
      field.is_repeated() ? reflection.SetRepeatedUInt32(bad.get(), &field, 0, 65536)
                          : reflection.SetUInt32(bad.get(), &field, 65536);
      call(*bad, name);
    } else if (is_number && test::is_list_of_rows(field)) {
      reflection.AddUInt32(bad.get(), &field, RandomRows::kRows);
      call(*bad, name);
    } else if (is_number && field.is_repeated()) {
      reflection.AddUInt32(bad.get(), &field, 1);
      call(*bad, name);
    } else if (test::is_byte_column(field)) {
      std::string column = reflection.GetString(good, &field);
      column.back() = '\x7f';
      reflection.SetString(bad.get(), &field, column);
      call(*bad, name);
    } else if (field.message_type() != nullptr) {
      for_each_spoiled(reflection.GetRepeatedMessage(good, &field, 0),
                       [&](const Message& row, const std::string& column) {
                         reflection.MutableRepeatedMessage(bad.get(), &field, 0)->CopyFrom(row);
                         call(*bad, name + "." + column);
                       });
    }
  }
}

TEST_CASE("an entry that no process sends refuses its message, and is named") {
  std::set<std::string> columns;
  for_each_body([&](const google::protobuf::FieldDescriptor& body, const Trip& trip) {
    v1::Control good;
    RandomRows(1).fill(*good.GetReflection()->MutableMessage(&good, &body));
    for_each_spoiled(good.GetReflection()->GetMessage(good, &body),
                     [&](const Message& bad, const std::string& column) {
                       v1::Control in;
                       in.GetReflection()->MutableMessage(&in, &body)->CopyFrom(bad);
                       v1::Control out;
                       CAPTURE(column, in.DebugString());
                       const auto taken = trip(in, out);
                       REQUIRE_FALSE(taken.has_value());
                       CHECK(std::string(taken.error().message) == std::string(bad.GetDescriptor()->name()));
                       // The column itself, or the one that it belongs to.
                       CHECK(column.substr(0, column.find('.')) ==
                             std::string(taken.error().column.substr(0, taken.error().column.find('.'))));
                       columns.insert(std::string(bad.GetDescriptor()->name()) + "." + column);
                     });
  });
  for (const char* const name :
       {"Assign.killed", "Assign.kept.index", "Assign.payload.index", "Confirm.code", "Decide.failures.index",
        "Fetch.as", "Settled.copies.epoch", "Settled.outcome", "Absences.ranges.readout"})
    CHECK(columns.contains(name));
}

TEST_CASE("an answer about slices that are not kept survives, and has no attempts of its sender") {
  v1::Fetch in;
  in.set_gone(true);
  in.add_slice(5);
  in.add_as(2);
  const auto rows = decode_gone(in);
  REQUIRE(rows.has_value());
  v1::Fetch out;
  for (const slice_rows::Lease& row : *rows) append_gone({row.slice, Attempt(9), row.attempt}, out);
  CHECK(google::protobuf::util::MessageDifferencer::Equals(in, out));
  in.add_slice(6);
  CHECK(decode_gone(in).error() == BadRow{"Fetch", "as", 1});
}

}  // namespace weir::slice_codec
