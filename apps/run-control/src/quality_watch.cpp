#include "quality_watch.hpp"

#include <weir/base/assert.hpp>
#include <weir/file_reader/recorded_histograms.hpp>
#include <weir/run_record/annotations.hpp>
#include <weir/run_record/records.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

namespace weir::run_control {
namespace {

using control::QualityResult;

constexpr const char* kAuthor = "quality checks";
constexpr const char* kChecksField = "checks";

// True if an annotation of the run has a quality: the last one counts, also one that removes it.
bool has_quality(const std::string& folder, std::uint32_t run) {
  std::ifstream file(run_record::annotations_path(folder));
  bool has = false;
  for (std::string line; std::getline(file, line);) {
    const auto one = run_record::read_annotation(line);
    if (!one || one->run != run) continue;
    if (const auto found = one->fields.find(run_record::field::kQuality); found != one->fields.end())
      has = !found->second.empty();
  }
  return has;
}

}  // namespace

run_record::RunFields quality_fields(const std::vector<control::QualityCheck>& checks,
                                     const std::vector<control::QualityVerdict>& verdicts, bool judged) {
  run_record::RunFields fields;
  if (const auto quality = control::quality_of(checks, verdicts); quality && !judged)
    fields[run_record::field::kQuality] = std::string(*quality);
  std::string text;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    if (verdicts[i].result == QualityResult::good) continue;
    text += fmt::format("{}{} {}: {}", text.empty() ? "" : "; ", checks[i].name,
                        control::name(verdicts[i].result), verdicts[i].reason);
  }
  if (text.empty()) text = "all good";
  fields[kChecksField] = text.substr(0, run_record::kFieldBytesMax);
  return fields;
}

QualityWatch::QualityWatch(std::vector<control::QualityCheck> checks, std::string folder)
    : checks_(std::move(checks)), folder_(std::move(folder)) {}

void QualityWatch::take(RunNumber run, const reports::FilterHistogramList& list) {
  if (checks_.empty()) return;
  if (run != run_) {
    run_ = run;
    histograms_.clear();
    verdicts_.clear();
    read_references();
  }
  keep(list);
}

void QualityWatch::keep(const reports::FilterHistogramList& list) {
  for (const v1::FilterHistogram& one : list) {
    if (std::ranges::find(checks_, one.name(), &control::QualityCheck::histogram) == checks_.end()) continue;
    auto booking = reports::booking_of(one);
    if (booking) histograms_[one.name()] = {std::move(*booking), {one.cells().begin(), one.cells().end()}};
  }
}

// A reference that cannot be read is one that does not exist: its checks are not judged, and say so.
void QualityWatch::read_references() {
  references_.clear();
  std::set<std::uint32_t> runs;
  for (const control::QualityCheck& one : checks_) {
    if (one.reference_run != 0) runs.insert(one.reference_run);
  }
  for (const std::uint32_t run : runs) {
    std::ifstream file(run_record::record_paths(folder_, RunNumber(run)).histograms, std::ios::binary);
    try {
      auto record = files::parse_recorded_histograms(std::string(std::istreambuf_iterator<char>(file), {}));
      for (files::RecordedHistogram& one : record.all) {
        if (one.cells.size() != histograms::cells_of(one.booking)) continue;
        const std::string name = one.booking.name;
        references_[run][name] = {std::move(one.booking), std::move(one.cells)};
      }
    } catch (const std::exception&) {
      continue;
    }
  }
}

void QualityWatch::judge_all(DurationNs running) {
  const auto view_of = [](const ByName& all, const std::string& name) {
    const auto found = all.find(name);
    return found == all.end() ? std::nullopt
                              : std::optional<histograms::View>({found->second.booking, found->second.cells});
  };
  verdicts_.clear();
  for (const control::QualityCheck& check : checks_) {
    const auto mine = view_of(histograms_, check.histogram);
    const auto reference = view_of(references_[check.reference_run], check.histogram);
    verdicts_.push_back(
        control::judge(check, mine ? &*mine : nullptr, reference ? &*reference : nullptr, running));
  }
  WEIR_ASSERT(verdicts_.size() == checks_.size());
}

void QualityWatch::look(Parts& parts, UtcNs utc) {
  if (checks_.empty()) return;
  const v1::RunSummary* account = parts.book.account();
  if (account != nullptr && RunNumber(account->run()) != closed_) return close(parts, *account, utc);
  const control::State state = parts.machine.state();
  const bool is_on = state == control::State::running || state == control::State::paused;
  if (!is_on || parts.now_ns < next_look_ns_ || parts.machine.run() == closed_) return;
  next_look_ns_ = parts.now_ns + kSecond;
  take(parts.machine.run(), {});
  judge_all(utc - parts.book.begin_utc());
}

void QualityWatch::close(Parts& parts, const v1::RunSummary& account, UtcNs utc) {
  const RunNumber run(account.run());
  closed_ = run;
  take(run, account.histograms());
  judge_all(account.running_ns());
  const auto given = parts.book.fields().find(run_record::field::kQuality);
  const bool judged =
      (given != parts.book.fields().end() && !given->second.empty()) || has_quality(folder_, account.run());
  const run_record::RunFields fields = quality_fields(checks_, verdicts_, judged);
  const auto quality = fields.find(run_record::field::kQuality);
  const auto worst = control::quality_of(checks_, verdicts_);
  parts.log.note(worst == "good" || !worst ? control::Level::info : control::Level::warning,
                 fmt::format("quality of run {}: {}; {}", account.run(),
                             quality != fields.end() ? quality->second
                             : judged                ? "as the operator gave it"
                                                     : "not judged",
                             fields.at(kChecksField)));
  if (parts.book.keeper() == RunBook::Keeper::starter) return;
  if (const std::string why = parts.book.annotate({account.run(), utc, kAuthor, fields}, {}); !why.empty())
    parts.log.error(fmt::format("the quality of run {} is not in the records: {}", account.run(), why));
}

std::vector<control::Finding> QualityWatch::findings() const {
  std::vector<control::Finding> findings;
  for (std::size_t i = 0; i < verdicts_.size(); ++i) {
    if (verdicts_[i].result != QualityResult::failed) continue;
    findings.push_back(
        {checks_[i].gravity, "check " + checks_[i].name,
         fmt::format("histogram '{}' of run {}: {}", checks_[i].histogram, run_.value, verdicts_[i].reason)});
  }
  std::ranges::stable_sort(findings, std::ranges::greater(), &control::Finding::gravity);
  return findings;
}

void QualityWatch::add_to(v1::FarmView& view) const {
  view.set_checks_run(run_.value);
  for (std::size_t i = 0; i < checks_.size(); ++i) {
    v1::FarmView::Check& check = *view.add_checks();
    check.set_name(checks_[i].name);
    check.set_histogram(checks_[i].histogram);
    check.set_gravity(std::string(control::name(checks_[i].gravity)));
    const bool known = i < verdicts_.size();
    check.set_verdict(std::string(control::name(known ? verdicts_[i].result : QualityResult::not_judged)));
    check.set_reason(known ? verdicts_[i].reason : "no run yet");
  }
}

}  // namespace weir::run_control
