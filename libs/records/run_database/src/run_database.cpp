#include "begin_text.hpp"
#include "field_text.hpp"
#include "followed_file.hpp"
#include "run_queries.hpp"
#include "sql.hpp"
#include <weir/base/assert.hpp>
#include <weir/clock/clock.hpp>
#include <weir/run_database/moment.hpp>
#include <weir/run_database/run_database.hpp>
#include <weir/run_record/records.hpp>
#include <weir/run_record/run_history.hpp>
#include <weir/v1/bus.pb.h>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <set>
#include <string_view>
#include <sys/stat.h>
#include <utility>

namespace weir::run_database {

namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

constexpr int kSchema = 1;  // a file with another one is made anew
constexpr const char* kTables = R"(
CREATE TABLE state(key TEXT PRIMARY KEY, value INTEGER) WITHOUT ROWID;
CREATE TABLE runs(run INTEGER PRIMARY KEY, farm TEXT DEFAULT '', begin_ns INTEGER DEFAULT 0, end_ns INTEGER DEFAULT 0,
  running_ns INTEGER DEFAULT 0, triggered INTEGER DEFAULT 0, stored INTEGER DEFAULT 0, rejected INTEGER DEFAULT 0,
  discarded INTEGER DEFAULT 0, discarded_at_stop INTEGER DEFAULT 0, balanced INTEGER DEFAULT 0,
  outcome TEXT DEFAULT 'open', reason TEXT DEFAULT '', failure TEXT DEFAULT '', fault TEXT DEFAULT '',
  fault_count INTEGER DEFAULT 0, begin_fields TEXT DEFAULT '{}', fields TEXT DEFAULT '{}', type TEXT DEFAULT '',
  shifter TEXT DEFAULT '', quality TEXT DEFAULT '', has_begin INTEGER DEFAULT 0);
CREATE TABLE annotations(id INTEGER PRIMARY KEY, run INTEGER, utc_ns INTEGER, author TEXT, fields TEXT);
CREATE INDEX annotations_of_run ON annotations(run);
)";
std::int64_t schema_of(const Sql& sql) {
  Statement version(sql, "PRAGMA user_version");
  return version.step() ? version.number(0) : 0;
}

std::int64_t changed_ns(const std::string& folder) {
  struct stat now {};
  if (::stat(folder.c_str(), &now) != 0) return 0;
  return static_cast<std::int64_t>(now.st_mtim.tv_sec) * kSecond + now.st_mtim.tv_nsec;
}

// Returns the entry of a run that has no line in the history, from its end record.
v1::FarmView::Run entry_of_end(const json::object& end) {
  const auto text = [&](const char* key) {
    const json::value* found = end.if_contains(key);
    return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
  };
  const auto number = [&](const char* key) {
    const json::value* found = end.if_contains(key);
    return found != nullptr && found->is_number() ? found->to_number<double>() : 0.0;
  };
  const auto count = [&](const char* key) { return static_cast<std::uint64_t>(std::max(0.0, number(key))); };
  v1::FarmView::Run entry;
  entry.set_begin_utc_ns(read_moment(text("begin"), 0).value_or(0));
  entry.set_end_utc_ns(read_moment(text("end"), 0).value_or(0));
  entry.set_running_ns(std::llround(std::min(number("running_s"), 1e9) * kSecond));
  entry.set_triggered(count("triggered"));
  entry.set_stored(count("stored"));
  entry.set_rejected(count("rejected"));
  if (const json::value* reasons = end.if_contains("discarded"); reasons != nullptr && reasons->is_object()) {
    for (const auto& reason : reasons->get_object()) {
      if (reason.value().is_number())
        entry.set_discarded(entry.discarded() +
                            static_cast<std::uint64_t>(std::max(0.0, reason.value().to_number<double>())));
    }
  }
  if (const json::value* faults = end.if_contains("faults"); faults != nullptr && faults->is_array()) {
    const json::array& list = faults->get_array();
    entry.set_fault_count(static_cast<std::uint32_t>(list.size()));
    entry.set_faults(!list.empty());
    if (!list.empty() && list.front().is_string()) entry.set_fault(std::string(list.front().get_string()));
  }
  const json::value* balanced = end.if_contains("ledger_balanced");
  entry.set_balanced(balanced != nullptr && balanced->is_bool() && balanced->get_bool());
  entry.set_outcome(text("outcome"));
  entry.set_reason(text("reason"));
  entry.set_failure(text("failure"));
  return entry;
}

// Returns what `read` returns, or a sentence.
template <class Read>
auto reading(Read read) -> Expected<decltype(read()), std::string> {
  try {
    return read();
  } catch (const SqlError& error) {
    return Unexpected<std::string>(std::string("the database of runs: ") + error.what());
  }
}

}  // namespace

class RunDatabase::Impl {
 public:
  explicit Impl(std::string folder) : folder_(std::move(folder)) {}

  std::string update(bool anew);
  // Requires: update().
  [[nodiscard]] const Sql& tables() const {
    WEIR_ASSERT(sql_.has_value());
    return *sql_;
  }
  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] std::size_t unreadable() const { return unreadable_; }

 private:
  enum class Place : std::uint8_t { file, memory };
  // Files of the folder, as they were taken in.
  struct State {
    Followed history;
    Followed annotations;
    std::int64_t folder_ns = 0;
    bool operator==(const State&) const = default;
  };

  [[nodiscard]] std::string path() const { return folder_ + "/runs.sqlite"; }
  [[nodiscard]] std::string history_path() const { return folder_ + "/runs.jsonl"; }
  void open(Place place);
  void follow(bool anew);
  [[nodiscard]] State state_now(const State& taken) const;
  [[nodiscard]] State state_taken() const;
  void keep(const State& state) const;
  void keep(std::uint32_t run, const v1::FarmView::Run& entry);
  void clear() const;
  void take_entry(const std::string& line);
  void take_annotation(const std::string& line);
  void look_at_folder();
  void take_begin(std::uint32_t run);
  void take_end(std::uint32_t run);
  void refresh_fields();

  std::string folder_;
  std::optional<Sql> sql_;
  std::set<std::uint32_t> touched_;
  std::size_t unreadable_ = 0;
};

void RunDatabase::Impl::open(Place place) {
  sql_.reset();
  sql_.emplace(place == Place::memory ? ":memory:" : path());
  // Safe without syncs, because the file can be made anew. The journal stays: each change of the folder's
  // entries would be read as a new record.
  sql_->run("PRAGMA journal_mode=TRUNCATE; PRAGMA synchronous=OFF;");
  const std::int64_t schema = schema_of(*sql_);
  if (schema == kSchema) return;
  if (schema != 0) {
    sql_.reset();
    fs::remove(path());
    return open(place);
  }
  sql_->run("BEGIN IMMEDIATE");
  if (schema_of(*sql_) == 0) sql_->run((kTables + fmt::format("PRAGMA user_version={};", kSchema)).c_str());
  sql_->run("COMMIT");
}

std::string RunDatabase::Impl::update(bool anew) {
  if (!fs::is_directory(folder_)) return "'" + folder_ + "' is not a folder";
  try {
    if (!sql_) open(Place::file);
    follow(anew);
    return {};
  } catch (const SqlError& error) {
    if (error.code() == SQLITE_CORRUPT || error.code() == SQLITE_NOTADB) {
      sql_.reset();
      std::error_code none;
      fs::remove(path(), none);
    }
  }
  // Not writable, no room, no locks, or damaged: memory has the same.
  try {
    open(Place::memory);
    follow(true);
    return {};
  } catch (const SqlError& error) {
    return std::string("the database of runs cannot be made: ") + error.what();
  }
}

RunDatabase::Impl::State RunDatabase::Impl::state_now(const State& taken) const {
  return {followed_now(history_path(), taken.history),
          followed_now(run_record::annotations_path(folder_), taken.annotations), changed_ns(folder_)};
}

RunDatabase::Impl::State RunDatabase::Impl::state_taken() const {
  State state;
  Statement all(*sql_, "SELECT key, value FROM state");
  while (all.step()) {
    const std::string key = all.text(0);
    const std::int64_t value = all.number(1);
    if (key == "history_inode") state.history.inode = value;
    if (key == "history_bytes") state.history.bytes = value;
    if (key == "history_tail") state.history.tail = value;
    if (key == "annotations_tail") state.annotations.tail = value;
    if (key == "annotations_inode") state.annotations.inode = value;
    if (key == "annotations_bytes") state.annotations.bytes = value;
    if (key == "folder_ns") state.folder_ns = value;
  }
  return state;
}

void RunDatabase::Impl::keep(const State& state) const {
  Statement set(*sql_, "INSERT OR REPLACE INTO state(key, value) VALUES(?, ?)");
  const auto keep_one = [&](std::string_view key, std::int64_t value) {
    set.bind(1, key).bind(2, value).run();
  };
  keep_one("history_inode", state.history.inode);
  keep_one("history_bytes", state.history.bytes);
  keep_one("history_tail", state.history.tail);
  keep_one("annotations_tail", state.annotations.tail);
  keep_one("annotations_inode", state.annotations.inode);
  keep_one("annotations_bytes", state.annotations.bytes);
  keep_one("folder_ns", state.folder_ns);
}

void RunDatabase::Impl::clear() const {
  sql_->run("DELETE FROM runs; DELETE FROM annotations; DELETE FROM state;");
}

void RunDatabase::Impl::follow(bool anew) {
  if (const State taken = state_taken(); !anew && state_now(taken) == taken) return;
  sql_->run("BEGIN IMMEDIATE");
  try {
    State taken = state_taken();
    const State now = state_now(taken);
    const std::string said = run_record::annotations_path(folder_);
    WEIR_ASSERT(taken.history.bytes >= 0 && taken.annotations.bytes >= 0);
    if (anew || is_replaced(history_path(), taken.history, now.history) ||
        is_replaced(said, taken.annotations, now.annotations)) {
      clear();
      taken = {};
    }
    touched_.clear();
    const auto take = [](const std::string& path, std::int64_t inode, Followed& file, const auto& take_line) {
      const std::int64_t bytes = each_line(path, file.bytes, take_line);
      file = {inode, bytes, tail_of(path, bytes)};
    };
    take(history_path(), now.history.inode, taken.history,
         [this](const std::string& line) { take_entry(line); });
    take(said, now.annotations.inode, taken.annotations,
         [this](const std::string& line) { take_annotation(line); });
    if (taken.folder_ns != now.folder_ns) look_at_folder();
    // A change within the clock's step of the file system would not show.
    taken.folder_ns = utc_now_ns() - now.folder_ns > kSecond ? now.folder_ns : 0;
    refresh_fields();
    keep(taken);
    sql_->run("COMMIT");
  } catch (...) {
    sqlite3_exec(sql_->get(), "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
}

void RunDatabase::Impl::take_entry(const std::string& line) {
  v1::FarmView::Run entry;
  google::protobuf::util::JsonParseOptions lenient;
  lenient.ignore_unknown_fields = true;
  if (!google::protobuf::util::JsonStringToMessage(line, &entry, lenient).ok() || entry.run() == 0) {
    ++unreadable_;
    return;
  }
  keep(entry.run(), entry);
}

void RunDatabase::Impl::keep(std::uint32_t run, const v1::FarmView::Run& entry) {
  WEIR_ASSERT(run != 0);
  Statement insert(*sql_, "INSERT OR IGNORE INTO runs(run) VALUES(?)");
  insert.bind(1, run).run();
  Statement set(
      *sql_,
      "UPDATE runs SET begin_ns=?, end_ns=?, running_ns=?, triggered=?, stored=?, rejected=?, discarded=?, "
      "discarded_at_stop=?, balanced=?, outcome=?, reason=?, failure=?, fault=?, fault_count=? WHERE run=?");
  const std::int64_t numbers[] = {entry.begin_utc_ns(),
                                  entry.end_utc_ns(),
                                  entry.running_ns(),
                                  static_cast<std::int64_t>(entry.triggered()),
                                  static_cast<std::int64_t>(entry.stored()),
                                  static_cast<std::int64_t>(entry.rejected()),
                                  static_cast<std::int64_t>(entry.discarded()),
                                  static_cast<std::int64_t>(entry.discarded_at_stop()),
                                  entry.balanced() ? 1 : 0};
  int parameter = 0;
  for (const std::int64_t number : numbers) set.bind(++parameter, number);
  // Lines of old versions have no outcome.
  const std::string outcome = !entry.outcome().empty() ? entry.outcome()
                              : !entry.balanced()      ? run_record::outcome::kUnbalanced
                              : entry.faults()         ? run_record::outcome::kFaults
                                                       : run_record::outcome::kGood;
  for (const std::string* text : {&outcome, &entry.reason(), &entry.failure(), &entry.fault()})
    set.bind(++parameter, std::string_view(*text));
  set.bind(parameter + 1, entry.fault_count()).bind(parameter + 2, run).run();
  touched_.insert(run);
}

void RunDatabase::Impl::take_annotation(const std::string& line) {
  const auto annotation = run_record::read_annotation(line);
  if (!annotation || annotation->run == 0) {
    ++unreadable_;
    return;
  }
  Statement insert(*sql_, "INSERT INTO annotations(run, utc_ns, author, fields) VALUES(?, ?, ?, ?)");
  insert.bind(1, annotation->run).bind(2, annotation->utc_ns).bind(3, std::string_view(annotation->by));
  insert.bind(4, std::string_view(text_of(annotation->fields))).run();
  touched_.insert(annotation->run);
}

// Finds runs without an entry in the history: active ones, and runs that were lost with their run control or
// copied without it.
void RunDatabase::Impl::look_at_folder() {
  std::set<std::uint32_t> begun;
  std::set<std::uint32_t> ended;
  for (const std::string& name : run_record::file_names_in(folder_)) {
    constexpr std::string_view kPrefix = "run-";
    if (!name.starts_with(kPrefix)) continue;
    std::uint32_t number = 0;
    const auto [end, error] =
        std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), number);
    const std::string_view rest(end, static_cast<std::size_t>(name.data() + name.size() - end));
    if (error != std::errc() || number == 0) continue;
    if (rest == "-begin.yaml") begun.insert(number);
    if (rest == "-end.json") ended.insert(number);
  }
  Statement known(*sql_, fmt::format("SELECT run FROM runs WHERE outcome != '{}' AND has_begin", kOpen));
  while (known.step()) begun.erase(static_cast<std::uint32_t>(known.number(0)));
  Statement insert(*sql_, "INSERT OR IGNORE INTO runs(run) VALUES(?)");
  Statement is_open(*sql_, fmt::format("SELECT 1 FROM runs WHERE run=? AND outcome='{}'", kOpen));
  for (const std::uint32_t run : begun) {
    insert.bind(1, run).run();
    const bool open = is_open.bind(1, run).step();
    is_open.reset();
    if (open && ended.contains(run)) take_end(run);
    touched_.insert(run);
  }
}

void RunDatabase::Impl::take_end(std::uint32_t run) {
  const auto text = read_file(run_record::record_paths(folder_, RunNumber(run)).end);
  boost::system::error_code bad;
  const json::value value = json::parse(text.value_or(""), bad);
  if (bad || !value.is_object()) return;
  keep(run, entry_of_end(value.get_object()));
}

void RunDatabase::Impl::take_begin(std::uint32_t run) {
  const auto text = read_file(run_record::record_paths(folder_, RunNumber(run)).begin);
  if (!text) return;
  const auto begin = read_begin(*text);
  if (!begin) {
    ++unreadable_;
    return;
  }
  Statement set(
      *sql_,
      "UPDATE runs SET farm=?, begin_ns=CASE begin_ns WHEN 0 THEN ? ELSE begin_ns END, begin_fields=?, "
      "has_begin=1 WHERE run=?");
  set.bind(1, std::string_view(begin->farm)).bind(2, begin->begin_utc_ns);
  set.bind(3, std::string_view(text_of(begin->fields))).bind(4, run).run();
}

// Computes the fields of the touched runs: those of the start, with the annotations applied in their order.
void RunDatabase::Impl::refresh_fields() {
  WEIR_ASSERT(!touched_.contains(0));
  Statement said(*sql_, "SELECT fields FROM annotations WHERE run=? ORDER BY id");
  Statement begun(*sql_, "SELECT begin_fields FROM runs WHERE run=?");
  Statement set(*sql_, "UPDATE runs SET fields=?, type=?, shifter=?, quality=? WHERE run=?");
  for (const std::uint32_t run : touched_) {
    take_begin(run);
    run_record::RunFields fields;
    if (begun.bind(1, run).step()) fields = fields_of(begun.text(0));
    begun.reset();
    said.bind(1, run);
    while (said.step()) run_record::annotate(fields_of(said.text(0)), fields);
    said.reset();
    set.bind(1, std::string_view(text_of(fields)));
    set.bind(2, std::string_view(value_of(fields, run_record::field::kType)));
    set.bind(3, std::string_view(value_of(fields, run_record::field::kShifter)));
    set.bind(4, std::string_view(value_of(fields, run_record::field::kQuality))).bind(5, run).run();
  }
}

RunDatabase::RunDatabase(std::string folder) : impl_(std::make_unique<Impl>(std::move(folder))) {}
RunDatabase::~RunDatabase() = default;

std::string RunDatabase::update(bool anew) { return impl_->update(anew); }

Expected<RunList, std::string> RunDatabase::find(const RunQuery& query) const {
  return reading([&] { return run_database::find(impl_->tables(), query); });
}

Expected<std::optional<RunRow>, std::string> RunDatabase::run(std::uint32_t number) const {
  return reading([&] { return run_database::find(impl_->tables(), number); });
}

Expected<std::optional<std::uint32_t>, std::string> RunDatabase::good_before(const RunRow& row) const {
  return reading([&] { return run_database::good_before(impl_->tables(), row); });
}

Expected<std::vector<run_record::Annotation>, std::string> RunDatabase::annotations(
    std::uint32_t number) const {
  return reading([&] { return run_database::annotations(impl_->tables(), number); });
}

const std::string& RunDatabase::folder() const { return impl_->folder(); }
std::size_t RunDatabase::unreadable() const { return impl_->unreadable(); }

}  // namespace weir::run_database
