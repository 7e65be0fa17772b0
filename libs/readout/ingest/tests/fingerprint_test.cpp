#include "weir_catch.hpp"
#include <weir/base/scratch_folder.hpp>
#include <weir/ingest/fingerprint.hpp>
#include <weir/ingest/sources.hpp>

#include <filesystem>
#include <fstream>

using namespace weir;

namespace {

struct Recording {
  Recording() {
    write("index.json", R"({"hit_bytes": 6, "slices": [
      {"slice": 1, "utc_s": 1, "utc_ns": 0, "file": "b.bin", "bytes": 6, "fragments": [{"source": 1, "offset": 0, "hits": 1}]},
      {"slice": 2, "utc_s": 2, "utc_ns": 0, "file": "a.bin", "bytes": 6, "fragments": [{"source": 1, "offset": 0, "hits": 1}]}]})");
    write("a.bin", "aaaaaa");
    write("b.bin", "bbbbbb");
  }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(folder.path() / name, std::ios::binary) << content;
  }
  [[nodiscard]] std::vector<ingest::RecordedFile> files() const {
    const auto found = ingest::fingerprint(folder.path().string());
    REQUIRE(found);
    return *found;
  }
  ScratchFolder folder;
};

}  // namespace

TEST_CASE("a folder's fingerprint is its index and its files by name, each with size, time and checksum") {
  const Recording recording;
  const auto files = recording.files();
  REQUIRE(files.size() == 3);
  CHECK(files[0].name == "index.json");
  CHECK(files[1].name == "a.bin");
  CHECK(files[2].name == "b.bin");
  CHECK(files[1].bytes == 6);
  CHECK(files[1].modified > 0);
  CHECK(files[1].crc32c != files[2].crc32c);
}

TEST_CASE("the fingerprint belongs to the data read, and changes with a single byte") {
  const Recording recording;
  const auto before = recording.files();
  ingest::SourceSettings settings;
  settings.kind = ingest::SourceKind::replay;
  settings.replay.path = recording.folder.path().string();
  std::vector<ingest::RecordedFile> read;
  const std::vector<SourceId> sources{SourceId(1)};
  (void)ingest::make_sources(settings, sources, &read);
  REQUIRE(read.size() == before.size());
  for (std::size_t i = 0; i < read.size(); ++i) CHECK(read[i].crc32c == before[i].crc32c);
  recording.write("b.bin", "bbbbbc");
  CHECK(recording.files()[2].crc32c != before[2].crc32c);
  CHECK(recording.files()[1].crc32c == before[1].crc32c);
}
