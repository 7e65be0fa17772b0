#include "temporary_folder.hpp"
#include "weir_catch.hpp"
#include <weir/base/crc32c.hpp>
#include <weir/ingest/replay_source.hpp>
#include <weir/storage/format.hpp>
#include <weir/storage/slice_record.hpp>

using namespace weir;
using namespace weir::ingest;
using weir::test::TemporaryFolder;

namespace {

const std::string kIndex = R"({"hit_bytes": 6, "slices": [
 {"slice": 3, "run": 1, "utc_s": 10, "utc_ns": 5, "file": "a.bin", "bytes": 18, "fragments": [
  {"source": 8, "offset": 0, "hits": 1}, {"source": 9, "offset": 6, "hits": 2}]},
 {"slice": 7, "run": 1, "utc_s": 10, "utc_ns": 6, "file": "b.bin", "bytes": 6, "fragments": [
  {"source": 9, "offset": 0, "hits": 1}]}]})";

void write_good(const TemporaryFolder& folder) {
  folder.write("index.json", kIndex);
  folder.write("a.bin", "aaaaaabbbbbbcccccc");
  folder.write("b.bin", "dddddd");
}

source::SourceFragment at(ReplaySource& source, std::uint64_t slice) {
  return source.produce({SliceId(slice), 0, 0, TriggerType()});
}

std::string text_of(const source::SourceFragment& fragment) {
  return {reinterpret_cast<const char*>(fragment.bytes.data()), fragment.bytes.size()};
}

ConstBytes bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

struct TestFragment {
  std::uint32_t source;
  std::string_view bytes;
  FragmentStatus status = FragmentStatus::ok;
  bool kept = true;
};

void append(std::vector<std::byte>& to, ConstBytes bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

// A run file of a writer that died: header and slice records, but no index.
class RunFile {
 public:
  explicit RunFile(RunNumber run) {
    header_.run = run;
    header_.writer = "writer-0";
    storage::encode_file_header(header_, bytes_);
  }
  void add(std::uint64_t slice, const std::vector<TestFragment>& fragments, std::uint16_t epoch = 0) {
    std::vector<storage::FragmentRecord> records;
    for (const TestFragment& fragment : fragments) {
      storage::FragmentRecord record;
      record.source = SourceId(fragment.source);
      record.status = fragment.status;
      record.kept = fragment.kept;
      record.checksummed = true;
      record.total_length = static_cast<std::uint32_t>(fragment.bytes.size());
      record.stored_length = fragment.kept ? record.total_length : 0;
      record.source_crc32c = crc32c(bytes_of(fragment.bytes));
      record.stored_crc32c = fragment.kept ? record.source_crc32c : 0;
      records.push_back(record);
    }
    storage::SliceRecord record;
    record.head.slice = SliceId(slice);
    record.head.run = header_.run;
    record.head.epoch = StoreEpoch(epoch);
    record.head.trigger_time = static_cast<UtcNs>(slice) * 100;
    record.head.duration = 50;
    record.head.trigger_type = TriggerType(6);
    record.fragments = records;
    std::vector<std::byte> body;
    storage::encode_slice_meta(record, body);
    for (const TestFragment& fragment : fragments) {
      if (fragment.kept) append(body, bytes_of(fragment.bytes));
    }
    const storage::RecordHead head{header_.tag, bytes_.size(), body.size(), storage::RecordType::slice, 0};
    bytes_.resize(bytes_.size() + storage::kRecordHeadLength);
    storage::encode_record_head(head, bytes_.data() + head.offset);
    append(bytes_, body);
    bytes_.resize(head.offset + head.length());
  }
  [[nodiscard]] std::string_view content() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }

 private:
  storage::FileHeader header_;
  std::vector<std::byte> bytes_;
};

}  // namespace

TEST_CASE("a folder is replayed slice after slice, and again from the first one", "[replay]") {
  const TemporaryFolder folder;
  write_good(folder);
  const auto run = load_recorded_run(folder.path());
  REQUIRE(run);
  CHECK((*run)->sources == std::vector{SourceId(8), SourceId(9)});
  CHECK((*run)->slices[1].time == 10'000'000'006);
  ReplaySource source(SourceId(9), *run, ReplayOrder::looped, true);
  CHECK(text_of(at(source, 0)) == "bbbbbbcccccc");
  CHECK(text_of(at(source, 1)) == "dddddd");
  CHECK(text_of(at(source, 1000)) == "bbbbbbcccccc");
  CHECK(at(source, 1001).crc32c == crc32c(bytes_of("dddddd")));
  CHECK(at(source, 1001).crc32c == crc32c(bytes_of("dddddd")));
  CHECK(at(source, 0).bytes.data() == at(source, 2).bytes.data());
}

TEST_CASE("a slice without the source, and one behind the end, are missing as not produced", "[replay]") {
  const TemporaryFolder folder;
  write_good(folder);
  const auto run = load_folder(folder.path());
  REQUIRE(run);
  ReplaySource eight(SourceId(8), *run, ReplayOrder::once, false);
  CHECK(text_of(at(eight, 0)) == "aaaaaa");
  CHECK(at(eight, 0).crc32c == 0);
  CHECK(at(eight, 1).status == FragmentStatus::missing);
  CHECK(at(eight, 1).reason == MissingReason::not_produced);
  CHECK(at(eight, 2).reason == MissingReason::not_produced);
}

TEST_CASE("a recorded slice is replayed under its own number, and other numbers are missing", "[replay]") {
  const TemporaryFolder folder;
  write_good(folder);
  const auto run = load_folder(folder.path());
  REQUIRE(run);
  ReplaySource nine(SourceId(9), *run, ReplayOrder::by_number, true);
  CHECK(text_of(at(nine, 3)) == "bbbbbbcccccc");
  CHECK(text_of(at(nine, 7)) == "dddddd");
  for (const std::uint64_t other : {0, 1, 4, 8}) CHECK(at(nine, other).reason == MissingReason::not_produced);
}

TEST_CASE("the slices of a recording are listed with time, length and type, without its data", "[replay]") {
  const TemporaryFolder folder;
  folder.write("index.json", kIndex);
  const auto listed = load_recorded_slices(folder.path());
  REQUIRE(listed);
  REQUIRE((*listed)->slices.size() == 2);
  CHECK((*listed)->slices[1].slice == SliceId(7));
  CHECK((*listed)->slices[1].time == 10'000'000'006);
  CHECK_FALSE(load_recorded_slices(folder / "nowhere"));
  RunFile file(RunNumber(4));
  file.add(20, {{1, "one"}});
  folder.write("a.weir", file.content());
  const auto stored = load_recorded_slices(folder / "a.weir");
  REQUIRE(stored);
  CHECK((*stored)->slices[0].time == 2000);
  CHECK((*stored)->slices[0].duration == 50);
  CHECK((*stored)->slices[0].trigger_type == TriggerType(6));
}

TEST_CASE("a folder that differs from its index is refused by file name", "[replay]") {
  const TemporaryFolder folder;
  write_good(folder);
  const auto failure = [&] {
    const auto run = load_recorded_run(folder.path());
    REQUIRE_FALSE(run);
    return run.error();
  };
  folder.write("b.bin", "ddddd");
  CHECK(failure().error == IngestError::malformed);
  CHECK(failure().detail.find("b.bin: 5 bytes, but index.json says 6") != std::string::npos);
  std::filesystem::remove(folder / "b.bin");
  CHECK(failure().error == IngestError::not_found);
  CHECK(failure().detail.find("b.bin") != std::string::npos);
  std::filesystem::remove(folder / "index.json");
  CHECK(failure().error == IngestError::not_found);
  CHECK(failure().detail.find("holds neither index.json nor run files") != std::string::npos);
  CHECK(load_recorded_run(folder / "nowhere").error().error == IngestError::not_found);
  ReplayLimits limits;
  limits.bytes_max = 20;
  write_good(folder);
  CHECK(load_folder(folder.path(), limits).error().error == IngestError::too_large);
}

TEST_CASE("Weir's own run files are replayed by slice id over all files of the run", "[replay]") {
  const TemporaryFolder folder;
  RunFile first(RunNumber(4));
  first.add(20, {{1, "one"}, {2, "two"}});
  first.add(10, {{2, "TWO"}, {1, "ONE"}});
  RunFile second(RunNumber(4));
  second.add(15, {{1, "cut", FragmentStatus::truncated}, {2, "not kept", FragmentStatus::ok, false}});
  second.add(20, {{1, "again"}, {2, "AGAIN"}}, 1);  // a later store epoch: this copy is the valid one
  folder.write("a.weir", first.content());
  folder.write("b.weir", second.content());
  const auto run = load_recorded_run(folder.path());
  REQUIRE(run);
  REQUIRE((*run)->slices.size() == 3);
  CHECK((*run)->slices[1].slice == SliceId(15));
  CHECK((*run)->slices[1].time == 1500);
  ReplaySource one(SourceId(1), *run, ReplayOrder::looped, true);
  ReplaySource two(SourceId(2), *run, ReplayOrder::looped, true);
  CHECK(text_of(at(one, 0)) == "ONE");
  CHECK(text_of(at(two, 0)) == "TWO");
  CHECK(at(two, 0).crc32c == crc32c(bytes_of("TWO")));
  CHECK(at(one, 1).status == FragmentStatus::truncated);
  CHECK(text_of(at(one, 1)) == "cut");
  CHECK(at(two, 1).status == FragmentStatus::missing);
  CHECK(text_of(at(two, 2)) == "AGAIN");
  CHECK(load_recorded_run(folder / "a.weir"));
}

TEST_CASE("a recording has the slices of files that were not closed, and data out of step with their mark",
          "[replay]") {
  const TemporaryFolder folder;
  RunFile first(RunNumber(4));
  first.add(10, {{1, "ONE"}});
  RunFile second(RunNumber(4));
  second.add(20, {{1, "off", FragmentStatus::out_of_step}});
  folder.write("a.weir", first.content());
  folder.write("a.weir.part", second.content());  // the closed file counts
  folder.write("b.weir.part", second.content());
  folder.write("c.weir.part", "");
  folder.write("d.part", "no run file");
  const auto run = load_recorded_run(folder.path());
  REQUIRE(run);
  REQUIRE((*run)->slices.size() == 2);
  ReplaySource one(SourceId(1), *run, ReplayOrder::looped, true);
  CHECK(text_of(at(one, 0)) == "ONE");
  CHECK(text_of(at(one, 1)) == "off");
  CHECK(at(one, 1).status == FragmentStatus::out_of_step);
}

TEST_CASE("a stored slice that has a source twice is refused", "[replay]") {
  const TemporaryFolder folder;
  RunFile file(RunNumber(4));
  file.add(20, {{7, "one"}, {3, "two"}, {7, "three"}});
  folder.write("a.weir", file.content());
  const auto run = load_recorded_run(folder / "a.weir");
  REQUIRE_FALSE(run);
  CHECK(run.error().error == IngestError::malformed);
  CHECK(run.error().detail.find("slice 20: source 7 occurs twice") != std::string::npos);
}

TEST_CASE("files of two runs, or none that holds a slice, are refused", "[replay]") {
  const TemporaryFolder folder;
  RunFile four(RunNumber(4));
  RunFile five(RunNumber(5));
  folder.write("a.weir", four.content());
  CHECK(load_recorded_run(folder.path()).error().error == IngestError::not_found);
  five.add(1, {{1, "one"}});
  folder.write("b.weir", five.content());
  const auto run = load_recorded_run(folder.path());
  REQUIRE_FALSE(run);
  CHECK(run.error().detail.find("b.weir: is of run 5") != std::string::npos);
  CHECK(run.error().detail.find("a folder with the files of one run") != std::string::npos);
  std::filesystem::rename(folder / "a.weir", folder / "run-000004-w-0000.weir");
  std::filesystem::rename(folder / "b.weir", folder / "run-000005-w-0000.weir");
  CHECK(load_recorded_run(folder.path(), {}, RunNumber(5)));
  CHECK(load_recorded_run(folder.path(), {}, RunNumber(6)).error().error == IngestError::not_found);
  folder.write("c.weir", "garbage");
  CHECK(load_run_files({folder / "c.weir"}).error().error == IngestError::malformed);
  CHECK(load_run_files({}).error().error == IngestError::not_found);
}
