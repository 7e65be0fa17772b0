#include "../src/recovery_owner.hpp"
#include "../src/text_output.hpp"
#include "store_fixture.hpp"
#include "temporary_folder.hpp"
#include "weir_catch.hpp"
#include <weir/base/bytes.hpp>
#include <weir/storage/file_command.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>

using namespace weir;
using namespace weir::storage;
using namespace weir::storage::test;
using Catch::Matchers::ContainsSubstring;
using weir::test::TemporaryFolder;

namespace {

struct Shown {
  int status;
  std::string out;
  std::string err;
};

Shown run(const FileCommand& command) {
  std::ostringstream out;
  std::ostringstream err;
  const int status = run_file_command(command, out, err);
  return {status, out.str(), err.str()};
}

// One file with the slices 1 to 4, and slice 2 twice.
struct OneFile {
  OneFile() : path(folder / "run-000007-writer-0-0000.weir") {
    Fixture fixture;
    fixture.start();
    for (std::uint64_t i = 1; i <= 4; ++i) (void)fixture.put({.slice = i, .fragment_bytes = 20});
    (void)fixture.put({.slice = 2, .attempt = 1, .epoch = 2});
    fixture.close();
    bytes = fixture.disk.files().begin()->second.bytes;
    save();
  }
  void save() const {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  FileCommand command(FileVerb verb) const {
    FileCommand made;
    made.verb = verb;
    made.paths = {path};
    return made;
  }

  TemporaryFolder folder;
  std::string path;
  Buffer bytes;
};

}  // namespace

TEST_CASE("info shows a file's contents, as text and as JSON") {
  const OneFile file;
  FileCommand command = file.command(FileVerb::info);
  const Shown text = run(command);
  CHECK(text.status == kFileCommandFine);
  CHECK_THAT(text.out,
             ContainsSubstring("closed") && ContainsSubstring("4 (0 incomplete, 0 unfiltered), and 1 dead"));
  CHECK_THAT(text.out, ContainsSubstring("test-farm") && ContainsSubstring("2023-11-14T22:13:20"));
  command.json = true;
  const Shown json = run(command);
  CHECK_THAT(json.out, ContainsSubstring("\"slices\":4,\"dead\":1") && ContainsSubstring("\"closed\":true"));
}

TEST_CASE("ls has a line for each slice, in order, and dead copies only when asked") {
  const OneFile file;
  FileCommand command = file.command(FileVerb::ls);
  command.json = true;
  const auto lines = [&] {
    const std::string out = run(command).out;
    return std::count(out.begin(), out.end(), '\n');
  };
  CHECK(lines() == 4);
  command.all = true;
  CHECK(lines() == 5);
  command.lines_max = 2;
  CHECK(lines() == 2);
  command.lines_max = 0;
  command.slice = 2;
  CHECK(lines() == 2);
  command.json = false;
  CHECK_THAT(run(command).out, ContainsSubstring("trigger time (UTC)") && ContainsSubstring("dead"));
}

TEST_CASE("the pieces of a window of time are shown one a line, and other bytes are not taken for pieces") {
  Buffer bytes(40 + 2 * 24 + 20);
  store_le<std::uint32_t>(bytes.data(), 0x31435057);
  store_le<std::uint32_t>(bytes.data() + 4, 2);
  store_le<std::uint64_t>(bytes.data() + 8, 1'700'000'000 * kSecond);
  store_le<std::uint64_t>(bytes.data() + 16, 10 * kMillisecond);
  store_le<std::uint64_t>(bytes.data() + 24, kMillisecond);
  std::byte* first = bytes.data() + 40;
  store_le<std::uint64_t>(first, static_cast<std::uint64_t>(-7));
  store_le<std::uint32_t>(first + 16, 18);
  first[20] = std::byte{1};
  store_le<std::uint64_t>(first + 24, 500);
  store_le<std::uint64_t>(first + 32, 40);
  store_le<std::uint32_t>(first + 40, 2);
  first[45] = std::byte{99};
  bytes[bytes.size() - 2] = std::byte{0xab};
  CHECK(pieces_text(bytes, 8, "  ") ==
        "  window 2023-11-14T22:13:20.000000000Z, 10 ms, 1 ms before and 0 ns after, pieces: 2\n"
        "  at -7 ns, 0 ns, 18 B, ok, border: 00000000000000000000000000000000...\n"
        "  at +500 ns, 40 ns, 2 B, unknown status: ab00\n");
  CHECK(pieces_text(bytes, 1, "") ==
        "window 2023-11-14T22:13:20.000000000Z, 10 ms, 1 ms before and 0 ns after, pieces: 2\n"
        "at -7 ns, 0 ns, 18 B, ok, border: 00000000000000000000000000000000...\n...\n");
  bytes.pop_back();
  CHECK(pieces_text(bytes, 8, "").empty());
}

TEST_CASE("dump shows a slice, or gives the bytes of one source") {
  const OneFile file;
  FileCommand command = file.command(FileVerb::dump);
  command.slice = 3;
  const Shown text = run(command);
  CHECK(text.status == kFileCommandFine);
  CHECK_THAT(text.out,
             ContainsSubstring("slice 3 in") && ContainsSubstring("crc32c") && ContainsSubstring("good"));
  command.source = 2;
  command.raw = true;
  const Shown raw = run(command);
  CHECK(storage::test::text(raw.out) == pattern(20, 3001));
  command.source = 9;
  CHECK(run(command).status == kFileCommandFaults);
  command.source = 2;
  command.slice = 99;
  CHECK_THAT(run(command).err, ContainsSubstring("slice 99"));
}

TEST_CASE("verify names slice and source of a flipped bit") {
  OneFile file;
  FileCommand command = file.command(FileVerb::verify);
  CHECK(run(command).status == kFileCommandFine);
  const auto reader = RunFileReader::from_bytes(file.bytes, "f");
  const auto fragment = reader->slice(*reader->find(SliceId(3)))->find(SourceId(2));
  file.bytes[static_cast<std::size_t>(fragment->bytes.data() - file.bytes.data()) + 7] ^= std::byte{4};
  file.save();
  const Shown text = run(command);
  CHECK(text.status == kFileCommandFaults);
  CHECK_THAT(text.out, ContainsSubstring("slice 3 source 2: checksum mismatch"));
  command.json = true;
  CHECK_THAT(run(command).out, ContainsSubstring("\"slice\":\"3\",\"source\":2"));
}

TEST_CASE("an unclosed file is read and reported as such") {
  OneFile file;
  file.bytes.resize(file.bytes.size() - 24);
  file.save();
  CHECK_THAT(run(file.command(FileVerb::info)).out, ContainsSubstring("not closed"));
  // A file with its final name had a footer.
  CHECK(run(file.command(FileVerb::verify)).status == kFileCommandFaults);
}

TEST_CASE(
    "verify distinguishes a sound unclosed file from a damaged one, and names the command to recover it") {
  OneFile file;
  const auto reader = RunFileReader::from_bytes(file.bytes, "f");
  const IndexEntry& last = reader->entries().back();
  const auto fragment = reader->slice(*reader->find(SliceId(3)))->find(SourceId(2));
  const auto in_fragment = static_cast<std::size_t>(fragment->bytes.data() - file.bytes.data());
  file.bytes.resize(last.offset + 100);
  file.path += ".part";
  file.save();
  FileCommand command = file.command(FileVerb::verify);
  const Shown text = run(command);
  CHECK(text.status == kFileCommandUnclosed);
  CHECK_THAT(text.out, ContainsSubstring("sound, but not closed") && ContainsSubstring("4 slice copies") &&
                           ContainsSubstring("the 100 B after it are not a whole record") &&
                           ContainsSubstring("weir file recover " + file.path));
  command.json = true;
  CHECK_THAT(run(command).out,
             ContainsSubstring("\"sound\":true,\"closed\":false") && ContainsSubstring("\"torn_bytes\":100"));
  file.bytes[in_fragment] ^= std::byte{1};
  file.save();
  const Shown damaged = run(command);
  CHECK(damaged.status == kFileCommandFaults);
  CHECK_THAT(damaged.out, ContainsSubstring("\"slice\":\"3\",\"source\":2"));
}

TEST_CASE("a .part without a header is an unclosed file, and hides no other file of its folder") {
  OneFile file;
  file.save();
  for (const std::size_t bytes : {0, 5, 20, 60}) {
    for (const bool zeros : {false, true}) {
      const std::string part = file.folder / "run-000001-w-0009.weir.part";
      std::ofstream(part, std::ios::binary | std::ios::trunc)
          << (zeros ? std::string(bytes, '\0')
                    : std::string(reinterpret_cast<const char*>(file.bytes.data()), bytes));
      FileCommand command = file.command(FileVerb::verify);
      command.paths = {file.folder.path().string()};
      const Shown text = run(command);
      INFO(bytes << " " << zeros << text.err);
      CHECK(text.status == kFileCommandUnclosed);
      CHECK_THAT(text.out, ContainsSubstring(part + ": no record") && ContainsSubstring(": sound\n"));
      command.json = true;
      CHECK(run(command).status == kFileCommandUnclosed);
      command = file.command(FileVerb::info);
      command.paths = {file.folder.path().string()};
      CHECK(run(command).status == kFileCommandFine);
    }
  }
  std::filesystem::rename(file.folder / "run-000001-w-0009.weir.part", file.folder / "x.weir");
  FileCommand closed = file.command(FileVerb::verify);
  closed.paths = {file.folder / "x.weir"};
  CHECK(run(closed).status == kFileCommandUnable);
}

TEST_CASE("recover makes a closed file beside the original, reports its cuts, and overwrites nothing") {
  OneFile file;
  const auto reader = RunFileReader::from_bytes(file.bytes, "f");
  std::filesystem::remove(file.path);
  const std::string made = file.path;
  const Buffer whole = file.bytes;
  file.bytes.resize(reader->entries().back().offset + 100);
  file.path += ".part";
  file.save();

  FileCommand command = file.command(FileVerb::recover);
  const Shown text = run(command);
  CHECK(text.status == kFileCommandFine);
  CHECK_THAT(text.out, ContainsSubstring("recovered as " + made) &&
                           ContainsSubstring("4 slices, and 0 dead copies") &&
                           ContainsSubstring("slice 2: a slice record"));
  FileCommand verify = file.command(FileVerb::verify);
  verify.paths = {made};
  CHECK(run(verify).status == kFileCommandFine);
  CHECK(std::filesystem::file_size(file.path) == file.bytes.size());
  CHECK_FALSE(std::filesystem::exists(made + ".recovering"));
  verify.paths = {made, file.path};
  CHECK_THAT(run(verify).out, ContainsSubstring("are the same file of run 7"));

  const Shown again = run(command);
  CHECK(again.status == kFileCommandUnable);
  CHECK_THAT(again.err, ContainsSubstring("not overwritten") && ContainsSubstring("--out"));
  command.out = file.folder / "other.weir";
  command.json = true;
  const Shown json = run(command);
  CHECK(json.status == kFileCommandFine);
  CHECK_THAT(json.out, ContainsSubstring("\"slices\":4") && ContainsSubstring("\"cuts_total\":1"));

  SECTION("damage in front of whole records has a status of its own") {
    file.bytes = whole;
    file.bytes[reader->entries()[1].offset] ^= std::byte{1};
    file.save();
    command.out = file.folder / "third.weir";
    CHECK(run(command).status == kFileCommandFaults);
  }
  SECTION("what cannot be done is said") {
    command.paths = {made};
    command.out.clear();
    CHECK_THAT(run(command).err, ContainsSubstring("name the new file with --out"));
    command.paths = {file.folder / "none.weir.part"};
    CHECK_THAT(run(command).err, ContainsSubstring("none.weir.part: cannot open"));
    command.out = file.folder / "no/such/folder.weir";
    command.paths = {file.path};
    const Shown shown = run(command);
    CHECK(shown.status == kFileCommandUnable);
    CHECK_THAT(shown.err,
               ContainsSubstring("folder.weir.recovering@") && ContainsSubstring(": cannot create"));
    command.paths = {file.path, file.path};
    CHECK_THAT(run(command).err, ContainsSubstring("one by one"));
    std::ofstream(file.folder / "z.weir.recovering") << "half";
    command.paths = {file.path};
    command.out = file.folder / "z.weir";
    CHECK_THAT(run(command).err, ContainsSubstring("another recovery is running"));
    std::filesystem::remove(file.folder / "z.weir.recovering");
    // Of a process of another host, of this host's process 1 at another time, and of one that has ended.
    const std::string own = storage::own_recovery(command.out);
    const std::string elsewhere = command.out + ".recovering@elsewhere@b@1@77@5";
    std::ofstream(elsewhere) << "half";
    CHECK_THAT(run(command).err, ContainsSubstring("process 77 on elsewhere is recovering it"));
    std::filesystem::remove(elsewhere);
    const std::string place = own.substr(0, own.rfind('@', own.rfind('@') - 1) + 1);
    for (const char* ended : {"1@99999999999999", "4194304@5"}) std::ofstream(place + ended) << "half";
    CHECK(run(command).status == kFileCommandFine);
    std::size_t left = 0;
    for (const auto& entry : std::filesystem::directory_iterator(file.folder / ""))
      left += entry.path().string().find(".recovering") != std::string::npos ? 1 : 0;
    CHECK(left == 0);
  }
}

TEST_CASE("an impossible request is reported, and the other files are shown") {
  const OneFile file;
  FileCommand command = file.command(FileVerb::info);
  command.paths.insert(command.paths.begin(), file.folder / "none.weir");
  const Shown shown = run(command);
  CHECK(shown.status == kFileCommandUnable);
  CHECK_THAT(shown.err, ContainsSubstring("none.weir: cannot open"));
  CHECK_THAT(shown.out, ContainsSubstring("writer-0"));
  CHECK(run({}).status == kFileCommandUnable);
  CHECK(run(file.command(FileVerb::dump)).status == kFileCommandUnable);
}

TEST_CASE("a folder stands for its run files, and a file with two names counts once") {
  const OneFile file;
  const std::string part = file.path + std::string(kPartSuffix);
  std::filesystem::create_hard_link(file.path, part);
  std::ofstream(file.folder / "run-000007.json") << "{}";
  std::filesystem::create_directory(file.folder / "log");
  FileCommand command = file.command(FileVerb::ls);
  command.json = true;
  command.paths = {file.folder.path().string()};
  const Shown listed = run(command);
  CHECK(listed.status == kFileCommandFine);
  CHECK(std::count(listed.out.begin(), listed.out.end(), '\n') == 4);
  command.verb = FileVerb::verify;
  for (const std::vector<std::string>& paths :
       {std::vector{file.folder.path().string()}, {file.path, part}, {part, file.folder.path().string()}}) {
    command.paths = paths;
    const Shown verified = run(command);
    CHECK(verified.status == kFileCommandFine);
    CHECK(std::count(verified.out.begin(), verified.out.end(), '\n') == 1);
  }
  std::filesystem::remove(part);
  std::filesystem::copy_file(file.path, part);  // it was recovered
  command.paths = {file.folder.path().string()};
  CHECK(run(command).status == kFileCommandFine);
}

TEST_CASE("a folder without run files, or that is not there, is named") {
  const TemporaryFolder folder;
  FileCommand command;
  command.verb = FileVerb::ls;
  command.paths = {folder.path().string()};
  const Shown empty = run(command);
  CHECK(empty.status == kFileCommandUnable);
  CHECK_THAT(empty.err, ContainsSubstring(folder.path().string()) && ContainsSubstring("no run files"));
  command.paths = {folder / "nowhere"};
  CHECK(run(command).status == kFileCommandUnable);
}
