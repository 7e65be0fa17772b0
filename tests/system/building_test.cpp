#include "farm_run.hpp"
#include "stored_run.hpp"
#include "weir_catch.hpp"

#include <filesystem>
#include <fstream>

namespace {

using namespace weir;
using namespace weir::system_test;

constexpr std::uint64_t kSources = 16;  // number of sources in configs/event-building.yaml

struct Built {
  FarmEnd end;
  DummyCheck check;
  std::set<std::uint64_t> ids;
};

// Runs configs/event-building.yaml, reads the files back and compares them with the sources' data.
Built build(const TemporaryFolder& folder, std::uint64_t slices, const std::vector<std::string>& settings) {
  std::vector<std::string> arguments = sets(settings);
  arguments.insert(arguments.end(), {"--slices", std::to_string(slices)});
  Built built;
  built.end = run_farm(folder, config_file("event-building.yaml"), arguments);
  const StoredRun run(folder / "out");
  built.check = check_dummy_data(run);
  built.ids = run.ids();
  return built;
}

void check_all_there(const Built& built, std::uint64_t slices, std::uint64_t sources = kSources) {
  CHECK_BALANCED(built.end, 0);
  CHECK(built.end.summary.count("stored") == slices);
  CHECK(built.end.summary.count("stored_incomplete") == 0);
  CHECK(built.check.wrong == "");
  CHECK(built.check.slices == slices);
  CHECK(built.check.fragments == slices * sources);
  CHECK(built.ids.size() == slices);
}

}  // namespace

TEST_CASE("event building stores every byte of 20000 slices as its source made it") {
  const TemporaryFolder folder;
  const Built built = build(folder, 20000, {});
  check_all_there(built, 20000);
  CHECK(*built.ids.begin() == 0);
  CHECK(*built.ids.rbegin() == 19999);
}

TEST_CASE("every shaper builds complete slices") {
  const auto shaper = GENERATE("none", "fragment-credits", "byte-credits");
  CAPTURE(shaper);
  const TemporaryFolder folder;
  check_all_there(
      build(folder, 2000,
            {std::string("dcm.shaper=") + shaper, "dcm.window_fragments=64", "dcm.window_bytes=65536"}),
      2000);
}

TEST_CASE("fragments requested in ranges arrive whole") {
  const TemporaryFolder folder;
  const Built built =
      build(folder, 1000, {"dcm.range_bytes=1000", "source.distribution=fixed", "source.size_bytes=5000"});
  check_all_there(built, 1000);
  CHECK(built.end.summary.count("bytes_in") == 1000 * kSources * 5000);
}

TEST_CASE(
    "a farm that accepts only the shortest data frames builds, because its own messages do not depend on "
    "that") {
  const TemporaryFolder folder;
  check_all_there(build(folder, 5000,
                        {"network.frame_bytes_max=4KiB", "source.size_bytes=2000", "dcm.deadline_ms=20000",
                         "supervisor.lease_ms=60000",
                         std::string("dcm.shaper=") + GENERATE("none", "byte-credits", "adaptive")}),
                  5000);
}

TEST_CASE("slices of 208 MiB are stored in pieces by a writer with a smaller buffer") {
  const TemporaryFolder folder;
  check_all_there(
      build(folder, 2,
            {"source.distribution=fixed", "source.size_bytes=13MiB", "source.size_bytes_max=13MiB",
             "dcm.fragment_bytes_max=13MiB", "dcm.count=1", "dcm.credits=2", "dcm.buffer_bytes=1GiB",
             "dcm.deadline_ms=20000", "supervisor.in_flight_max=2", "supervisor.lease_ms=60000",
             "readout.buffer_bytes=256MiB", "writer.buffer_bytes=64MiB", "run.drain_timeout_s=120"}),
      2);
}

// 13 GiB of memory, 5 GiB of disk.
TEST_CASE("a slice of more than 4 GiB is stored", "[.long]") {
  const TemporaryFolder folder;
  check_all_there(
      build(folder, 1,
            {"source.distribution=fixed", "source.size_bytes=256MiB", "source.size_bytes_max=256MiB",
             "dcm.fragment_bytes_max=256MiB", "readout.sources_per_readout=5", "dcm.count=1", "dcm.credits=1",
             "dcm.buffer_bytes=5GiB", "dcm.deadline_ms=300000", "supervisor.in_flight_max=1",
             "supervisor.lease_ms=600000", "readout.buffer_bytes=1280MiB", "writer.buffer_bytes=64MiB",
             "run.drain_timeout_s=600"}),
      1, 20);
}

TEST_CASE("fragments without a byte are built and stored") {
  const TemporaryFolder folder;
  check_all_there(build(folder, 1000, {"source.distribution=fixed", "source.size_bytes=0"}), 1000);
}

TEST_CASE("slices released in id order are all stored") {
  const TemporaryFolder folder;
  check_all_there(build(folder, 2000, {"dcm.order=id", "dcm.processing_units=2"}), 2000);
}

TEST_CASE("a run without checksums stores the same bytes, marked as unchecked") {
  const TemporaryFolder folder;
  check_all_there(build(folder, 1000, {"run.checksums=false"}), 1000);
  const StoredRun run(folder / "out");
  std::uint64_t checksummed = 0;
  run.for_each_slice([&](const storage::SliceRecordView& slice) {
    for (std::size_t i = 0; i < slice.fragment_count(); ++i)
      checksummed += slice.fragment(i).record.checksummed;
  });
  CHECK(checksummed == 0);
}

TEST_CASE("a filter of two steps receives a few sources first and the others on request") {
  const TemporaryFolder folder;
  // Exponential sizes of mean 1000: a source holds at least 1000 bytes in about 37 % of the slices.
  const Built built = build(folder, 3000, {"filter.plugin=two-step", "filter.parameters.minimum_bytes=1000"});
  CHECK_BALANCED(built.end, 0);
  const Summary& summary = built.end.summary;
  const std::uint64_t went_on = summary.count("stored");
  CHECK(went_on > 900);
  CHECK(went_on < 1300);
  CHECK(summary.count("stored") + summary.count("rejected") == 3000);
  CHECK(summary.count("fragments.requested") == 3000 + went_on * (kSources - 1));
  CHECK(built.check.wrong == "");
  CHECK(built.check.fragments == went_on * kSources);
}

TEST_CASE("a menu of steps requests what its steps draw, and latencies count from the first request") {
  const TemporaryFolder folder;
  const Built built = build(folder, 1000,
                            {"filter.plugin=sequential", "filter.parameters.steps=3",
                             "filter.parameters.sources_per_step=2", "filter.parameters.build=none"});
  CHECK_BALANCED(built.end, 0);
  const Summary& summary = built.end.summary;
  CHECK(summary.count("stored") == 1000);
  CHECK(summary.count("fragments.requested") == 1000 * 3 * 2);
  CHECK(summary.count("latency_us.count") == 1000);
  CHECK(summary.count("latency_us.max") > 0);
  CHECK(built.check.fragments == 1000 * 3 * 2);
}

TEST_CASE("sources of the first step are those of the farm file, the others are marked as not requested") {
  const TemporaryFolder folder;
  const Built built = build(folder, 500, {"filter.first_sources=[2,3,16]"});
  CHECK_BALANCED(built.end, 0);
  CHECK(built.end.summary.count("fragments.requested") == 500 * 3);
  CHECK(built.check.wrong == "");
  CHECK(built.check.fragments == 500 * 3);
  CHECK(built.check.not_requested == 500 * (kSources - 3));
}

TEST_CASE("a masked source is not requested and the run balances") {
  const TemporaryFolder folder;
  const Built built = build(folder, 500, {"readout.masked=[3,7]"});
  check_all_there(built, 500, kSources - 2);
  CHECK(built.end.summary.count("fragments.requested") == 500 * (kSources - 2));
  StoredRun(folder / "out").for_each_slice([](const storage::SliceRecordView& slice) {
    REQUIRE(!slice.find(SourceId(3)).has_value());
    REQUIRE(slice.find(SourceId(4)).has_value());
  });
}

TEST_CASE("a masked readout is not started and the run balances") {
  const TemporaryFolder folder;
  const std::string farm = folder.write("masked.yaml",
                                        "farm: masked\n"
                                        "source: {kind: dummy, size_bytes: 500}\n"
                                        "readout:\n"
                                        "  nodes:\n"
                                        "    - {name: left, sources: [1, 2]}\n"
                                        "    - {name: off, sources: [3, 4], masked: true}\n"
                                        "    - {name: right, sources: [5, 6]}\n"
                                        "filter: {plugin: accept-all}\n");
  const FarmEnd end = run_farm(folder, farm, {"--slices", "500"});
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("fragments.requested") == 500 * 4);
  const DummyCheck check = check_dummy_data(StoredRun(folder / "out"));
  CHECK(check.wrong == "");
  CHECK(check.fragments == 500 * 4);
  for (const auto& process : end.summary.json().at("processes").as_array())
    CHECK(process.at("name") != "off");
}

TEST_CASE("a farm without a writer builds, and discards accepted slices as no_writer") {
  const TemporaryFolder folder;
  const FarmEnd end =
      run_farm(folder, config_file("event-building.yaml"), {"--slices", "1000", "--set", "writer.count=0"});
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("discarded.no_writer") == 1000);
  CHECK(end.summary.files().empty());
}

TEST_CASE("two writers share a run and every slice is stored once") {
  const TemporaryFolder folder;
  const Built built = build(folder, 2000, {"writer.count=2"});
  check_all_there(built, 2000);
  CHECK(built.end.summary.files().size() == 2);
}

TEST_CASE("a DCM with little memory for its load stays within it and the run balances") {
  constexpr std::uint64_t kBuffer = 4U << 20;
  constexpr std::uint64_t kProgramMax = 96U << 20;  // everything but the buffer
  const TemporaryFolder folder;
  // Up to 256 slices of 16 x 10 kB need 40 MB.
  const Built built =
      build(folder, 2000,
            {"source.distribution=fixed", "source.size_bytes=10000",
             "dcm.buffer_bytes=" + std::to_string(kBuffer), "dcm.fragment_bytes_max=65536", "dcm.count=1"});
  CHECK_BALANCED(built.end, 0);
  const Summary& summary = built.end.summary;
  CHECK(summary.count("stored") + summary.count_all("discarded") == 2000);
  CHECK(summary.count("stored") == 2000);
  CHECK(summary.count("stored_incomplete") == 0);
  CHECK(built.check.wrong == "");
  bool seen = false;
  for (const auto& process : summary.json().at("processes").as_array()) {
    if (process.at("role") != "dcm") continue;
    seen = true;
    CHECK(process.at("rss_max_bytes").to_number<std::uint64_t>() < kBuffer + kProgramMax);
  }
  CHECK(seen);
}

TEST_CASE("a readout with a small buffer for its load slows the run and loses nothing") {
  const TemporaryFolder folder;
  const Built built = build(folder, 2000, {"readout.buffer_bytes=100000", "readout.buffer_slices=16"});
  check_all_there(built, 2000);
}

TEST_CASE("a readout takes 100000 sources, listed one by one, and the run's own farm file runs again") {
  constexpr std::uint64_t kMany = 100'000;
  constexpr std::uint64_t kSlices = 2;
  const TemporaryFolder folder;
  std::string farm = folder / "many.yaml";
  {
    std::ofstream file(farm);
    file << "farm: many\n"
            "source: {size_bytes: 12}\n"
            "supervisor: {lease_ms: 60000}\n"
            "dcm: {deadline_ms: 60000}\n"
            "readout:\n  nodes:\n    - name: r0\n      sources: [";
    for (std::uint64_t i = 0; i < kMany; ++i) file << (i == 0 ? "" : ", ") << 3 * i + 1;  // with gaps
    file << "]\n";
  }
  for (const char* again : {"first", "again"}) {
    CAPTURE(again);
    const TemporaryFolder out;
    const FarmEnd end = run_farm(out, farm, {"--slices", std::to_string(kSlices)});
    CHECK_BALANCED(end, 0);
    CHECK(end.summary.count("stored") == kSlices);
    CHECK(end.summary.count("fragments.received") == kSlices * kMany);
    const DummyCheck check = check_dummy_data(StoredRun(out / "out"));
    CHECK(check.wrong == "");
    CHECK(check.fragments == kSlices * kMany);
    farm = folder / "expanded.yaml";
    std::filesystem::copy_file(out / "out/run-000001-farm.yaml", farm,
                               std::filesystem::copy_options::overwrite_existing);
  }
}
