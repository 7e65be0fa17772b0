#include "weir_catch.hpp"
#include <weir/ingest/folder_index.hpp>

using namespace weir;
using namespace weir::ingest;

namespace {

const std::string kGood = R"({"hit_bytes": 6, "slices": [
 {"slice": 4, "run": 1, "utc_s": 10, "utc_ns": 6, "file": "b.bin", "bytes": 6, "fragments": [
  {"source": 9, "offset": 0, "hits": 0}, {"source": 8, "offset": 0, "hits": 1}]},
 {"slice": 3, "run": 1, "utc_s": 10, "utc_ns": 5, "file": "a.bin", "bytes": 30, "fragments": [
  {"source": 8, "offset": 0, "hits": 2}, {"source": 9, "offset": 12, "hits": 3}]}]})";

std::string with(const std::string& from, const std::string& to) {
  std::string text = kGood;
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string detail_of(const std::string& text, IngestError error = IngestError::malformed) {
  const auto index = parse_folder_index(text, "dir/index.json");
  REQUIRE_FALSE(index);
  CHECK(index.error().error == error);
  CHECK(index.error().detail.find("dir/index.json: ") == 0);
  return index.error().detail.substr(std::string("dir/index.json: ").size());
}

}  // namespace

TEST_CASE("an index is read, its slices and sources put in order", "[index]") {
  const auto index = parse_folder_index(kGood, "index.json");
  REQUIRE(index);
  REQUIRE(index->slices.size() == 2);
  CHECK(index->slices[0].slice == SliceId(3));
  CHECK(index->slices[0].time == 10'000'000'005);
  CHECK(index->slices[0].file == "a.bin");
  CHECK(index->slices[0].fragments[1].source == SourceId(9));
  CHECK(index->slices[0].fragments[1].offset == 12);
  CHECK(index->slices[0].fragments[1].length == 18);
  CHECK(index->slices[1].fragments[0].source == SourceId(8));
}

TEST_CASE("a slice's length is that of the index, or the one that fits all times and ids", "[index]") {
  const auto lengths = [](const std::string& text) {
    std::vector<DurationNs> found;
    const auto index = parse_folder_index(text, "index.json");
    REQUIRE(index);
    for (const FolderIndex::Slice& slice : index->slices) found.push_back(slice.duration);
    return found;
  };
  using Lengths = std::vector<DurationNs>;
  CHECK(lengths(kGood) == Lengths{1, 1});
  CHECK(lengths(with("\"slice\": 4", "\"duration_ns\": 100, \"slice\": 4")) == Lengths{1, 100});
  CHECK(lengths(with("\"slice\": 4", "\"slice\": 5")) == Lengths{0, 0});
  CHECK(lengths(with("\"utc_ns\": 6", "\"utc_ns\": 4")) == Lengths{0, 0});
  CHECK(lengths(with("\"utc_ns\": 6", "\"utc_ns\": 5")) == Lengths{0, 0});
  CHECK(lengths(with("\"utc_s\": 10, \"utc_ns\": 6", "\"utc_s\": 3999999999, \"utc_ns\": 6")) ==
        Lengths{0, 0});
  CHECK(detail_of(with("\"slice\": 4", "\"duration_ns\": -1, \"slice\": 4")).find("slices[0].duration_ns") ==
        0);
}

TEST_CASE("a field that is wrong is named with its place", "[index]") {
  CHECK(detail_of(with("\"hits\": 3", "\"hits\": 4")).find("slices[1].fragments[1]: 4 hits from byte 12") ==
        0);
  CHECK(detail_of(with("\"offset\": 12", "\"offset\": 31")).find("slices[1].fragments[1]") == 0);
  CHECK(detail_of(with("\"offset\": 12", "\"offset\": 18446744073709551615"))
            .find("slices[1].fragments[1].offset") == 0);
  CHECK(detail_of(with("\"hits\": 3", "\"hits\": -1")).find("slices[1].fragments[1].hits") == 0);
  CHECK(detail_of(with("\"hits\": 3", "\"hits\": 1.5")).find("slices[1].fragments[1].hits") == 0);
  CHECK(detail_of(with("\"hits\": 3", "\"hits\": [1]")).find("slices[1].fragments[1].hits") == 0);
  CHECK(detail_of(with("\"source\": 9, \"offset\": 12", "\"source\": 8, \"offset\": 12"))
            .find("slices[1].fragments") == 0);
  CHECK(detail_of(with("\"slice\": 3", "\"slice\": 4")).find("slices: slice 4 occurs twice") == 0);
  CHECK(detail_of(with("\"file\": \"a.bin\"", "\"file\": \"../a.bin\"")).find("slices[1].file") == 0);
  CHECK(detail_of(with("\"utc_ns\": 5", "\"utc_ns\": 1000000000")).find("slices[1].utc_ns") == 0);
  CHECK(detail_of(with("\"bytes\": 30, ", "")).find("slices[1].bytes: is not there") == 0);
  CHECK(detail_of(with("\"hit_bytes\": 6", "\"hit_bytes\": 8")).find("hit_bytes: is 8") == 0);
  CHECK(detail_of(R"({"hit_bytes": 6, "slices": []})") == "slices: is empty");
  CHECK(detail_of(R"({"hit_bytes": 6, "slices": 5})") == "slices: must be a list");
  CHECK(detail_of(R"({"hit_bytes": 6, "slices": [5]})") == "slices[0]: must be an object");
  CHECK(detail_of("[1, 2]") == "the document: must be an object");
  CHECK(detail_of("").find("line 1, column 1: ") == 0);
  CHECK(detail_of(with("\"slice\": 3", "\"slice\": 18446744073709551616")).find("slices[1].slice") == 0);
  CHECK(detail_of(with("\"slice\": 3", "\"slice\": \"3\"")).find("slices[1].slice") == 0);
}

TEST_CASE("text that is cut off or nested too deep is an error with its line", "[index]") {
  for (std::size_t size = 0; size < kGood.size(); ++size) {
    CHECK_FALSE(parse_folder_index(kGood.substr(0, size), "index.json"));
  }
  CHECK(detail_of("{\"hit_bytes\": 6,\n \"slices\": [").find("line 2, column ") == 0);
  CHECK(detail_of("{\"hit_bytes\": 6,\n \"slices\" 5}").find("line 2, column 11: ") == 0);
  CHECK(detail_of(kGood + "x").find("line ") == 0);
  (void)detail_of(std::string(100'000, '['));
  (void)detail_of(std::string(100'000, '{'));
}

TEST_CASE("limits hold before anything is read", "[index]") {
  ReplayLimits limits;
  limits.slices_max = 1;
  CHECK(parse_folder_index(kGood, "i", limits).error().error == IngestError::too_large);
  limits = {};
  limits.fragments_max = 3;
  CHECK(parse_folder_index(kGood, "i", limits).error().error == IngestError::too_large);
  limits = {};
  limits.index_bytes_max = 10;
  CHECK(parse_folder_index(kGood, "i", limits).error().error == IngestError::too_large);
}
