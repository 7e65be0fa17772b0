#include "farm_run.hpp"
#include "stored_run.hpp"
#include "weir_catch.hpp"
#include "wire_client.hpp"

#include <boost/json.hpp>

#include <chrono>
#include <csignal>
#include <map>

namespace {

using namespace weir;
using namespace weir::system_test;

constexpr char kFarm[] =
    "farm: triggers\n"
    "source: {kind: dummy, size_bytes: 100}\n"
    "readout: {count: 2, sources_per_readout: 2}\n"
    "filter: {plugin: accept-all}\n"
    "supervisor: {status_interval_ms: 100}\n";

struct Stored {
  std::string payload;
  std::uint32_t type = 0;
  std::int64_t time = 0;
  std::int64_t duration = 0;
  std::uint64_t fragments = 0;  // fragments with bytes
};

std::map<std::uint64_t, Stored> stored_slices(const TemporaryFolder& folder) {
  std::map<std::uint64_t, Stored> slices;
  StoredRun(folder / "out").for_each_slice([&](const storage::SliceRecordView& slice) {
    Stored& one = slices[slice.head().slice.value];
    const ConstBytes payload = slice.trigger_payload();
    one.payload.assign(reinterpret_cast<const char*>(payload.data()), payload.size());
    one.type = slice.head().trigger_type.value;
    one.time = slice.head().trigger_time;
    one.duration = slice.head().duration;
    for (std::size_t i = 0; i < slice.fragment_count(); ++i) one.fragments += slice.fragment(i).record.kept;
  });
  return slices;
}

FarmEnd run_triggers(const TemporaryFolder& folder, const std::string& trigger,
                     std::vector<std::string> arguments) {
  return run_farm(folder, folder.write("farm.yaml", std::string(kFarm) + "trigger: " + trigger + "\n"),
                  std::move(arguments));
}

// Offers from outside, one message.
v1::TriggerAnswer offer(WireClient& client, const v1::TriggerOffer& triggers) {
  v1::Control message;
  *message.mutable_trigger() = triggers;
  client.send(message);
  const auto answer = client.receive_control(Seconds(10));
  REQUIRE(answer.has_value());
  REQUIRE(answer->has_trigger_answer());
  REQUIRE(answer->trigger_answer().answers_size() == triggers.triggers_size());
  return answer->trigger_answer();
}

}  // namespace

TEST_CASE("triggers at a fixed rate have that rate") {
  const TemporaryFolder folder;
  const FarmEnd end = run_triggers(folder, "{mode: rate, rate_hz: 1000}", {"--slices", "1000"});
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("stored") == 1000);
  const auto slices = stored_slices(folder);
  const double seconds =
      1e-9 * static_cast<double>(slices.rbegin()->second.time - slices.begin()->second.time);
  // A farm that is slow for a moment has triggers vetoed, which makes it longer and never shorter.
  CHECK(seconds > 0.95);
}

TEST_CASE("triggers at random times have the distances of a Poisson process") {
  const TemporaryFolder folder;
  const FarmEnd end = run_triggers(folder, "{mode: poisson, rate_hz: 2000}", {"--slices", "2000"});
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("stored") == 2000);
  const auto slices = stored_slices(folder);
  std::uint64_t shorter = 0;
  std::int64_t last = 0;
  constexpr std::int64_t kMean = 500'000;
  for (const auto& [id, slice] : slices) {
    shorter += last != 0 && slice.time - last < kMean ? 1 : 0;
    last = slice.time;
  }
  // 63 % of exponential distances are shorter than their mean; of equal ones none or all are.
  CHECK(shorter > 1000);
  CHECK(shorter < 1500);
}

TEST_CASE("time slices follow each other without a gap by the clock") {
  const TemporaryFolder folder;
  const FarmEnd end = run_triggers(folder, "{mode: clock, slice_ms: 5}", {"--duration", "1.5"});
  CHECK_BALANCED(end, 0);
  const auto slices = stored_slices(folder);
  CHECK(slices.size() >= 100);
  CHECK(slices.size() <= 310);
  const auto& [first_id, first] = *slices.begin();
  std::uint64_t wrong = 0;
  for (const auto& [id, slice] : slices) {
    if (slice.duration != 5'000'000) ++wrong;
    if (slice.time - first.time != static_cast<std::int64_t>(id - first_id) * 5'000'000) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("triggers of a file are taken with their number, time, type and payload") {
  const TemporaryFolder folder;
  const std::string file = folder.write("triggers.txt",
                                        "# slice time type payload\n"
                                        "3   1000000000\n"
                                        "10  2000000000  7\n"
                                        "11  2500000000  8  00ff10\n");
  const FarmEnd end = run_triggers(
      folder, "{mode: file, file: " + file + ", types: [{type: 7, name: few, sources: [2, 3]}]}", {});
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("triggered") == 3);
  CHECK(end.summary.count("stored") == 3);
  const auto slices = stored_slices(folder);
  REQUIRE(slices.size() == 3);
  CHECK(slices.at(3).time == 1'000'000'000);
  CHECK(slices.at(3).fragments == 4);
  CHECK(slices.at(10).type == 7);
  CHECK(slices.at(10).fragments == 2);
  CHECK(slices.at(11).type == 8);
  CHECK(slices.at(11).payload == std::string("\x00\xff\x10", 3));
  CHECK(slices.at(11).fragments == 4);
}

TEST_CASE("a bad line in a trigger file is named and no run begins") {
  const TemporaryFolder folder;
  const std::string file = folder.write("triggers.txt", "1 100\n2 soon\n");
  const FarmEnd end = run_triggers(folder, "{mode: file, file: " + file + "}", {});
  CHECK(end.status == 2);
  CHECK_THAT(end.err, Catch::ContainsSubstring("triggers.txt:2") && Catch::ContainsSubstring("soon"));
}

TEST_CASE("external triggers are answered, and their type and payload are in the file") {
  const TemporaryFolder folder;
  const std::string farm = folder.write(
      "farm.yaml",
      std::string(kFarm) + "trigger: {mode: network, types: [{type: 5, name: pair, sources: [1, 4]}]}\n");
  FarmRun run(folder, farm, {});
  REQUIRE(run.wait_for_log("supervisor", "run began"));
  WireClient client(run.trigger_port(), v1::ROLE_TRIGGER, "beam", "triggers");

  v1::TriggerOffer offers;
  auto* first = offers.add_triggers();
  first->set_slice(100);
  first->set_time_ns(123456789);
  first->set_type(5);
  first->set_payload("a muon");
  offers.add_triggers()->set_type(2);
  const v1::TriggerAnswer answers = offer(client, offers);
  CHECK(answers.answers(0).taken());
  CHECK(answers.answers(0).slice() == 100);
  CHECK(answers.answers(1).taken());
  const std::uint64_t second = answers.answers(1).slice();

  v1::TriggerOffer again;
  again.add_triggers()->set_slice(100);
  const v1::TriggerAnswer refused = offer(client, again);
  CHECK(!refused.answers(0).taken());
  CHECK(refused.answers(0).busy() == "duplicate_id");

  run.process().send_signal(SIGINT);
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("offered") == 3);
  CHECK(end.summary.count("triggered") == 2);
  CHECK(end.summary.count("vetoed.duplicate_id") == 1);
  const auto slices = stored_slices(folder);
  REQUIRE(slices.size() == 2);
  CHECK(slices.at(100).type == 5);
  CHECK(slices.at(100).payload == "a muon");
  CHECK(slices.at(100).time == 123456789);
  CHECK(slices.at(100).fragments == 2);
  CHECK(slices.at(second).type == 2);
  CHECK(slices.at(second).fragments == 4);
}

TEST_CASE("triggers beyond the farm's capacity are answered busy and counted") {
  const TemporaryFolder folder;
  const std::string farm = folder.write("farm.yaml", std::string(kFarm) + "trigger: {mode: network}\n");
  // One slice at a time, each with 20 ms in the filter.
  FarmRun run(
      folder, farm,
      sets({"dcm.credits=1", "supervisor.pending_max=4", "supervisor.throttle_low=0.99",
            "supervisor.throttle_high=1", "filter.plugin=busy", "filter.parameters.microseconds=20000"}));
  REQUIRE(run.wait_for_log("supervisor", "run began"));
  WireClient client(run.trigger_port(), v1::ROLE_TRIGGER, "beam", "triggers");
  v1::TriggerOffer offers;
  for (int i = 0; i < 100; ++i) offers.add_triggers();
  const v1::TriggerAnswer answers = offer(client, offers);
  std::uint64_t taken = 0;
  for (const auto& answer : answers.answers()) {
    taken += answer.taken() ? 1 : 0;
    // The list of slices without a DCM is full, or a look at it has closed the gate before it.
    if (!answer.taken()) CHECK((answer.busy() == "busy_pending" || answer.busy() == "throttled"));
  }
  CHECK(taken >= 4);
  CHECK(taken <= 10);
  run.process().send_signal(SIGINT);
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("offered") == 100);
  CHECK(end.summary.count("triggered") == taken);
  CHECK(end.summary.count("vetoed.busy_pending") + end.summary.count("vetoed.throttled") == 100 - taken);
  CHECK(end.summary.count("stored") == taken);
}
