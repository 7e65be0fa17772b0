#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/time.hpp>
#include <weir/run_record/annotations.hpp>
#include <weir/run_record/run_fields.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir::run_database {

// Value of RunRow.outcome: the run has no end record yet. Others are run_record::outcome.
inline constexpr char kOpen[] = "open";

struct RunRow {
  std::uint32_t run = 0;
  std::string farm;
  UtcNs begin_utc_ns = 0;  // 0: unknown
  UtcNs end_utc_ns = 0;
  DurationNs running_ns = 0;  // without pauses
  std::uint64_t triggered = 0;
  std::uint64_t stored = 0;
  std::uint64_t rejected = 0;
  std::uint64_t discarded = 0;
  std::uint64_t discarded_at_stop = 0;
  bool balanced = false;
  std::string outcome;
  std::string reason;   // why it ended
  std::string failure;  // why it was not a good run
  std::string fault;    // the first one
  std::uint32_t fault_count = 0;
  run_record::RunFields fields;  // with all annotations applied
};

struct RunQuery {
  std::optional<UtcNs> since = {};  // begin of the run
  std::optional<UtcNs> until = {};
  std::vector<std::string> outcomes = {};  // empty: any
  std::string type = {};                   // likewise, as all below
  std::string shifter = {};
  std::string quality = {};
  // Words that all occur in the farm's name, reason, failure, fault or fields; ASCII letters match in either
  // case.
  std::string text = {};
  std::size_t limit = 0;  // the newest ones; 0: all
};

struct RunList {
  std::vector<RunRow> runs;    // newest first
  std::uint64_t matching = 0;  // without the limit
  std::uint64_t all = 0;       // runs in the folder
};

// The runs of a folder of records, in the SQLite file runs.sqlite beside them. The records are the truth: the
// file is made from them, follows them, and may be deleted. A folder that cannot be written is read into
// memory. For one thread at a time; several processes may have the same folder open. Errors are sentences.
class RunDatabase {
 public:
  explicit RunDatabase(std::string folder);
  ~RunDatabase();
  RunDatabase(const RunDatabase&) = delete;
  RunDatabase& operator=(const RunDatabase&) = delete;

  // Takes in the records that are new, or with `anew` all of them. Called before the queries below.
  [[nodiscard]] std::string update(bool anew = false);
  [[nodiscard]] Expected<RunList, std::string> find(const RunQuery& query) const;
  // Returns nothing if the folder has no such run.
  [[nodiscard]] Expected<std::optional<RunRow>, std::string> run(std::uint32_t number) const;
  // Returns the last run before this one to compare it with: good, not of quality `bad`, and of the same type
  // if there is one.
  [[nodiscard]] Expected<std::optional<std::uint32_t>, std::string> good_before(const RunRow& row) const;
  // Oldest first.
  [[nodiscard]] Expected<std::vector<run_record::Annotation>, std::string> annotations(
      std::uint32_t number) const;
  [[nodiscard]] const std::string& folder() const;
  // Lines of the history and the annotations that could not be read in this process.
  [[nodiscard]] std::size_t unreadable() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::run_database
