#include "weir_catch.hpp"
#include <weir/slice_codec/decide.hpp>
#include <weir/slice_codec/filtering.hpp>

#include <string>
#include <vector>

namespace weir::slice_codec {

TEST_CASE("decisions are converted to rows with their reasons, unless the columns do not match") {
  v1::Decide decide;
  std::vector<slice_rows::AttemptDecision> rows(9);
  for (const std::uint64_t id : {4U, 5U, 6U, 7U}) decide.add_slice(id);
  for (const v1::Verdict verdict : {v1::VERDICT_ACCEPT_INCOMPLETE, v1::VERDICT_FAILED, v1::VERDICT_HELD})
    add(*decide.mutable_verdict(), verdict);
  CHECK_FALSE(decode(decide, rows).has_value());
  add(*decide.mutable_verdict(), v1::VERDICT_FAILED);
  v1::Decide::Failure& failure = *decide.add_failures();
  failure.set_index(3);
  failure.set_reason(std::string(slice_rows::name(slice_rows::DiscardReason::writer_refused)));
  REQUIRE(decode(decide, rows).has_value());
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].verdict == slice_rows::Verdict::accept);
  CHECK(rows[0].incomplete);
  CHECK(rows[0].attempt == Attempt(0));
  CHECK(rows[1].verdict == slice_rows::Verdict::failed);
  CHECK(rows[1].reason == slice_rows::DiscardReason::unspecified);
  CHECK(rows[2].verdict == slice_rows::Verdict::held);
  CHECK(rows[3].reason == slice_rows::DiscardReason::writer_refused);
  decide.add_attempt(1);
  CHECK_FALSE(decode(decide, rows).has_value());
}

TEST_CASE("a verdict byte that no version defines refuses the message, and rejects no slice") {
  for (int verdict = 0; verdict < 256; ++verdict) {
    CAPTURE(verdict);
    v1::Decide decide;
    decide.add_slice(4);
    decide.add_slice(5);
    add(*decide.mutable_verdict(), v1::VERDICT_ACCEPT);
    add(*decide.mutable_verdict(), verdict);
    std::vector<slice_rows::AttemptDecision> rows;
    if (verdict == v1::VERDICT_FORWARD) {
      CHECK_FALSE(decode(decide, rows).has_value());  // where to?
      v1::Decide::Forward& forward = *decide.add_forwards();
      forward.set_index(1);
      forward.set_group(3);
    }
    const auto taken = decode(decide, rows);
    CHECK(taken.has_value() == v1::Verdict_IsValid(verdict));
    if (!taken) CHECK(taken.error() == BadRow{"Decide", "verdict", 1});
  }
}

TEST_CASE("slices long in a filter have an attempt each, and so have a suspect and what hangs beside it") {
  v1::Filtering filtering;
  filtering.add_slice(5);
  CHECK_FALSE(decode(filtering).has_value());
  filtering.add_attempt(1);
  CHECK_FALSE(decode(filtering).value().suspect);
  filtering.set_suspect(6);
  filtering.set_suspect_attempt(2);
  filtering.add_beside(7);
  CHECK_FALSE(decode(filtering).has_value());
  filtering.add_beside_attempt(3);
  const auto note = decode(filtering).value();
  CHECK(note.for_long == std::vector<slice_rows::Lease>{{SliceId(5), Attempt(1)}});
  CHECK(note.suspect == slice_rows::Lease{SliceId(6), Attempt(2)});
  CHECK(note.beside == std::vector<slice_rows::Lease>{{SliceId(7), Attempt(3)}});
  v1::Filtering again;
  encode(note, 4, again);
  filtering.set_serial(4);
  CHECK(again.SerializeAsString() == filtering.SerializeAsString());
}

TEST_CASE("a confirmation names a writer only if the slice is to be stored") {
  std::vector<slice_rows::Confirmation> rows(3);
  rows[0] = {SliceId(4), Attempt(1), StoreEpoch(2), NodeIndex(1), slice_rows::Answer::store};
  rows[1] = {SliceId(5), Attempt(0), StoreEpoch(0), slice_rows::kNoNode, slice_rows::Answer::settled};
  v1::Confirm confirm;
  encode(rows, confirm);
  CHECK(confirm.code()[0] == v1::CONFIRMATION_STORE);
  CHECK(confirm.writer(0) == 1);
  CHECK(confirm.epoch(0) == 2);
  CHECK(confirm.code()[1] == v1::CONFIRMATION_SETTLED);
  CHECK(confirm.writer(1) == 0);
  CHECK(confirm.code()[2] == v1::CONFIRMATION_REFUSED);
  CHECK(confirm.attempt_size() == 3);  // of all rows, if one is not zero
  rows.erase(rows.begin());
  encode(rows, confirm);
  CHECK(confirm.slice_size() == 2);
  CHECK(confirm.code().size() == 2);
  CHECK(confirm.attempt().empty());  // all zero
  CHECK(confirm.epoch().empty());
  CHECK(confirm.writer().empty());
}

TEST_CASE("a confirmation's columns become rows, unless their lengths differ") {
  v1::Confirm confirm;
  confirm.add_slice(4);
  confirm.add_attempt(1);
  add(*confirm.mutable_code(), v1::CONFIRMATION_STORE);
  confirm.add_epoch(3);
  const auto rows = decode(confirm);
  REQUIRE(rows.has_value());
  CHECK(rows->front().slice == SliceId(4));
  CHECK(rows->front().attempt == Attempt(1));
  CHECK(rows->front().answer == slice_rows::Answer::store);
  CHECK(rows->front().epoch == StoreEpoch(3));
  CHECK(rows->front().writer == NodeIndex(0));
  confirm.add_writer(1);
  confirm.add_writer(1);
  CHECK_FALSE(decode(confirm).has_value());
}

}  // namespace weir::slice_codec
