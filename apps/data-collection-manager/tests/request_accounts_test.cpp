#include "../src/request_accounts.hpp"

#include "weir_catch.hpp"

#include <string>

using namespace weir;
using namespace weir::dcm;

namespace {

// Records its calls, for readout 0.
struct Recorder final : shaping::Shaper {
  shaping::Credit try_take(const shaping::Demand&, TimeNs) override { return shaping::Credit::granted; }
  void take(const shaping::Demand&, TimeNs) override {}
  void arrived(std::uint32_t, std::uint64_t bytes, TimeNs) override {
    calls += "arrived " + std::to_string(bytes) + "; ";
  }
  void answered(std::uint32_t, std::uint32_t fragments, std::uint64_t bytes, TimeNs) override {
    calls += "answered " + std::to_string(fragments) + " rest " + std::to_string(bytes) + "; ";
  }
  void readout_lost(std::uint32_t) override {}
  void response(const shaping::MeasuredAnswer& answer, TimeNs) override {
    calls += "response " + std::to_string(answer.time_ns) + " owed " + std::to_string(answer.owed) + "; ";
  }
  [[nodiscard]] std::uint64_t outstanding() const override { return 0; }
  [[nodiscard]] std::uint64_t window() const override { return 0; }

  std::string calls;
};

struct Slice {
  explicit Slice(std::uint64_t id) : slice(id) {
    slice.assignment.slice = SliceId(id);
    slice.gathering.begin(1, std::make_shared<assembly::Selection>(), id);
  }
  assembly::Gathering::Part& part() { return slice.gathering.parts[0]; }
  assembly::BuiltSlice slice;
};

// Requests two fragments with 100 bytes each.
void request(RequestAccounts& accounts, Slice& of, TimeNs now_ns = 0) {
  accounts.requested(0, of.part(), 200, {of.slice.id(), 0, 2, now_ns, 0});
}

std::string report(RequestAccounts& accounts, TimeNs now_ns = 0) {
  Recorder shaper;
  accounts.report(shaper, now_ns);
  return shaper.calls;
}

}  // namespace

TEST_CASE("the shaper learns once a pass what arrived, and with the last answer what will not arrive") {
  RequestAccounts accounts(1, false);
  Slice slice(1);
  request(accounts, slice);
  CHECK(accounts.owed(0) == 200);
  CHECK(accounts.arrived(0, &slice.part(), 60) == 60);
  CHECK(accounts.answered(0, &slice.part(), {SliceId(1), 0, 1, 60}));
  CHECK(accounts.arrived(0, &slice.part(), 50) == 50);
  CHECK(accounts.answered(0, &slice.part(), {SliceId(1), 0, 1, 50}));
  CHECK(accounts.owed(0) == 0);
  CHECK(report(accounts) == "arrived 110; answered 2 rest 90; ");
  CHECK(report(accounts).empty());
}

TEST_CASE("bytes without a request give no credit back") {
  RequestAccounts accounts(1, false);
  Slice slice(1);
  CHECK(accounts.arrived(0, nullptr, 500) == 0);
  CHECK_FALSE(accounts.answered(0, nullptr, {SliceId(9), 0, 1, 500}));
  request(accounts, slice);
  CHECK(accounts.arrived(0, &slice.part(), 500) == 200);
  CHECK(report(accounts) == "arrived 200; ");
}

TEST_CASE("late fragments of a slice that has left return its credit") {
  RequestAccounts accounts(1, false);
  Slice slice(1);
  request(accounts, slice);
  accounts.leave(slice.slice);
  CHECK(accounts.owed(0) == 200);
  CHECK(accounts.arrived(0, nullptr, 60) == 60);
  CHECK_FALSE(accounts.answered(0, nullptr, {SliceId(1), 0, 1, 60}));
  CHECK_FALSE(accounts.answered(0, nullptr, {SliceId(1), 0, 1, 0}));
  CHECK(accounts.owed(0) == 0);
  CHECK(report(accounts) == "arrived 60; answered 2 rest 140; ");
}

TEST_CASE("a readout without a connection owes nothing") {
  RequestAccounts accounts(2, true);
  Slice slice(1);
  request(accounts, slice);
  accounts.arrived(0, &slice.part(), 60);
  accounts.disconnected(0);
  CHECK(accounts.owed(0) == 0);
  CHECK(report(accounts).empty());
  request(accounts, slice);
  accounts.arrived(0, &slice.part(), 10);
  CHECK(report(accounts) == "arrived 10; ");
}

TEST_CASE("a shaper that learns gets the time of an answer, and the readout's outstanding bytes before it") {
  RequestAccounts accounts(1, true);
  Slice first(1);
  Slice second(2);
  request(accounts, first, kSecond);
  request(accounts, second, 2 * kSecond);
  for (Slice* slice : {&first, &second})
    CHECK(accounts.answered(0, &slice->part(), {slice->slice.id(), 0, 2, 200 - wire::kHeaderBytes}));
  accounts.timed(0, {SliceId(2), 0, 1, 0}, 5 * kSecond);
  (void)report(accounts, 5 * kSecond);
  request(accounts, first, 6 * kSecond);
  CHECK(accounts.answered(0, &first.part(), {SliceId(1), 0, 2, 100}));
  accounts.timed(0, {SliceId(1), 0, 1, 0}, 8 * kSecond);
  SECTION("in the next report") {
    CHECK(report(accounts, 8 * kSecond).find("response 2000000000 owed ") != std::string::npos);
  }
  SECTION("unless its arrival turns out to be unknown") {
    accounts.forget_timing(0);
    CHECK(report(accounts, 8 * kSecond).find("response") == std::string::npos);
  }
}
