#include "weir_catch.hpp"
#include <weir/slice_codec/assign.hpp>

#include <optional>
#include <string>
#include <vector>

namespace weir::slice_codec {

TEST_CASE("announcements are split into messages of limited rows, and columns of zeros are omitted") {
  std::vector<slice_rows::Announcement> many(kRowsMax + 1, slice_rows::Announcement{SliceId(5), {}, {}});
  std::vector<int> rows;
  v1::Control out;
  each_announcement(many, true, std::nullopt, out, [&](const v1::Control& message) {
    rows.push_back(message.announce().slice_size());
    CHECK(message.announce().type_size() == 0);
    CHECK(message.announce().again());
  });
  CHECK(rows == std::vector<int>{kRowsMax, 1});
  many.resize(1);
  many.front().info.type = TriggerType(3);
  each_announcement(many, false, UtcNs(9), out, [&](const v1::Control& message) {
    CHECK(message.announce().type(0) == 3);
    CHECK(message.announce().utc_ns() == 9);
    CHECK_FALSE(message.announce().again());
  });
}

TEST_CASE("a message of assignments has no more payload than a receiver accepts in one piece") {
  const std::vector<std::byte> payload(kPayloadBytesMax / 2);
  slice_rows::Assignment one;
  one.payload_length = static_cast<std::uint32_t>(payload.size());
  std::vector<slice_rows::Assignment> five(5, one);
  five[4].suspect = true;
  five[4].attempt = Attempt(1);
  std::vector<v1::Control> sent;
  v1::Control out;
  each_assignment(five, payload, false, out, [&](const v1::Control& message) { sent.push_back(message); });
  REQUIRE(sent.size() == 3);
  CHECK(sent[0].assign().slice_size() == 2);
  CHECK(sent[0].assign().payload_size() == 2);
  CHECK(sent[2].assign().slice_size() == 1);
  CHECK(sent[2].assign().suspect(0) == 0);  // rows count anew
  CHECK(sent[0].assign().attempt_size() == 0);
  CHECK(sent[2].assign().attempt(0) == 1);
  each_assignment({}, payload, false, out, [](const v1::Control&) { FAIL("nothing is to be sent"); });
}

TEST_CASE("a clear lists the stored slices only if a readout records true tracks") {
  using slice_rows::Outcome;
  const std::vector<slice_rows::Cleared> rows{
      {SliceId(3), SliceOrder(3), Attempt(0), StoreEpoch(1), NodeIndex(0), Outcome::stored},
      {SliceId(4), SliceOrder(4), Attempt(0), StoreEpoch(0), slice_rows::kNoNode, Outcome::rejected}};
  v1::ClearSlices clear;
  encode(rows, true, clear);
  CHECK(clear.slice_size() == 2);
  REQUIRE(clear.stored_size() == 1);
  CHECK(clear.stored(0) == 3);
  encode(rows, false, clear);
  CHECK(clear.slice_size() == 2);
  CHECK(clear.stored_size() == 0);
}

TEST_CASE("columns of unequal length are refused, and omitted ones are zero") {
  v1::Assign assign;
  for (const std::uint64_t id : {4U, 5U}) assign.add_slice(id);
  assign.set_duration_ns(77);
  assign.add_suspect(1);
  v1::Assign::Payload& payload = *assign.add_payload();
  payload.set_index(0);
  payload.set_bytes("abc");
  const auto rows = decode(assign);
  REQUIRE(rows.has_value());
  REQUIRE(rows->size() == 2);
  CHECK((*rows)[1].slice == SliceId(5));
  CHECK((*rows)[1].attempt == Attempt(0));
  CHECK((*rows)[1].duration == 77);
  CHECK((*rows)[1].suspect);
  CHECK_FALSE((*rows)[0].suspect);
  CHECK((*rows)[0].payload.size() == 3);
  assign.add_attempt(1);
  CHECK_FALSE(decode(assign).has_value());
  assign.add_attempt(2);
  CHECK(decode(assign).value()[1].attempt == Attempt(2));
}

TEST_CASE("forwarded bytes are behind the payload of the slice's trigger") {
  v1::Assign assign;
  for (const std::uint64_t id : {4U, 5U}) assign.add_slice(id);
  v1::Assign::Payload& payload = *assign.add_payload();
  payload.set_index(0);
  payload.set_bytes("trigger");
  for (const std::uint32_t row : {0U, 1U}) {
    v1::Assign::Forwarded& forwarded = *assign.add_forwarded();
    forwarded.set_index(row);
    forwarded.set_bytes("found");
  }
  const auto rows = decode(assign);
  REQUIRE(rows.has_value());
  const auto text = [](ConstBytes bytes) {
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  CHECK(text((*rows)[0].trigger_payload()) == "trigger");
  CHECK(text((*rows)[0].forwarded()) == "found");
  CHECK((*rows)[1].trigger_payload().empty());
  CHECK(text((*rows)[1].forwarded()) == "found");
  assign.mutable_forwarded(1)->set_index(0);
  CHECK_FALSE(decode(assign).has_value());  // twice
}

}  // namespace weir::slice_codec
