#include "records.hpp"
#include "temporary_folder.hpp"
#include "weir_catch.hpp"
#include <weir/storage/run_file_reader.hpp>
#include <weir/storage/verify.hpp>
#include <weir/tap_client/sample_file.hpp>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

using namespace weir;
using namespace weir::tap_client;
using weir::test::TemporaryFolder;

namespace {

Added add(SampleFile& file, std::uint64_t slice, std::uint32_t run) {
  const auto bytes = tap_client::test::make_record(slice, run, 5 + slice);
  const auto view = storage::parse_slice_record(bytes);
  REQUIRE(view);
  return file.add(*view);
}

}  // namespace

TEST_CASE("a file of samples is a run file that verifies") {
  const TemporaryFolder folder;
  const std::string path = folder / "tapped.weir";
  SampleFile file(path, "farm", "{}");
  for (const std::uint64_t slice : {7U, 3U, 9U}) CHECK(add(file, slice, 4) == Added::written);
  CHECK(add(file, 3, 4) == Added::known);
  CHECK(add(file, 5, 8) == Added::other_run);
  CHECK(std::filesystem::exists(path + ".part"));
  file.close();
  CHECK_FALSE(std::filesystem::exists(path + ".part"));
  const auto read = storage::RunFileReader::open(path);
  REQUIRE(read);
  CHECK(read->closed());
  const storage::VerifyReport report = storage::verify(*read);
  INFO((report.problems.empty() ? "" : report.problems.front().text));
  CHECK(report.sound());
  CHECK(report.slices == 3);
  CHECK(report.live.count == 3);
}

TEST_CASE("a file of samples that was not closed is read as a part") {
  const TemporaryFolder folder;
  const std::string path = folder / "tapped.weir";
  {
    SampleFile file(path, "farm", "{}");
    CHECK(add(file, 1, 4) == Added::written);
  }
  const auto read = storage::RunFileReader::open(path + ".part");
  REQUIRE(read);
  CHECK_FALSE(read->closed());
  CHECK(storage::verify(*read).slices == 1);
}

TEST_CASE("no file is overwritten, and without samples none is made") {
  const TemporaryFolder folder;
  const std::string path = folder / "tapped.weir";
  SampleFile empty(path, "farm", "{}");
  empty.close();
  CHECK(std::filesystem::is_empty(folder.path()));
  SampleFile first(path, "farm", "{}");
  CHECK(add(first, 1, 4) == Added::written);
  first.close();
  CHECK_THROWS_WITH(SampleFile(path, "farm", "{}"), Catch::Matchers::ContainsSubstring("not overwritten"));
}
