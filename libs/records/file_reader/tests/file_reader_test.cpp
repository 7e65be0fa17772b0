#include "every_record.hpp"
#include "store_fixture.hpp"
#include "temporary_folder.hpp"
#include "weir_catch.hpp"
#include <weir/file_reader.hpp>
#include <weir/histograms/contents.hpp>
#include <weir/histograms/document.hpp>
#include <weir/pieces.hpp>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

using namespace weir;
using Catch::Matchers::ContainsSubstring;
using storage::test::Buffer;
using storage::test::Fixture;

namespace {

void write_file(const test::TemporaryFolder& folder, const std::string& name, const Buffer& bytes) {
  (void)folder.write(name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// The file of one writer with these slices, closed.
Buffer run_file(const std::vector<storage::test::RecordPlan>& plans, const std::string& writer = "writer-0",
                std::uint32_t run = 7) {
  storage::RunStoreConfig config = storage::test::small_config();
  config.writer = writer;
  config.run = RunNumber(run);
  Fixture fixture(config);
  fixture.start();
  for (const auto& plan : plans) REQUIRE(fixture.put(plan) == storage::StoreResult::accepted);
  fixture.close();
  return fixture.disk.files().begin()->second.bytes;
}

std::vector<std::uint64_t> ids_of(const files::Run& run) {
  std::vector<std::uint64_t> ids;
  for (const files::Slice& slice : run) ids.push_back(slice.id());
  return ids;
}

files::ErrorKind error_of(const std::filesystem::path& path, std::optional<std::uint32_t> number = {}) {
  try {
    const files::Run run(path, number);
  } catch (const files::Error& error) {
    CHECK_THAT(error.what(), ContainsSubstring(path.filename().string()));
    return error.kind();
  }
  FAIL("no error");
  return files::ErrorKind::io;
}

}  // namespace

TEST_CASE("the slices of a folder come by id, and of two copies only the newer one") {
  const test::TemporaryFolder folder;
  write_file(folder, "run-000007-writer-0-0000.weir", run_file({{.slice = 5}, {.slice = 1}, {.slice = 9}}));
  write_file(folder, "run-000007-writer-1-0000.weir",
             run_file({{.slice = 3}, {.slice = 5, .attempt = 1, .epoch = 2}}, "writer-1"));
  const files::Run run(folder.path());
  CHECK(run.number() == 7);
  CHECK(run.farm() == "test-farm");
  CHECK(run.record() == "{\"begin\":true}");
  CHECK(run.summary() == "");
  CHECK(run.histograms().empty());
  CHECK(ids_of(run) == std::vector<std::uint64_t>{1, 3, 5, 9});
  CHECK(run[2].attempt() == 1);
  REQUIRE(run.find(9));
  CHECK(run.find(9)->id() == 9);
  CHECK(!run.find(4));
  REQUIRE(run.files().size() == 2);
  CHECK(run.files()[0].slices == 2);
  CHECK(run.files()[1].writer == "writer-1");
}

TEST_CASE("fragments have their bytes and sound checksums, and a slice outlives its run") {
  const test::TemporaryFolder folder;
  write_file(folder, "run-000007-writer-0-0000.weir", run_file({{.slice = 4, .sources = 3}}));
  const files::Slice slice = files::Run(folder / "run-000007-writer-0-0000.weir")[0];
  REQUIRE(slice.fragment_count() == 3);
  for (const files::Fragment& fragment : slice.fragments()) {
    const Buffer expected = storage::test::pattern(100, 4000 + fragment.source - 1);
    CHECK(std::equal(fragment.bytes.begin(), fragment.bytes.end(), expected.begin(), expected.end()));
    CHECK(fragment.status == files::Status::ok);
    CHECK(fragment.is_sound());
  }
  files::Fragment changed = slice.fragment(0);
  changed.bytes = slice.fragment(1).bytes;
  CHECK(!changed.is_sound());
  CHECK(slice.find(2)->source == 2);
  CHECK(!slice.find(17));
  CHECK(slice.duration_ns() == 10 * kMillisecond);
}

TEST_CASE("a window of time has its pieces, and says which of them a neighbour has, too") {
  std::ifstream golden(WEIR_GOLDEN_WINDOW, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(golden), {});
  const auto window = std::as_bytes(std::span(text));
  const std::array table = {storage::test::whole_fragment(SourceId(1), window)};
  storage::SliceRecord slice_record;
  slice_record.head = storage::test::head_of({.slice = 4});
  slice_record.fragments = table;
  Buffer bytes;
  encode_slice_meta(slice_record, bytes);
  bytes.insert(bytes.end(), window.begin(), window.end());
  const test::TemporaryFolder folder;
  Fixture fixture;
  fixture.start();
  REQUIRE(fixture.store.store(bytes, {}, 0, fixture.now) == storage::StoreResult::accepted);
  fixture.close();
  write_file(folder, "run-000007-writer-0-0000.weir", fixture.disk.files().begin()->second.bytes);
  const files::Slice slice = files::Run(folder.path())[0];
  const auto pieces = FragmentPieces::read(slice.fragment(0).bytes);
  REQUIRE(pieces);
  CHECK(pieces->before_ns() == 10);
  std::vector<std::int64_t> offsets;
  std::vector<bool> borders;
  for (const FragmentPiece& piece : *pieces) {
    offsets.push_back(piece.offset_ns);
    borders.push_back(piece.border);
  }
  CHECK(offsets == std::vector<std::int64_t>{-5, 50, 95});
  CHECK(borders == std::vector<bool>{true, false, true});
}

TEST_CASE("every kind of record is read as the storage library reads it") {
  const test::TemporaryFolder folder;
  Fixture fixture;
  fixture.start();
  const auto records = storage::test::one_of_each_kind();
  for (const Buffer& record : records)
    REQUIRE(fixture.store.store(record, {}, 0, fixture.now) == storage::StoreResult::accepted);
  fixture.close();
  write_file(folder, "run-000007-writer-0-0000.weir", fixture.disk.files().begin()->second.bytes);
  std::size_t events = 0;
  const files::Run run(folder.path());
  for (const files::Slice& slice : run) {
    const auto record = std::find_if(records.begin(), records.end(), [&](const Buffer& bytes) {
      const auto head = storage::parse_slice_record(bytes)->head();
      return head.slice.value == slice.id() && head.attempt.value == slice.attempt();
    });
    REQUIRE(record != records.end());
    const storage::SliceRecordView view = *storage::parse_slice_record(*record);
    CHECK(name(slice.decision()) == weir::name(view.head().decision));
    CHECK(slice.streams() == view.head().stream_mask);
    CHECK(slice.filter_result().size() == view.filter_result().size());
    REQUIRE(slice.fragment_count() == view.fragment_count());
    for (std::size_t i = 0; i < slice.fragment_count(); ++i) {
      CHECK(name(slice.fragment(i).status) == weir::name(view.fragment(i).record.status));
      CHECK(name(slice.fragment(i).reason) == weir::name(view.fragment(i).record.reason));
      CHECK(slice.fragment(i).kept == view.fragment(i).record.kept);
      CHECK(slice.fragment(i).is_sound() == storage::fragment_is_sound(view.fragment(i)));
    }
    REQUIRE(slice.event_count() == view.event_count());
    for (std::size_t i = 0; i < slice.event_count(); ++i) {
      CHECK(slice.events()[i].id == view.event(i).id);
      CHECK(slice.event(i).bytes.size() == view.event(i).bytes.size());
    }
    events += slice.event_count();
  }
  CHECK(events > 0);
}

TEST_CASE("a folder with several runs needs a number, and errors have kinds") {
  const test::TemporaryFolder folder;
  CHECK(error_of(folder / "nowhere") == files::ErrorKind::not_found);
  CHECK(error_of(folder.path()) == files::ErrorKind::not_found);
  write_file(folder, "run-000007-writer-0-0000.weir", run_file({{.slice = 1}}));
  write_file(folder, "run-000008-writer-0-0000.weir", run_file({{.slice = 2, .run = 8}}, "writer-0", 8));
  CHECK(error_of(folder.path()) == files::ErrorKind::ambiguous);
  CHECK(ids_of(files::Run(folder.path(), 8)) == std::vector<std::uint64_t>{2});
  CHECK(error_of(folder.path(), 9) == files::ErrorKind::not_found);
  CHECK(error_of(folder / "run-000007-writer-0-0000.weir", 8) == files::ErrorKind::not_found);
  (void)folder.write("other.weir", "these bytes are long enough to be a header, and are none of Weir's");
  CHECK(error_of(folder / "other.weir") == files::ErrorKind::damaged);
}

TEST_CASE("a file that was not closed gives its whole slices, and says so") {
  const test::TemporaryFolder folder;
  Buffer bytes = run_file({{.slice = 1}, {.slice = 2}, {.slice = 3}});
  bytes.resize(bytes.size() / 2);
  write_file(folder, "run-000007-writer-0-0000.weir.part", bytes);
  const files::Run run(folder.path());
  CHECK(run.size() > 0);
  CHECK(run.size() < 3);
  CHECK(!run.files()[0].is_closed);
  CHECK(!run.files()[0].note.empty());
}

TEST_CASE("a damaged record is an error of its slice, and the next one is read") {
  const test::TemporaryFolder folder;
  Buffer bytes = run_file({{.slice = 1}, {.slice = 2}});
  const storage::RunFileReader reader = std::move(storage::RunFileReader::from_bytes(bytes, "f").value());
  bytes[reader.entries()[0].offset + storage::kRecordHeadLength + 20] ^= std::byte{1};
  write_file(folder, "run-000007-writer-0-0000.weir", bytes);
  const files::Run run(folder.path());
  REQUIRE(run.size() == 2);
  CHECK_THROWS_AS(run[0], files::Error);
  CHECK(run[1].id() == 2);
}

TEST_CASE("histograms of the run are those of its document") {
  const test::TemporaryFolder folder;
  write_file(folder, "run-000007-writer-0-0000.weir", run_file({{.slice = 1}}));
  histograms::Layout layout;
  REQUIRE(layout.book({"hits", histograms::Kind::one_dimension, {4, 0, 8}}));
  REQUIRE(layout.book({"gain", histograms::Kind::profile, {2, 0, 2}}));
  histograms::Contents contents(layout);
  histograms::Fills fills;
  fills.fill(layout.all()[0], 3, 0, 1);
  fills.fill(layout.all()[0], 9, 0, 2);
  fills.fill(layout.all()[1], 0.5, 4, 1);
  fills.fill(layout.all()[1], 0.5, 6, 1);
  std::vector<histograms::Addition> additions;
  fills.take(additions);
  contents.add(additions);
  const auto path = folder.write("run-000007-histograms.json",
                                 "{\"histograms\": [" + to_json(contents.view(0), contents.cells(0)) + ", " +
                                     to_json(contents.view(1), contents.cells(1)) + "], \"incomplete\": []}");
  const auto all = files::Run(folder.path()).histograms();
  REQUIRE(all.size() == 2);
  CHECK(all[0].name == "hits");
  CHECK(all[0].entries == 2);
  CHECK(all[0].content(2) == 1);
  CHECK(all[0].content(5) == 2);  // overflow
  CHECK(all[0].mean_x == Approx(7));
  CHECK(all[1].kind == files::Histogram::Kind::profile);
  CHECK(all[1].mean_y[1] == Approx(5));
  CHECK(all[1].sigma_y[1] == Approx(1));
  std::ofstream(path, std::ios::app) << "]";
  CHECK_THROWS_AS(files::Run(folder.path()).histograms(), files::Error);
}
