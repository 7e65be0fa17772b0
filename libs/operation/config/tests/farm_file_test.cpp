#include "weir_catch.hpp"
#include <weir/config/farm_file.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

using namespace weir;
using config::ProblemKind;

namespace {

// Returns the problems of a farm file with this text, one per line.
std::string problems_of(const std::string& text) {
  const auto file = config::read_farm(text, "farm.yaml");
  return file ? "" : config::to_text(file.error());
}

ProblemKind first_kind(const std::string& text) {
  const auto file = config::read_farm(text, "farm.yaml");
  REQUIRE_FALSE(file.has_value());
  return file.error().front().kind;
}

v1::Farm read(const std::string& text) {
  const auto file = config::read_farm(text, "farm.yaml");
  INFO(problems_of(text));
  REQUIRE(file.has_value());
  return file->farm;
}

}  // namespace

TEST_CASE("a farm file fills the keys it gives and leaves the others at their defaults") {
  const v1::Farm farm = read(
      "farm: test-beam\n"
      "run: {number: 7, checksums: no, duration_s: 1.5}\n"
      "trigger:\n"
      "  mode: clock\n"
      "  types:\n"
      "    - {type: 3, name: laser, sources: [1, 2]}\n"
      "dcm: {shaper: fragment-credits}\n"
      "filter: {plugin: prescale, parameters: {keep: 10, text: 'a: b'}}\n");
  CHECK(farm.farm() == "test-beam");
  CHECK(farm.run().number() == 7);
  CHECK_FALSE(farm.run().checksums());
  CHECK(farm.run().duration_s() == 1.5);
  CHECK(farm.trigger().mode() == v1::TriggerSettings::MODE_CLOCK);
  REQUIRE(farm.trigger().types_size() == 1);
  CHECK(farm.trigger().types(0).name() == "laser");
  CHECK(farm.trigger().types(0).sources_size() == 2);
  CHECK(farm.dcm().shaper() == v1::DcmSettings::SHAPER_FRAGMENT_CREDITS);
  CHECK(farm.filter().parameters().at("keep") == "10");
  CHECK(farm.filter().parameters().at("text") == "a: b");
  CHECK(farm.supervisor().attempts_max() == 2);
  CHECK(farm.network().congestion_control() == "cubic");
}

TEST_CASE("a size takes bytes, decimal and binary units") {
  const auto size = [](const std::string& text) {
    return read("writer: {file_bytes_max: " + text + "}").writer().file_bytes_max();
  };
  CHECK(size("65536") == 65536);
  CHECK(size("64k") == 64'000);
  CHECK(size("64kB") == 64'000);
  CHECK(size("64KiB") == 65'536);
  CHECK(size("1MiB") == 1U << 20U);
  CHECK(size("3 MB") == 3'000'000);
  CHECK(size("2GB") == 2'000'000'000);
  CHECK(size("2GiB") == std::uint64_t{2} << 30U);
  CHECK(size("1TiB") == std::uint64_t{1} << 40U);
}

TEST_CASE("dashes and underscores do not count in words") {
  for (const char* text : {"byte-credits", "byte_credits"}) {
    CHECK(read("dcm: {shaper: " + std::string(text) + "}").dcm().shaper() ==
          v1::DcmSettings::SHAPER_BYTE_CREDITS);
  }
  for (const char* text : {"log-normal", "log_normal", "lognormal"}) {
    CHECK(read("source: {distribution: " + std::string(text) + "}").source().distribution() ==
          v1::SourceSettings::DISTRIBUTION_LOG_NORMAL);
  }
}

TEST_CASE("an unknown key is named with its line and the nearest key") {
  CHECK(problems_of("dcm:\n  credit: 8\n") ==
        "farm.yaml:2: dcm.credit: unknown key; did you mean 'dcm.credits'?");
  CHECK(problems_of("dmc:\n  credits: 8\n") == "farm.yaml:1: dmc: unknown key; did you mean 'dcm'?");
  CHECK(problems_of("credits: 8\n") == "farm.yaml:1: credits: unknown key; did you mean 'dcm.credits'?");
  CHECK(problems_of("dcm: {xylophone: 8}\n") ==
        "farm.yaml:1: dcm.xylophone: unknown key; docs/configuration.md lists the keys");
  CHECK(first_kind("dcm:\n  credit: 8\n") == ProblemKind::unknown_key);
}

TEST_CASE("a key given twice is reported with both lines") {
  CHECK(problems_of("dcm:\n  credits: 8\n  count: 1\n  credits: 9\n") ==
        "farm.yaml:4: dcm.credits: given twice, first on line 2");
  CHECK(problems_of("filter:\n  parameters:\n    a: 8\n    a: 9\n") ==
        "farm.yaml:4: filter.parameters.a: given twice, first on line 3");
  CHECK(first_kind("farm: a\nfarm: b\n") == ProblemKind::duplicate_key);
}

TEST_CASE("a value of the wrong kind is rejected with the expected kind") {
  CHECK(problems_of("dcm:\n  credits: [1]\n") ==
        "farm.yaml:2: dcm.credits: expected a whole number, found a list");
  CHECK(problems_of("dcm:\n  credits:\n") ==
        "farm.yaml:2: dcm.credits: expected a whole number, found nothing");
  CHECK(problems_of("dcm: 5\n") == "farm.yaml:1: dcm: expected keys and values, found '5'");
  CHECK(problems_of("farm: {a: b}\n") == "farm.yaml:1: farm: expected a text, found keys and values");
  CHECK(problems_of("readout:\n  masked: 5\n") ==
        "farm.yaml:2: readout.masked: expected a list as in [a, b], found '5'");
  CHECK(problems_of("dcm: {window_bytes: {}}\n") ==
        "farm.yaml:1: dcm.window_bytes: expected a size in bytes, found keys and values");
  CHECK(problems_of("run: {checksums: []}\n") ==
        "farm.yaml:1: run.checksums: expected true or false, found a list");
  CHECK(problems_of("trigger: {rate_hz: []}\n") ==
        "farm.yaml:1: trigger.rate_hz: expected a number, found a list");
  CHECK(problems_of("trigger: {mode: []}\n") == "farm.yaml:1: trigger.mode: expected a word, found a list");
  CHECK(problems_of("filter: {parameters: [a]}\n") ==
        "farm.yaml:1: filter.parameters: expected keys and values, found a list");
  CHECK(problems_of("readout: {nodes: [5]}\n") ==
        "farm.yaml:1: readout.nodes[0]: expected keys and values, found '5'");
  CHECK(problems_of("[a, b]\n") == "farm.yaml:1: expected keys and values, found a list");
  CHECK(first_kind("dcm: 5\n") == ProblemKind::wrong_kind);
}

TEST_CASE("a value that does not parse is quoted") {
  CHECK(problems_of("dcm: {credits: eight}\n") == "farm.yaml:1: dcm.credits: 'eight' is not a whole number");
  CHECK(problems_of("dcm: {credits: 1.5}\n") == "farm.yaml:1: dcm.credits: '1.5' is not a whole number");
  CHECK(problems_of("dcm: {window_bytes: 64q}\n") ==
        "farm.yaml:1: dcm.window_bytes: '64q' is not a size: write bytes, or a unit as in 64k, 64KiB, 1MiB, "
        "2GB");
  CHECK(problems_of("trigger: {rate_hz: fast}\n") == "farm.yaml:1: trigger.rate_hz: 'fast' is not a number");
  CHECK(problems_of("trigger: {rate_hz: nan}\n") == "farm.yaml:1: trigger.rate_hz: 'nan' is not a number");
  CHECK(problems_of("run: {checksums: maybe}\n") ==
        "farm.yaml:1: run.checksums: 'maybe' is not true or false");
  CHECK(problems_of("trigger: {mode: clok}\n") ==
        "farm.yaml:1: trigger.mode: 'clok' is not one of max, rate, poisson, clock, file, network; "
        "did you mean 'clock'?");
  CHECK(problems_of("farm: 'a b'\n") ==
        "farm.yaml:1: farm: 'a b' is not a name: 1 to 64 letters, digits, '_', '-' and '.'");
  CHECK(problems_of("trigger: {listen: 'here:70000'}\n") ==
        "farm.yaml:1: trigger.listen: 'here:70000' is not host:port with a port up to 65535");
  CHECK(problems_of("readout: {host: 'a b'}\n") ==
        "farm.yaml:1: readout.host: 'a b' is not a host name or address");
  CHECK(problems_of("run: {out: \"a\\x01b\"}\n") == "farm.yaml:1: run.out: holds a control character");
  CHECK(first_kind("dcm: {credits: eight}\n") == ProblemKind::bad_value);
}

TEST_CASE("a number outside of its range is refused with the limit") {
  CHECK(problems_of("dcm:\n\n  credits: 0\n") == "farm.yaml:3: dcm.credits: 0 is below 1");
  CHECK(problems_of("dcm: {credits: 65536}\n") == "farm.yaml:1: dcm.credits: 65536 is above 65535");
  CHECK(problems_of("dcm: {credits: -1}\n") == "farm.yaml:1: dcm.credits: -1 is below 1");
  CHECK(problems_of("dcm: {buffer_bytes: 1k}\n") == "farm.yaml:1: dcm.buffer_bytes: 1k is below 64KiB");
  CHECK(problems_of("trigger: {slice_ms: 0}\n") == "farm.yaml:1: trigger.slice_ms: 0 is below 0.0001");
  CHECK(problems_of("trigger: {slice_ms: 1e-9}\n") == "farm.yaml:1: trigger.slice_ms: 1e-9 is below 0.0001");
  CHECK(problems_of("supervisor: {attempts_max: 201}\n") ==
        "farm.yaml:1: supervisor.attempts_max: 201 is above 200");
  CHECK(problems_of("trigger: {rate_hz: -0.5}\n") == "farm.yaml:1: trigger.rate_hz: -0.5 is below 0");
  CHECK(problems_of("hits: {waveform_fraction: 1.1}\n") ==
        "farm.yaml:1: hits.waveform_fraction: 1.1 is above 1");
  CHECK(first_kind("dcm: {credits: 0}\n") == ProblemKind::out_of_range);
}

TEST_CASE("a time above 0 that would become 0 ns is refused") {
  CHECK(problems_of("run: {duration_s: 1e-10}\n") ==
        "farm.yaml:1: run.duration_s: 1e-10 is below 1 ns, the shortest time above 0");
  CHECK(problems_of("source: {faults: [{silent_every_s: 1e-12}]}\n") ==
        "farm.yaml:1: source.faults[0].silent_every_s: 1e-12 is below 1 ns, the shortest time above 0");
  CHECK(problems_of("source: {faults: [{delay_ms: 1e-7}]}\n") ==
        "farm.yaml:1: source.faults[0].delay_ms: 1e-7 is below 1 ns, the shortest time above 0");
  CHECK(read("run: {duration_s: 1e-9}").run().duration_s() == 1e-9);
  CHECK(read("run: {duration_s: 0}").run().duration_s() == 0);
}

TEST_CASE("a number too large for its type is refused, not wrapped") {
  CHECK(problems_of("run: {number: 4294967296}\n") ==
        "farm.yaml:1: run.number: 4294967296 is above 4294967295");
  CHECK(problems_of("run: {slices: 18446744073709551616}\n") ==
        "farm.yaml:1: run.slices: 18446744073709551616 is above 18446744073709551615");
  CHECK(problems_of("dcm: {buffer_bytes: 18446744073709551615TiB}\n") ==
        "farm.yaml:1: dcm.buffer_bytes: 18446744073709551615TiB is above 1TiB");
  CHECK(problems_of("trigger: {rate_hz: 1e999}\n") ==
        "farm.yaml:1: trigger.rate_hz: '1e999' is out of range for a number");
  CHECK(read("run: {slices: 18446744073709551615}").run().slices() == 18446744073709551615U);
}

TEST_CASE("an entry that lacks a required key is refused") {
  CHECK(problems_of("trigger:\n  types:\n    - type: 1\n    - name: laser\n") ==
        "farm.yaml:3: trigger.types[0].name: missing\nfarm.yaml:4: trigger.types[1].type: missing");
  CHECK(first_kind("readout: {nodes: [{sources: [1]}]}\n") == ProblemKind::missing_key);
}

TEST_CASE("all problems of a file are reported, in order") {
  CHECK(problems_of("dcm:\n  credit: 8\n  count: 0\nrun: 5\nlog: {level: loud}\n") ==
        "farm.yaml:2: dcm.credit: unknown key; did you mean 'dcm.credits'?\n"
        "farm.yaml:3: dcm.count: 0 is below 1\n"
        "farm.yaml:4: run: expected keys and values, found '5'\n"
        "farm.yaml:5: log.level: 'loud' is not one of trace, debug, info, warning, error");
}

TEST_CASE("a file with many mistakes is reported up to a limit") {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "key" + std::to_string(i) + ": 1\n";
  const auto file = config::read_farm(text, "farm.yaml");
  REQUIRE_FALSE(file.has_value());
  REQUIRE(file.error().size() == config::kProblemsMax + 1);
  CHECK(file.error().back().text() == "farm.yaml:101: and more problems from here on");
}

TEST_CASE("a pipe is refused as a farm file, and not waited for") {
  const auto path = std::filesystem::temp_directory_path() / ("weir-fifo-" + std::to_string(::getpid()));
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const auto file = config::load_farm(path);
  std::filesystem::remove(path);
  REQUIRE_FALSE(file);
  CHECK_THAT(config::to_text(file.error()), Catch::ContainsSubstring("not a regular file"));
}

TEST_CASE("a file that is not UTF-8 is refused with the line") {
  const auto file = config::read_farm("farm: a\nrun:\n  out: caf\xe9\n", "farm.yaml");
  REQUIRE_FALSE(file.has_value());
  CHECK(config::to_text(file.error()) == "farm.yaml:3: not UTF-8 text");
}

TEST_CASE("a file that cannot be read is named") {
  const auto absent = config::load_farm("/nonexistent/farm.yaml");
  REQUIRE_FALSE(absent.has_value());
  CHECK(config::to_text(absent.error()) == "/nonexistent/farm.yaml: no such file");
  CHECK(absent.error().front().kind == ProblemKind::unreadable);
  const auto folder = config::load_farm("/");
  REQUIRE_FALSE(folder.has_value());
  CHECK(config::to_text(folder.error()) == "/: is a folder, not a farm file");
}

TEST_CASE("a file is read from disk and remembers the line of each key") {
  const auto path = std::filesystem::temp_directory_path() / "weir-config-farm-file-test.yaml";
  std::ofstream(path) << "farm: a\ndcm:\n  credits: 8\n";
  const auto file = config::load_farm(path);
  std::filesystem::remove(path);
  REQUIRE(file.has_value());
  CHECK(file->locations.of("dcm.credits") == path.string() + ":3");
  CHECK(file->locations.of("dcm.count") == path.string() + ":2");
  CHECK(file->locations.of("run.number") == path.string());
}

namespace {

// Farm files that include each other, in a temporary folder.
class Files {
 public:
  Files() : folder_(std::filesystem::temp_directory_path() / ("weir-include-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_ / "common");
  }
  ~Files() { std::filesystem::remove_all(folder_); }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  void write(const std::string& name, const std::string& text) { std::ofstream(folder_ / name) << text; }
  [[nodiscard]] auto load() const { return config::load_farm(folder_ / "farm.yaml"); }
  // Leaves the folder's name out.
  [[nodiscard]] std::string problems() const {
    const auto file = load();
    std::string text = file ? "" : config::to_text(file.error());
    const std::string prefix = folder_.string() + "/";
    for (std::size_t at = text.find(prefix); at != text.npos; at = text.find(prefix))
      text.erase(at, prefix.size());
    return text;
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace

TEST_CASE("a farm file goes on from those that it includes") {
  Files files;
  files.write("farm.yaml",
              "include: [common/base.yaml, common/disks.yaml]\nfarm: mine\ndcm: {credits: 8}\n"
              "filter: {parameters: {keep: 3}}\nreadout: {masked: [7]}\n");
  files.write("common/base.yaml",
              "include: [further.yaml]\nfarm: base\ndcm: {credits: 4, slices_max: 100}\n"
              "filter: {parameters: {keep: 1, text: base}}\nreadout: {masked: [1, 2]}\n");
  files.write("common/further.yaml", "dcm: {slices_max: 50, deadline_ms: 9}\n");
  files.write("common/disks.yaml", "writer:\n  count: 3\ndcm: {slices_max: 200}\n");
  INFO(files.problems());
  const auto file = files.load();
  REQUIRE(file.has_value());
  const v1::Farm& farm = file->farm;
  CHECK(farm.farm() == "mine");
  CHECK(farm.dcm().credits() == 8);
  CHECK(farm.dcm().slices_max() == 200);
  CHECK(farm.dcm().deadline_ms() == 9);
  CHECK(farm.writer().count() == 3);
  CHECK(farm.filter().parameters().at("keep") == "3");
  CHECK(farm.filter().parameters().at("text") == "base");
  REQUIRE(farm.readout().masked_size() == 1);
  CHECK(farm.readout().masked(0) == 7);
  CHECK(farm.include().empty());
  CHECK_THAT(file->locations.of("writer.count"), Catch::ContainsSubstring("common/disks.yaml:2"));
  CHECK_THAT(file->locations.of("dcm.credits"), Catch::ContainsSubstring("/farm.yaml:3"));
  // A farm that was written as text has no includes left.
  CHECK(config::read_farm(config::to_yaml(farm), "written.yaml").has_value());
}

TEST_CASE("problems in an included file are reported with its name and line") {
  Files files;
  files.write("farm.yaml", "farm: mine\ninclude:\n  - common/base.yaml\n");
  CHECK(files.problems().find("farm.yaml:3: include: '") == 0);
  CHECK_THAT(files.problems(), Catch::ContainsSubstring("no such file"));
  files.write("common/base.yaml", "farm: base\ndcm: {credit: 4}\n");
  CHECK(files.problems() == "common/base.yaml:2: dcm.credit: unknown key; did you mean 'dcm.credits'?");
  files.write("common/base.yaml", "include: [../farm.yaml]\n");
  CHECK_THAT(files.problems(), Catch::ContainsSubstring("more than 32 files: they may include each other"));
  files.write("farm.yaml", "include: common/base.yaml\n");
  CHECK(files.problems() == "farm.yaml:1: include: expected a list as in [a, b], found 'common/base.yaml'");
}
