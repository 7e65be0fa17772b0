#pragma once

#include "temporary_folder.hpp"
#include <weir/run_record/annotations.hpp>
#include <weir/run_record/records.hpp>
#include <weir/run_record/run_history.hpp>

#include <cstdint>
#include <string>

namespace weir::run_database::test {

// A folder with records of runs.
class RecordsFolder {
 public:
  static constexpr UtcNs kFirstBegin = 1'700'000'000 * kSecond;

  [[nodiscard]] std::string path() const { return folder_.path().string(); }
  void begin(std::uint32_t run, const run_record::RunFields& fields = {}, const std::string& set = {}) const {
    config::PlannedFarm planned;
    planned.farm.set_farm("small");
    planned.farm.mutable_run()->set_number(run);
    if (!set.empty()) planned.farm.mutable_filter()->set_plugin(set);
    v1::RunIdentity identity;
    auto& part = *identity.add_parts();
    part.set_kind("filter plugin");
    part.set_name(set);
    part.set_crc32c(run);
    (void)run_record::write_begin_records(run_record::record_paths(path(), RunNumber(run)), "Every key.",
                                          planned, kFirstBegin + run * kSecond, identity, fields);
  }
  void end(std::uint32_t run, const std::string& outcome = "good", const std::string& failure = {}) const {
    v1::FarmView::Run entry;
    entry.set_run(run);
    entry.set_begin_utc_ns(kFirstBegin + run * kSecond);
    entry.set_end_utc_ns(entry.begin_utc_ns() + kSecond);
    entry.set_running_ns(kSecond);
    entry.set_triggered(run * 10);
    entry.set_stored(run * 5);
    entry.set_balanced(outcome == "good");
    entry.set_outcome(outcome);
    entry.set_failure(failure);
    entry.set_reason("all triggers made");
    (void)run_record::append_run(path() + "/runs.jsonl", entry);
  }
  void annotate(std::uint32_t run, const run_record::RunFields& fields) const {
    (void)run_record::add_annotation(path(), {run, kFirstBegin, "Ann", fields}, {});
  }
  std::string write(const std::string& name, const std::string& text) const {
    return folder_.write(name, text);
  }

 private:
  weir::test::TemporaryFolder folder_;
};

}  // namespace weir::run_database::test
