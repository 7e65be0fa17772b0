// FORMAT.md is sufficient: a reader written from it alone (page_reader.py) agrees with this one.
#include "every_record.hpp"
#include "skip.hpp"
#include "temporary_folder.hpp"
#include "weir_catch.hpp"
#include <weir/storage/verify.hpp>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>

using namespace weir;
using namespace weir::storage;
using namespace weir::storage::test;
using weir::test::TemporaryFolder;

namespace {

template <typename... Args>
std::string form(const char* pattern, Args... args) {
  char line[512];
  const int length = std::snprintf(line, sizeof line, pattern, args...);
  REQUIRE((length >= 0 && length < static_cast<int>(sizeof line)));
  return line;
}

std::string text_of(ConstBytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

std::string slice_text(const SliceRecordView& view, bool sound) {
  const SliceHead& head = view.head();
  std::string text = form(
      "slice %" PRIu64 " run %u attempt %u epoch %u flags %u time %" PRId64 " duration %" PRId64
      " type %u decision %u dcm %u streams %" PRIu64 " prescale %u trigger %zu %08x result %zu %08x %s\n",
      head.slice.value, head.run.value, unsigned{head.attempt.value}, unsigned{head.epoch.value},
      unsigned{head.flags}, head.trigger_time, head.duration, head.trigger_type.value,
      static_cast<unsigned>(head.decision), unsigned{head.dcm.value}, head.stream_mask, head.prescale,
      view.trigger_payload().size(), crc32c(view.trigger_payload()), view.filter_result().size(),
      crc32c(view.filter_result()), sound ? "sound" : "fragments damaged");
  for (std::size_t i = 0; i < view.fragment_count(); ++i) {
    const FragmentView fragment = view.fragment(i);
    const FragmentRecord& record = fragment.record;
    text += form(
        "  fragment %u status %u reason %u kept %d checksummed %d stored %u total %u crc %08x %08x is %08x\n",
        record.source.value, static_cast<unsigned>(record.status), static_cast<unsigned>(record.reason),
        int{record.kept}, int{record.checksummed}, record.stored_length, record.total_length,
        record.source_crc32c, record.stored_crc32c, crc32c(fragment.bytes));
  }
  for (std::size_t i = 0; i < view.event_count(); ++i) {
    const OutputEvent event = view.event(i);
    text += form("  event %" PRIu64 " bytes %zu %08x\n", event.id, event.bytes.size(), crc32c(event.bytes));
  }
  return text;
}

std::string index_text(const std::vector<IndexEntry>& entries) {
  std::string text;
  for (const IndexEntry& one : entries) {
    text += form("index %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64 " %u %u %u %u\n",
                 one.slice.value, one.offset, one.length, one.stream_mask, one.trigger_time,
                 unsigned{one.attempt.value}, unsigned{one.epoch.value}, unsigned{one.slice_flags},
                 one.dead ? 1U : 0U);
  }
  return text;
}

std::string record_text(ConstBytes file, const RecordHead& head) {
  const ConstBytes body = file.subspan(head.offset + kRecordHeadLength, head.body_length);
  std::string text = form("record %" PRIu64 " type %u length %" PRIu64 "\n", head.offset,
                          static_cast<unsigned>(head.type), head.body_length);
  if (head.type == RecordType::slice) {
    const auto view = parse_slice_record(body);
    return text +
           (view ? slice_text(*view, parse_slice_record(body, Check::fragments).has_value()) : "damaged\n");
  }
  if (head.type == RecordType::begin_of_run || head.type == RecordType::end_of_run) {
    const auto content = parse_opaque(body);
    return text + (content ? "content " + text_of(*content) + "\n" : "damaged\n");
  }
  if (head.type == RecordType::dead_list) {
    const auto copies = parse_dead_list(body);
    if (!copies) return text + "damaged\n";
    for (const DeadCopy& one : *copies) {
      text += form("dead %" PRIu64 " attempt %u epoch %u sequence %u\n", one.slice.value,
                   unsigned{one.attempt.value}, unsigned{one.epoch.value}, one.sequence);
    }
    return text;
  }
  if (head.type != RecordType::index) return text;
  const auto entries = parse_index(body, file.size());
  return text + (entries ? index_text(*entries) : "damaged\n");
}

std::string footer_text(const RunFileReader& file) {
  const Footer& footer = *file.footer();
  const bool right = crc32c(file.bytes().first(file.bytes().size() - kFooterLength)) == footer.content_crc;
  return form("footer content %08x %s index %" PRIu64 " %" PRIu64 " %" PRIu64 " tail %" PRIu64
              " live %" PRIu64 " %016" PRIx64 " records %" PRIu64 "\n",
              footer.content_crc, right ? "right" : "wrong", footer.index_offset, footer.index_length,
              footer.index_count, footer.tail_offset, footer.live.count, footer.live.hash_sum,
              footer.records);
}

// Returns page_reader.py's output for a file.
std::string described(ConstBytes bytes) {
  const auto file = RunFileReader::from_bytes(bytes, "file");
  if (!file) return "unreadable\n";
  const FileHeader& header = file->header();
  std::string text = form("run %u sequence %u created %" PRId64 " writer %s farm %s\n", header.run.value,
                          header.sequence, header.created, header.writer.c_str(), header.farm.c_str());
  text += file->closed() ? "closed\n" : file->unfinished() ? "not closed\n" : "damaged\n";
  std::vector<Gap> ignored;
  RecordCursor cursor(bytes, header.length, header.tag);
  while (const auto head = cursor.next(ignored)) text += record_text(bytes, *head);
  if (file->closed()) text += footer_text(*file);
  for (const std::uint32_t i : file->by_id()) {
    const IndexEntry& one = file->entries()[i];
    if (!one.dead) text += form("counts %" PRIu64 " at %" PRIu64 "\n", one.slice.value, one.offset);
  }
  const SliceSum live = file->live();
  return text + form("live %" PRIu64 " %016" PRIx64 "\n", live.count, live.hash_sum);
}

// One fragment of each status, and one for each reason of a missing fragment.
Buffer every_fragment() {
  std::vector<FragmentRecord> table;
  for (std::uint32_t i = 0; i < kMissingReasons; ++i) {
    FragmentRecord missing;
    missing.source = SourceId(i);
    missing.status = FragmentStatus::missing;
    missing.reason = static_cast<MissingReason>(i);
    table.push_back(missing);
  }
  const Buffer bytes = pattern(19, 3);
  for (const FragmentStatus status :
       {FragmentStatus::truncated, FragmentStatus::suppressed, FragmentStatus::not_requested}) {
    FragmentRecord one = whole_fragment(SourceId(100 + static_cast<std::uint32_t>(status)), bytes);
    one.status = status;
    one.kept = status == FragmentStatus::truncated;
    if (!one.kept) one.stored_length = 0;
    if (one.kept) one.total_length += 5;
    table.push_back(one);
  }
  SliceRecord record;
  record.head = head_of({.slice = 50});
  record.head.flags = slice_flag::incomplete;
  record.head.decision = DecisionKind::undecided;
  record.fragments = table;
  Buffer encoded;
  encode_slice_meta(record, encoded);
  encoded.insert(encoded.end(), bytes.begin(), bytes.end());
  return encoded;
}

Buffer whole_file() {
  Fixture fixture;
  fixture.start();
  for (const Buffer& record : one_of_each_kind()) (void)fixture.store.store(record, {}, 0, fixture.now);
  (void)fixture.store.store(every_fragment(), {}, 0, fixture.now);
  for (std::uint64_t i = 100; i < 112; ++i)
    (void)fixture.put({.slice = i, .sources = static_cast<std::uint32_t>(i % 4), .fragment_bytes = 90});
  (void)fixture.put({.slice = 103, .attempt = 1, .epoch = 3, .fragment_bytes = 40});
  (void)fixture.store.mark_dead(SliceId(111), Attempt(0), StoreEpoch(1));
  fixture.close();
  return fixture.disk.files().begin()->second.bytes;
}

// A file that its writer has not closed yet; slice 1 has two identical copies.
Buffer part_file() {
  Fixture fixture;
  fixture.start();
  (void)fixture.put({.slice = 1});
  CHECK(fixture.store.mark_dead(SliceId(1), Attempt(0), StoreEpoch(1)));
  const SliceId slice(1);
  fixture.store.settle({&slice, 1});
  (void)fixture.put({.slice = 1});
  (void)fixture.put({.slice = 2, .fragment_bytes = 700});
  fixture.pass(kSecond);
  return fixture.disk.files().begin()->second.bytes;
}

std::vector<Buffer> files() {
  const Buffer whole = whole_file();
  const auto header = parse_file_header(whole);
  REQUIRE(header);
  std::vector<Buffer> all = {whole, part_file(), {}, text("no run file at all"), pattern(3000, 1)};
  // Prefixes, as a writer leaves them at any time, some of them ending with a record.
  for (std::size_t size = 0; size < whole.size(); size += 181)
    all.emplace_back(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
  std::vector<Gap> none;
  RecordCursor cursor(whole, header->length, header->tag);
  while (const auto head = cursor.next(none))
    all.emplace_back(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(head->offset));
  std::mt19937_64 random(7);
  for (std::uint64_t i = 0; i < 40; ++i) {
    Buffer damaged = whole;
    damaged[random() % damaged.size()] ^= static_cast<std::byte>(1U << (random() % 8));
    if (i % 4 == 1) damaged.resize(random() % damaged.size());
    const Buffer tail = i % 4 == 2 ? pattern(random() % 500, i) : Buffer(i % 4 == 3 ? random() % 500 : 0);
    damaged.insert(damaged.end(), tail.begin(), tail.end());
    if (i % 5 == 0) {  // a hole
      const std::size_t at = random() % damaged.size();
      std::fill_n(damaged.begin() + static_cast<std::ptrdiff_t>(at),
                  std::min<std::size_t>(300, damaged.size() - at), std::byte{0});
    }
    all.push_back(damaged);
  }
  return all;
}

}  // namespace

TEST_CASE("FORMAT.md has every existing status and reason") {
  std::ifstream in(WEIR_TEST_SOURCE_DIR "/FORMAT.md");
  const std::string page(std::istreambuf_iterator<char>(in), {});
  const auto stands = [&](unsigned number, std::string_view name) {
    std::string wanted = std::to_string(number) + " " + std::string(name);
    std::replace(wanted.begin(), wanted.end(), '_', ' ');
    INFO(wanted);
    CHECK(page.find(wanted) != std::string::npos);
  };
  for (std::uint8_t i = 0; i < kMissingReasons; ++i) stands(i, name(static_cast<MissingReason>(i)));
  for (std::uint8_t i = 0; i <= 6; ++i) stands(i, name(static_cast<FragmentStatus>(i)));
}

TEST_CASE("a reader written from FORMAT.md alone reads every file alike, whole, torn or damaged") {
  if (std::system("command -v python3 > /dev/null") != 0) {
    weir::skip_test("python3 is not here");
    return;
  }
  const TemporaryFolder folder;
  const std::vector<Buffer> all = files();
  std::string expected;
  std::string command = "python3 -B '" WEIR_TEST_SOURCE_DIR "/tests/page_reader.py'";
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string path = folder / (std::to_string(i) + ".weir.part");
    std::ofstream(path, std::ios::binary) << text_of(all[i]);
    expected += "file " + path + "\n" + described(all[i]);
    command += " " + path;
  }
  const std::string out = folder / "said";
  REQUIRE(std::system((command + " > " + out + " 2>&1").c_str()) == 0);
  std::ifstream in(out, std::ios::binary);
  const std::string said(std::istreambuf_iterator<char>(in), {});
  // Compares line by line, so that the place of a difference is visible.
  std::istringstream mine(expected);
  std::istringstream its(said);
  std::string file;
  std::size_t lines = 0;
  for (std::string left, right; std::getline(mine, left); ++lines) {
    if (left.starts_with("file ")) file = left;
    INFO(file);
    REQUIRE(std::getline(its, right));
    REQUIRE(right == left);
  }
  CHECK(said.size() == expected.size());
  CHECK(lines > 1000);
  for (const char* part : {"reason 12 ", "status 5 ", "\ndead ", "not closed", "\ndamaged\n", "unreadable",
                           "fragments damaged", " wrong index ", "{\"end\":true}"}) {
    INFO(part);
    CHECK(expected.find(part) != std::string::npos);
  }
}
