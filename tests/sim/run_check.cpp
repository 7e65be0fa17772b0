#include "run_check.hpp"

#include <weir/base/hash.hpp>
#include <weir/burst/alert.hpp>
#include <weir/histograms/layout.hpp>
#include <weir/reports/source_counts.hpp>
#include <weir/storage/verify.hpp>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <utility>

namespace weir::sim {
namespace {

constexpr std::string_view kDiscarded = "discarded.";
constexpr DurationNs kAlertWindow = 750 * kMillisecond;  // of the plugin `stumbles`
constexpr std::string_view kOnDisk = "slices: stored = live on disk";

std::string text_of(const SliceSum& sum) {
  return std::to_string(sum.count) + " #" + std::to_string(sum.hash_sum);
}

}  // namespace

RunCheck::RunCheck(const Scenario& scenario, SimFrontEnds* front_ends, const v1::RunSummary& account,
                   const std::string& folder, std::vector<std::uint32_t> dcm_deaths)
    : scenario_(scenario), account_(account), folder_(folder), dcm_deaths_(std::move(dcm_deaths)) {
  if (front_ends != nullptr) front_ends_.emplace(scenario, *front_ends, account);
}

void RunCheck::fail(const std::string& problem) {
  if (problem_.empty()) problem_ = problem;
}

std::uint64_t RunCheck::counter(const std::string& name) const {
  const auto found = account_.counters().find(name);
  return found == account_.counters().end() ? 0 : found->second;
}

std::uint64_t RunCheck::worker_restarts() const {
  std::uint64_t sum = 0;
  for (const v1::Report& report : account_.nodes()) {
    const auto found = report.counters().find("dcm.worker_restarts");
    if (found != report.counters().end()) sum += found->second;
  }
  return sum;
}

bool RunCheck::a_readout_died() const {
  return std::any_of(scenario_.faults.begin(), scenario_.faults.end(), [](const Fault& fault) {
    return (fault.kind == FaultKind::kill || fault.kind == FaultKind::lose_machine) &&
           fault.who.starts_with("readout");
  });
}

bool RunCheck::a_readout_was_cut_off() const {
  return std::any_of(scenario_.faults.begin(), scenario_.faults.end(), [](const Fault& fault) {
    const bool closes = fault.kind == FaultKind::break_connections || fault.kind == FaultKind::flip;
    return closes && (fault.who.starts_with("readout") || fault.other.starts_with("readout"));
  });
}

// Counts the times at which a DCM could be taken for dead or stalled while its filter was processing a
// suspect: then exactly that slice is blamed.
std::uint64_t RunCheck::dcms_disturbed() const {
  std::uint64_t often = 0;
  for (const Fault& fault : scenario_.faults) {
    const bool of_dcm = fault.who.starts_with("dcm") || fault.other.starts_with("dcm");
    if (fault.kind == FaultKind::flip && of_dcm) {
      often += scenario_.slices;  // each flip may close the connection
    } else if (fault.who == "supervisor" || fault.other == "supervisor") {
      often += scenario_.dcms;
    } else if (of_dcm) {
      ++often;
    }
  }
  return often;
}

// A remote group may be cut off as a whole: then its slices wait. Of the others:
// True if in the whole run no fault hit the readouts except between them and other DCMs, no fault hit this
// DCM, and it lived. A filter can end its DCM without a fault of the scenario: while the DCMs that reach a
// readout are dead, one that a partition separates from it may be the only live DCM, and then none reaches
// it.
bool RunCheck::a_dcm_reached_all() const {
  const auto is = [](const std::string& name, const char* role) { return name.starts_with(role); };
  const auto& faults = scenario_.faults;
  const bool readouts_well = std::all_of(faults.begin(), faults.end(), [&](const Fault& fault) {
    const bool touched = is(fault.who, "readout") || is(fault.other, "readout");
    return !touched || is(fault.who, "dcm") || is(fault.other, "dcm");
  });
  std::vector<bool> reached(std::max<std::size_t>(1, scenario_.groups.size()));
  if (scenario_.remote) reached.back() = true;
  for (std::size_t i = 0; readouts_well && i < dcm_deaths_.size(); ++i) {
    const std::string dcm = "dcm-" + std::to_string(i);
    if (dcm_deaths_[i] == 0 && std::none_of(faults.begin(), faults.end(), [&](const Fault& fault) {
          const bool between_dcms = is(fault.who, "dcm") && is(fault.other, "dcm");
          return !between_dcms && (fault.who == dcm || fault.other == dcm);
        }))
      reached[group_of(i)] = true;
  }
  return std::all_of(reached.begin(), reached.end(), [](bool group) { return group; });
}

std::size_t RunCheck::group_of(std::size_t dcm) const {
  std::size_t group = 0;
  for (std::size_t end = 0; group < scenario_.groups.size(); ++group) {
    end += scenario_.groups[group];
    if (dcm < end) return group;
  }
  return 0;
}

// A slice that is forwarded meets the filters of all groups, any other that of the first alone.
bool RunCheck::is_killer(std::uint64_t slice) const {
  if (scenario_.killers == 0 || slice % scenario_.killers != 0) return false;
  return scenario_.killer_group == 0 || slice % 4 >= 2;
}

void RunCheck::run() {
  triggered_ = counter("triggered");
  check_account();
  try {
    check_files();
  } catch (const std::exception& error) {
    fail(std::string("files: ") + error.what());
  }
  check_histograms();
  check_filter_alerts();
  check_saved_alerts();
  if (!front_ends_) return;
  if (const std::string problem = front_ends_->account(); !problem.empty()) fail(problem);
}

// Each names a slice for which the filter gives an alert, and its window around that slice's time.
void RunCheck::check_filter_alerts() {
  const std::string by_filter = "filter of dcm-";
  const std::string of_slice = ": slice ";
  std::optional<UtcNs> last;
  for (const v1::BurstAccount& burst : account_.bursts()) {
    if (!burst.reason().starts_with(by_filter)) continue;
    ++filter_alerts_;
    const std::string text = "alert of '" + burst.reason() + "'";
    const std::size_t at = burst.reason().find(of_slice);
    if (at == std::string::npos || scenario_.alerts_every == 0 ||
        std::stoull(burst.reason().substr(at + of_slice.size())) % scenario_.alerts_every != 0)
      fail(text + " for a slice without one");
    const DurationNs window = burst.alert().until_ns() - burst.alert().from_ns();
    if (window < kAlertWindow || window > kAlertWindow + 2 * burst::kQuantum)
      fail(text + " with a window of " + std::to_string(window) + " ns");
    const bool soon =
        last && std::abs(burst.alert().from_ns() - *last) < scenario_.filter_alerts_apart - burst::kQuantum;
    if (soon) fail(text + " too soon after another");
    last = burst.alert().from_ns();
  }
}

// Only with its ring may a slice of an alert be lost.
void RunCheck::check_saved_alerts() {
  const auto takes_a_ring = [](const Fault& one) {
    return one.kind == FaultKind::drain && one.who.starts_with("dcm-");
  };
  const bool taken =
      std::any_of(dcm_deaths_.begin(), dcm_deaths_.end(), [](std::uint32_t deaths) { return deaths > 0; }) ||
      std::any_of(scenario_.faults.begin(), scenario_.faults.end(), takes_a_ring);
  if (taken) return;
  for (const v1::BurstAccount& burst : account_.bursts()) {
    if (burst.lost() > 0)
      fail(std::to_string(burst.lost()) + " slice(s) of alert " + std::to_string(burst.alert().number()) +
           " are lost, though no ring was");
  }
}

void RunCheck::check_account() {
  if (!account_.balanced()) fail("the ledger does not balance:\n" + account_.ledger_text());
  if (triggered_ != scenario_.slices)
    fail("triggered " + std::to_string(triggered_) + " slices instead of " +
         std::to_string(scenario_.slices));
  if (counter("vetoed.duplicate_id") > 0 && scenario_.ids == IdOrder::of_the_farm)
    fail("the farm's own triggers were vetoed as duplicates");
  std::uint64_t discarded = 0;
  for (const auto& [name, count] : account_.counters()) {
    if (!name.starts_with(kDiscarded) || count == 0) continue;
    discarded += count;
    const std::string reason = name.substr(kDiscarded.size());
    if (reason == "no_writer" && scenario_.writers == 0) continue;
    if (reason == "attempts_exhausted") continue;  // enough deaths kill any slice
    if (reason == "writer_refused" && scenario_.world.flips) continue;
    if (reason == "supervisor_restart") continue;
    fail(std::to_string(count) + " slice(s) discarded: " + reason);
  }
  for (const v1::Report& report : account_.nodes()) {
    const auto left = report.counters().find("fragments.dropped.run_ended");
    // Front-ends that count events continue behind the last slice.
    const bool continues = scenario_.front_ends.kind == FrontEnds::number;
    if (report.final() && left != report.counters().end() && left->second > 0 && !continues)
      fail(report.name() + " held " + std::to_string(left->second) + " fragment(s) that nobody cleared");
  }
  check_fetches();
  check_moves();
  if (counter("stored") + counter("rejected") + discarded != triggered_)
    fail("stored + rejected + discarded is not triggered");
}

// While one plane is cut, all slices go on in another. A lease and a deadline are 20 s or more.
void RunCheck::check_moves() {
  const bool filters_end = scenario_.killers > 0 || scenario_.workers;
  if (!scenario_.only_planes || filters_end) return;
  if (const std::uint64_t expired = counter("supervisor.leases_expired"); expired > 0)
    fail(std::to_string(expired) + " lease(s) ended, though a plane reached every readout");
}

// Every slice is settled before its DCM's run ends, unless run control removes the DCM. Checksums of
// fragments agree where no bit was flipped, those of records where none was flipped on the way to a writer.
void RunCheck::check_fetches() {
  for (const v1::Report& report : account_.nodes()) {
    if (report.role() != v1::ROLE_DCM) continue;
    const auto count_of = [&report](const char* name) {
      const auto found = report.counters().find(name);
      return found == report.counters().end() ? 0 : found->second;
    };
    const bool removed =
        std::any_of(scenario_.faults.begin(), scenario_.faults.end(), [&report](const Fault& fault) {
          return fault.kind == FaultKind::drain && fault.who == report.name();
        });
    if (const std::uint64_t kept = count_of("fetch.kept_at_end"); kept > 0 && !removed)
      fail(report.name() + " kept " + std::to_string(kept) + " slice(s) until the run's end");
    if (const std::uint64_t again = count_of("fragments.asked_again"); again > 0 && !scenario_.world.flips)
      fail(report.name() + " received " + std::to_string(again) + " fragment(s) with a wrong checksum");
    const bool flipped_later =
        std::any_of(scenario_.faults.begin(), scenario_.faults.end(), [](const Fault& fault) {
          return fault.kind == FaultKind::flip &&
                 (fault.who.starts_with("writer") || fault.other.starts_with("writer"));
        });
    if (const std::uint64_t bad = count_of("dcm.records_refused.bad_checksum"); bad > 0 && !flipped_later)
      fail(report.name() + " sent " + std::to_string(bad) + " record(s) with a wrong checksum");
  }
}

// The filters fill one histogram, once per slice. Its entries are those of the slices that DCMs have settled.
// A DCM that died may have reported its last slices and not their entries; then the histogram names it. A DCM
// that stores a slice at a second writer counts both copies, one of them dead, but fills the histogram once.
void RunCheck::check_histograms() {
  if (account_.histograms_size() == 0) return;
  std::uint64_t settled = 0;
  std::uint64_t poisoned = 0;  // without writers no file holds them
  std::uint64_t dead_copies = 0;
  for (const v1::Report& report : account_.nodes()) {
    if (const auto found = report.counters().find("writer.dead_copies"); found != report.counters().end())
      dead_copies += found->second;
    if (const auto found = report.counters().find("dcm.poisoned"); found != report.counters().end())
      poisoned += found->second;
    for (const auto& [name, sum] : report.sums()) {
      const bool decided = name == "rejected" || name == "stored" || name == "forwarded" ||
                           (name == "discarded" && scenario_.writers == 0);
      if (report.role() == v1::ROLE_DCM && decided) settled += sum.count();
    }
  }
  const v1::FilterHistogram& histogram = account_.histograms(0);
  double total = 0;  // under- and overflow included
  for (int i = histograms::kHeadCells; i < histogram.cells_size(); ++i) total += histogram.cells(i);
  const double entries = histogram.cells(histograms::kEntries);
  if (total != entries)
    fail("a histogram has " + std::to_string(entries) + " entries, its cells " + std::to_string(total));
  // Slices that their filter did not decide have no entry.
  const bool all_filtered = scenario_.killers == 0 && !scenario_.filter_errors && poison_ == 0 &&
                            poisoned == 0 && counter("supervisor.unfiltered") == 0 &&
                            scenario_.farm.find("incomplete: debug") == std::string::npos &&
                            (scenario_.writers > 0 || counter("discarded.attempts_exhausted") == 0);
  const auto expected = static_cast<double>(settled);
  // A restarted supervisor is always named; DCMs count neither the slice nor its entry then.
  const bool complete = std::all_of(histogram.incomplete().begin(), histogram.incomplete().end(),
                                    [](const std::string& node) { return node == "supervisor"; });
  const double missing = expected - entries;
  if (missing < 0 || (all_filtered && complete && missing > static_cast<double>(dead_copies)))
    fail("a histogram that is filled once per slice has " + std::to_string(entries) +
         " entries, and DCMs settled " + std::to_string(settled) + " slice(s)");
}

// Compares the account's number with the files. A DCM or writer that was disturbed may have stored an attempt
// that its DCM gave up.
void RunCheck::check_missing() {
  const auto touches = [](const Fault& fault, const char* role) {
    return fault.who.starts_with(role) || fault.other.starts_with(role);
  };
  for (const Fault& fault : scenario_.faults) {
    if (touches(fault, "dcm") || touches(fault, "writer")) return;
  }
  const bool all_stored =
      counter("stored") == counter("triggered") && counter("supervisor.copies_taken") == 0;
  if (!all_stored || counter("farm.dcms_lost") > 0) return;
  for (const v1::Report& report : account_.nodes()) {
    const auto& counters = report.counters();
    for (const char* uncertain : {"writer.dead_copies", "dcm.unheard"}) {
      if (counters.contains(uncertain) && counters.at(uncertain) > 0) return;
    }
  }
  std::uint64_t counted = 0;
  for (const auto& [name, count] : account_.counters()) {
    if (name.starts_with("farm.fragments.missing.")) counted += count;
    if (name.starts_with("farm.fragments.overtaken.")) counted -= count;
  }
  if (counted != missing_)
    fail("the account counts " + std::to_string(counted) + " fragment(s) missing, the files " +
         std::to_string(missing_));
  const v1::SourceCounts& sources = account_.nodes(0).sources();
  if (sources.left_out() > 0 || sources.partial()) return;  // more sources than a report has rows
  std::uint64_t of_sources = 0;
  for (const reports::SourceRow& row : reports::source_rows(sources)) of_sources += row.missing_in_all();
  if (of_sources != counted)
    fail("the account counts " + std::to_string(counted) + " fragment(s) missing, its sources " +
         std::to_string(of_sources));
}

// True if the account says so, of an alert with slices that were not saved.
bool RunCheck::a_writer_was_unheard(const std::string& alert) const {
  return std::any_of(
      account_.faults_text().begin(), account_.faults_text().end(), [&](const std::string& fault) {
        return fault.starts_with(alert + ": ") && fault.find("gave no final report") != fault.npos;
      });
}

// Closed files of an alert are sound in every byte, as the sources made it; the ledger compares their slices.
void RunCheck::check_alert(const std::string& folder) {
  std::set<SliceId> whole;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (path.ends_with(storage::kPartSuffix)) continue;
    const auto file = storage::RunFileReader::open(path);
    if (!file) throw std::runtime_error(file.error().detail);
    const storage::VerifyReport report = storage::verify(*file);
    if (!report.sound()) fail("files: " + path + ": " + report.problems.front().text);
    for (const storage::IndexEntry& one : file->entries()) {
      const auto slice = file->slice(one, storage::Check::fragments);
      if (!slice) return fail("files: slice " + std::to_string(one.slice.value) + " is damaged");
      whole.insert(one.slice);
      for (std::size_t i = 0; i < slice->fragment_count(); ++i) check_bytes(*slice, slice->fragment(i));
    }
  }
  for (const v1::BurstAccount& burst : account_.bursts()) {
    const std::string text = "burst " + std::to_string(burst.alert().number());
    if (!folder.ends_with("-burst-" + std::to_string(burst.alert().number()))) continue;
    // Slices that a DCM lost or saw refused may be on the disk of a writer that the supervisor did not hear
    // at the end.
    const std::uint64_t uncertain = a_writer_was_unheard(text) ? burst.lost() + burst.refused().count() : 0;
    if (burst.saved().count() + uncertain < whole.size())
      fail(text + " saved " + std::to_string(burst.saved().count()) + " slice(s), and its files have " +
           std::to_string(whole.size()));
    whole.clear();
  }
  if (!whole.empty()) fail("files: " + folder + " is of no alert");
}

// Data in an unclosed, damaged file was never acknowledged, or the sums reveal it.
std::vector<storage::RunFileReader> RunCheck::open_files() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    if (entry.is_directory()) {
      check_alert(entry.path().string());
    } else {
      paths.push_back(entry.path().string());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<storage::RunFileReader> files;
  for (const std::string& path : paths) {
    auto file = storage::RunFileReader::open(path);
    if (!file && path.ends_with(storage::kPartSuffix)) continue;
    if (!file) throw std::runtime_error(file.error().detail);
    if (file->closed()) {
      const storage::VerifyReport report = storage::verify(*file);
      if (!report.sound()) fail("files: " + path + ": " + report.problems.front().text);
    }
    for (std::size_t i = 0; !file->closed() && i < file->entries().size(); ++i) {
      if (!file->slice(file->entries()[i], storage::Check::fragments)) file->mark_dead(i);
    }
    files.push_back(std::move(*file));
  }
  storage::resolve_copies(files);
  for (const storage::FileProblem& problem : storage::verify_copies(files)) fail("files: " + problem.text);
  return files;
}

void RunCheck::check_files() {
  const std::vector<storage::RunFileReader> files = open_files();
  SliceSum live;
  for (const storage::RunFileReader& file : files) {
    for (const storage::IndexEntry& entry : file.entries()) {
      if (entry.dead) continue;
      live.add(entry.slice);
      const auto slice = file.slice(entry, storage::Check::fragments);
      if (!slice) return fail("files: slice " + std::to_string(entry.slice.value) + " is damaged");
      check_slice(*slice);
    }
  }
  stored_ = live.count;
  stored_ids_ = live.hash_sum;
  if (scenario_.workers && scenario_.killers > 0 && dcms_disturbed() == 0 &&
      std::any_of(dcm_deaths_.begin(), dcm_deaths_.end(), [](std::uint32_t deaths) { return deaths > 0; }))
    fail("a filter in a worker ended its DCM");
  if (innocent_poison_ > dcms_disturbed() && !(scenario_.strict_blame && dcms_disturbed() > 0))
    fail(std::to_string(innocent_poison_) + " slice(s) are poison that no filter dies of");
  for (const v1::RunSummary::Equation& equation : account_.equations()) {
    if (equation.name().starts_with(kOnDisk) && equation.left() != text_of(live))
      fail("the supervisor counts " + equation.left() + " as stored, the files hold " + text_of(live));
  }
  if (counter("stored_incomplete") != incomplete_)
    fail("the supervisor counts " + std::to_string(counter("stored_incomplete")) +
         " as stored incomplete, the files hold " + std::to_string(incomplete_));
  check_missing();
  // With workers a DCM identifies the slice itself.
  if (!scenario_.workers && counter("supervisor.unfiltered") < poison_)
    fail("the supervisor counts " + std::to_string(counter("supervisor.unfiltered")) +
         " assignments of poison, the files hold " + std::to_string(poison_) + " such slices");
  // It may take a silence for a loss, for up to the duration of an answer.
  const DurationNs slow_ns = 4 * scenario_.world.tail_max + 400 * kMillisecond;
  if (source_down_ > 0 && scenario_.grace_ns >= slow_ns && a_dcm_reached_all())
    fail(std::to_string(source_down_) +
         " fragment(s) marked source_down, which a DCM has reached all the time");
  // Pushed fragments arrive before memory is reserved.
  if (!scenario_.push && no_buffer_ > 0)
    fail(std::to_string(no_buffer_) + " fragment(s) found no memory in a DCM");
  const bool all_arrive = scenario_.patient || scenario_.only_planes;
  if (all_arrive && !scenario_.push && !a_readout_died() && unexplained_ > 0)
    fail(std::to_string(unexplained_) + " fragment(s) missing, and no readout died; " + why_);
  const std::uint64_t pushed_out = counter("farm.fragments.missing.overflow");
  if (scenario_.busy && scenario_.push && scenario_.faults.empty() && pushed_out > 0)
    fail(std::to_string(pushed_out) + " fragment(s) in order given up without a fault");
}

void RunCheck::check_bytes(const storage::SliceRecordView& slice, const storage::FragmentView& fragment) {
  const storage::FragmentRecord& record = fragment.record;
  if (slice.head().decision == storage::DecisionKind::poison &&
      record.status == FragmentStatus::not_requested)
    fail("slice " + std::to_string(slice.head().slice.value) + " source " +
         std::to_string(record.source.value) + ": not requested, though the slice is poison");
  if (!record.kept || record.status == FragmentStatus::corrupt) return;
  if (front_ends_) {
    if (const std::string problem = front_ends_->fragment(slice, fragment); !problem.empty()) fail(problem);
    return;
  }
  const auto good = verifier_.verify(slice.head().run, record.source, slice.head().slice, fragment.bytes);
  if (!good)
    fail("slice " + std::to_string(slice.head().slice.value) + " source " +
         std::to_string(record.source.value) + ": byte " + std::to_string(good.error()) + " is wrong");
}

void RunCheck::check_slice(const storage::SliceRecordView& slice) {
  const std::uint64_t id = slice.head().slice.value;
  const bool unfiltered = (slice.head().flags & storage::slice_flag::unfiltered) != 0;
  if (id % scenario_.prescale != 0 && !unfiltered)
    fail("slice " + std::to_string(id) + " is stored, which the filter rejects");
  const bool poison = slice.head().decision == storage::DecisionKind::poison;
  const bool killer = is_killer(id);
  const bool must_not_fail = !scenario_.groups.empty() || scenario_.remembers;
  if (must_not_fail && slice.head().decision == storage::DecisionKind::no_filter)
    fail("slice " + std::to_string(id) + " met a filter that failed");
  if (killer && !poison) fail("slice " + std::to_string(id) + " ends whoever filters it, and was filtered");
  poison_ += poison ? 1 : 0;
  innocent_poison_ += poison && !killer ? 1 : 0;
  if (scenario_.clock_slice_ns > 0) {
    const UtcNs first = slice.head().trigger_time - static_cast<UtcNs>(id) * scenario_.clock_slice_ns;
    if (clock_begin_.value_or(first) != first)
      fail("slice " + std::to_string(id) + " has another time than its number says");
    clock_begin_ = first;
  }
  bool flawed = false;
  bool absent = false;  // on purpose
  bool here = false;
  for (std::size_t i = 0; i < slice.fragment_count(); ++i) {
    const storage::FragmentView fragment = slice.fragment(i);
    const storage::FragmentRecord& record = fragment.record;
    flawed = flawed || record.status == FragmentStatus::truncated ||
             record.status == FragmentStatus::corrupt || record.status == FragmentStatus::out_of_step;
    here =
        here || (record.status != FragmentStatus::missing && record.status != FragmentStatus::not_requested);
    absent = absent || record.reason == MissingReason::removed;
    if (record.status == FragmentStatus::missing) {
      flawed = flawed || record.reason != MissingReason::removed;
      ++missing_;
      source_down_ += record.reason == MissingReason::source_down ? 1 : 0;
      no_buffer_ += record.reason == MissingReason::no_buffer ? 1 : 0;
      // An announcement that was lost with its connection is of a slice that this readout never makes.
      const bool lost = record.reason == MissingReason::not_produced && a_readout_was_cut_off();
      const bool full = record.reason == MissingReason::dropped ||
                        record.reason == MissingReason::no_buffer || record.reason == MissingReason::removed;
      if (front_ends_ && front_ends_->explains(id, record)) continue;
      unexplained_ += lost || full ? 0 : 1;
      if (!lost && !full && why_.empty())
        why_ = "slice " + std::to_string(id) + ": " + std::string(name(record.reason));
    }
    if (record.status == FragmentStatus::not_requested && !scenario_.two_step)
      fail("slice " + std::to_string(id) + " source " + std::to_string(record.source.value) +
           " is neither there nor marked missing");
    if (record.status == FragmentStatus::corrupt) {
      ++corrupt_;
      if (!scenario_.world.flips)
        fail("slice " + std::to_string(id) + " source " + std::to_string(record.source.value) +
             " is corrupt");
      continue;
    }
    check_bytes(slice, fragment);
  }
  if (front_ends_) {
    if (const std::string problem = front_ends_->slice(slice); !problem.empty()) fail(problem);
  }
  flawed = flawed || (absent && !here);
  incomplete_ += flawed ? 1 : 0;
  if (flawed != ((slice.head().flags & storage::slice_flag::incomplete) != 0))
    fail("slice " + std::to_string(id) + " is marked incomplete, and is not, or the other way round");
}

}  // namespace weir::sim
