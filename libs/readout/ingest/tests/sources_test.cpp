#include "temporary_folder.hpp"
#include "weir_catch.hpp"
#include <weir/ingest/sources.hpp>

using namespace weir;
using namespace weir::ingest;
using Catch::ContainsSubstring;
using weir::test::TemporaryFolder;

TEST_CASE("dummy sources can have any ids, and return the requested fragments", "[sources]") {
  SourceSettings settings;
  settings.dummy.size_bytes = 100;
  const std::vector ids{SourceId(5), SourceId(77)};
  const auto sources = make_sources(settings, ids);
  REQUIRE(sources.size() == 2);
  CHECK(sources[1]->id() == SourceId(77));
  for (const auto& source : sources) source->begin_run(RunNumber(1));
  CHECK(sources[0]->produce({SliceId(1), 0, 0, TriggerType()}).bytes.size() == 100);
  settings.dummy.size_bytes_min = 9;
  settings.dummy.size_bytes_max = 8;
  CHECK_THROWS_WITH(make_sources(settings, ids), ContainsSubstring("size_bytes_min"));
}

TEST_CASE("hits sources are those of the detector, others are refused", "[sources]") {
  SourceSettings settings;
  settings.kind = SourceKind::hits;
  settings.hits.first_source = SourceId(10);
  const std::vector ids{SourceId(10), SourceId(24)};
  CHECK(make_sources(settings, ids).size() == 2);
  CHECK_THROWS_WITH(make_sources(settings, std::vector{SourceId(25)}), ContainsSubstring("source 25"));
  settings.hits.strings = 0;
  CHECK_THROWS_WITH(make_sources(settings, ids), ContainsSubstring("strings"));
}

TEST_CASE("replay sources are those of the recorded data, others are refused", "[sources]") {
  const TemporaryFolder folder;
  SourceSettings settings;
  settings.kind = SourceKind::replay;
  settings.replay.path = folder.path();
  CHECK_THROWS_WITH(make_sources(settings, std::vector{SourceId(8)}),
                    ContainsSubstring("replay: ") && ContainsSubstring(folder.path()));
  folder.write("a.bin", "aaaaaa");
  folder.write("index.json",
               R"({"hit_bytes": 6, "slices": [{"slice": 3, "utc_s": 1, "utc_ns": 2, "file": "a.bin",
    "bytes": 6, "fragments": [{"source": 8, "offset": 0, "hits": 1}]}]})");
  CHECK(make_sources(settings, std::vector{SourceId(8)}).size() == 1);
  CHECK_THROWS_WITH(make_sources(settings, std::vector{SourceId(9)}), ContainsSubstring("source 9"));
}

TEST_CASE("the layout of a folder is known without its data", "[sources]") {
  const TemporaryFolder folder;
  folder.write("index.json",
               R"({"hit_bytes": 6, "slices": [
    {"slice": 3, "utc_s": 1, "utc_ns": 2, "file": "a.bin", "bytes": 18,
     "fragments": [{"source": 8, "offset": 0, "hits": 1}, {"source": 4, "offset": 6, "hits": 2}]},
    {"slice": 4, "utc_s": 1, "utc_ns": 2, "file": "b.bin", "bytes": 24,
     "fragments": [{"source": 8, "offset": 0, "hits": 4}]}]})");
  const auto contents = look_into(folder.path());
  REQUIRE(contents);
  CHECK(contents->sources == std::vector{SourceId(4), SourceId(8)});
  CHECK(contents->slices == 2);
  CHECK(contents->slice_bytes_max == 24);
  CHECK(contents->fragment_bytes_max == 24);
  const auto absent = look_into(folder / "nowhere");
  REQUIRE_FALSE(absent);
  CHECK(absent.error().error == IngestError::not_found);
}
