#include "dcm_groups.hpp"
#include "field_value.hpp"
#include "schema.hpp"
#include "yaml_tree.hpp"
#include <weir/assignment/trigger_file.hpp>
#include <weir/assignment/types.hpp>
#include <weir/base/buffer_pool.hpp>
#include <weir/config/expected_sizes.hpp>
#include <weir/config/farm_file.hpp>
#include <weir/config/folder_name.hpp>
#include <weir/config/node_farm.hpp>
#include <weir/config/plan.hpp>
#include <weir/config/rules.hpp>
#include <weir/config/source_groups.hpp>
#include <weir/wire/frame.hpp>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <string>
#include <system_error>
#include <unordered_map>
#include <utility>

namespace weir::config {
namespace {

class Validator {
 public:
  Validator(const v1::Farm& farm, const Locations& locations)
      : farm_(farm), locations_(locations), node_farms_(farm) {}

  Problems run(const ReplayReader& replay) {
    std::unordered_map<std::string, Expected<ReplayContents, std::string>> seen;
    // Reads the folder once, however many rules need its contents.
    ReplayReader once;
    if (replay) {
      once = [&](const std::string& path) {
        return seen.try_emplace(path, seen.count(path) != 0 ? seen.at(path) : replay(path)).first->second;
      };
    }
    if (farm_.include_size() > 0)
      error(ProblemKind::inconsistent, "include", "only a farm file includes others");
    check_trigger();
    check_texts();
    for_kinds(Role::readout, farm_.readout().nodes_size(), [&] {
      check_hits();
      check_dummy_sizes();
      check_front_end();
      check_faults();
    });
    for_kinds(Role::dcm, farm_.dcm().nodes_size(), [&] { check_dcm_limits(); });
    check_groups(farm_,
                 [this](const std::string& key, std::string what) { inconsistent(key, std::move(what)); });
    check_supervisor();
    check_overrun();
    const auto plan = expand(farm_, locations_, once);
    if (!plan) {
      const Problems& found = plan.error();
      problems_.insert(problems_.end(), found.begin(), found.end());
      return std::move(problems_);
    }
    check_length();
    check_sources(*plan);
    const ExpectedSizes sizes = check_readouts(*plan, once);
    check_push(*plan);
    check_dcms(*plan, sizes);
    check_writers(*plan, sizes);
    check_exposure(*plan);
    check_ports(*plan);
    check_source_groups(*plan);
    if (const auto rules = read_rules(farm_, *plan, locations_); !rules)
      problems_.insert(problems_.end(), rules.error().begin(), rules.error().end());
    return std::move(problems_);
  }

 private:
  void add(Severity severity, ProblemKind kind, const std::string& common_key, std::string what) {
    const std::string key = kind_ != nullptr ? key_here(common_key) : common_key;
    // A problem in shared settings is found once for each kind of node, and reported once.
    const bool known = std::any_of(problems_.begin(), problems_.end(),
                                   [&](const Problem& one) { return one.key == key && one.what == what; });
    if (known || problems_.size() >= kProblemsMax) return;
    problems_.push_back({kind, severity, locations_.of(key), key, std::move(what)});
  }

  // If a key is missing, or too small by default, and neither the entry nor the shared section sets it, the
  // problem is reported at the entry.
  [[nodiscard]] std::string key_here(const std::string& common_key) const {
    const std::string key = kind_->key_of(common_key);
    return key == common_key && locations_.exactly(key).empty() ? kind_->key_in_entry(key) : key;
  }

  // Returns the farm with the settings of the nodes under validation.
  [[nodiscard]] const v1::Farm& here() const { return kind_ != nullptr ? kind_->farm : farm_; }
  void look_at(const NodeFarm& kind, const std::function<void()>& look) {
    kind_ = &kind;
    look();
    kind_ = nullptr;
  }
  // Calls `look` for each entry of the role's `nodes`, or once for the shared settings if the list is empty.
  void for_kinds(Role role, int entries, const std::function<void()>& look) {
    for (int entry = entries == 0 ? kNoEntry : 0; entry < entries; ++entry)
      look_at(node_farms_.of(role, entry), look);
  }
  void error(ProblemKind kind, const std::string& key, std::string what) {
    add(Severity::error, kind, key, std::move(what));
  }
  void inconsistent(const std::string& key, std::string what) {
    add(Severity::error, ProblemKind::inconsistent, key, std::move(what));
  }
  void warn(const std::string& key, std::string what) {
    add(Severity::warning, ProblemKind::inconsistent, key, std::move(what));
  }

  // Reports nodes that listen on an address beyond this machine without a key.
  void check_exposure(const FarmPlan& plan) {
    if (!farm_.security().key_file().empty()) return;
    if (farm_.security().tls())
      error(ProblemKind::missing_key, "security.key_file",
            "needed by security.tls: make keys with `weir keys new`");
    std::string first;
    std::size_t others = 0;
    const auto look_at = [&](const std::string& who, const std::string& listen) {
      if (is_loopback(listen)) return;
      others += first.empty() ? 0 : 1;
      if (first.empty()) first = who + " listens at " + listen;
    };
    for (const NodePlan& node : plan.nodes) look_at(node.name, node.listen);
    if (farm_.trigger().mode() == v1::TriggerSettings::MODE_NETWORK)
      look_at("the supervisor's port for triggers", farm_.trigger().listen());
    if (first.empty()) return;
    if (others > 0) first += " and " + std::to_string(others) + " more like it";
    if (farm_.security().mode() == v1::SecuritySettings::MODE_OPEN) {
      warn("security.mode", "'open': " + first +
                                ", and whoever gets there can take part; make keys with "
                                "`weir keys new` (docs/security.md)");
    } else {
      inconsistent("security.key_file",
                   "needed, as " + first +
                       ", outside this machine: make keys with "
                       "`weir keys new`, or say security.mode=open where nobody else is on "
                       "the network");
    }
  }

  // Reports a row of ports that begins at a given one and would pass the highest port number.
  void check_ports(const FarmPlan& plan) {
    const std::uint64_t metrics = port_in(farm_.metrics().listen());
    if (metrics > 0 && metrics + plan.nodes.size() - 1 > kPortMax) {
      const std::size_t first_beyond = kPortMax + 1 - metrics;
      inconsistent("metrics.listen", in_quotes(plan.nodes[first_beyond].name) +
                                         " would serve at port 65536: begin at " +
                                         std::to_string(kPortMax + 1 - plan.nodes.size()) +
                                         " or below, as each process takes the next port");
    }
    for (const NodeFarms::Kind& readouts : node_farms_.kinds(plan, Role::readout))
      look_at(readouts.shared, [&] { check_datagram_ports(readouts); });
  }

  // Readout i of the plugin `udp` receives datagrams at its port + i.
  void check_datagram_ports(const NodeFarms::Kind& readouts) {
    const v1::SourceSettings& source = here().source();
    const bool udp = source.kind() == v1::SourceSettings::KIND_UDP ||
                     (source.kind() == v1::SourceSettings::KIND_PLUGIN && source.plugin() == "udp");
    const auto given = source.parameters().find("port");
    if (!udp || given == source.parameters().end()) return;
    const std::uint64_t port = port_in(":" + given->second);
    for (const NodePlan* node : readouts.nodes) {
      if (port == 0 || port + node->index.value <= kPortMax) continue;
      return inconsistent("source.parameters", "port " + given->second + " leaves none for " +
                                                   in_quotes(node->name) + ", which takes port + " +
                                                   std::to_string(node->index.value));
    }
  }

  // Returns 0 for no port, any free port, or text that is not a number.
  static std::uint64_t port_in(const std::string& endpoint) {
    const std::size_t colon = endpoint.rfind(':');
    if (colon == std::string::npos) return 0;
    std::uint64_t port = 0;
    const char* end = endpoint.data() + endpoint.size();
    const auto parsed = std::from_chars(endpoint.data() + colon + 1, end, port);
    return parsed.ec == std::errc() && parsed.ptr == end ? port : 0;
  }
  static constexpr std::uint64_t kPortMax = 65535;

  void check_trigger() {
    using Trigger = v1::TriggerSettings;
    const Trigger& trigger = farm_.trigger();
    const bool needs_rate = trigger.mode() == Trigger::MODE_RATE || trigger.mode() == Trigger::MODE_POISSON;
    if (needs_rate && trigger.rate_hz() == 0) {
      const std::string mode = trigger.mode() == Trigger::MODE_RATE ? "rate" : "poisson";
      error(ProblemKind::missing_key, "trigger.rate_hz", "needed by trigger.mode '" + mode + "'");
    }
    if (trigger.mode() == Trigger::MODE_FILE) {
      std::error_code ignored;
      if (trigger.file().empty()) {
        error(ProblemKind::missing_key, "trigger.file", "needed by trigger.mode 'file'");
      } else if (!std::filesystem::is_regular_file(trigger.file(), ignored)) {
        error(ProblemKind::unreadable, "trigger.file", in_quotes(trigger.file()) + ": no such file");
      }
    }
    if (trigger.mode() == Trigger::MODE_NETWORK && trigger.listen().empty()) {
      error(ProblemKind::missing_key, "trigger.listen", "needed by trigger.mode 'network'");
    }
    if (trigger.first_slice() > assignment::kSliceIdNamedMax.value) {
      error(ProblemKind::out_of_range, "trigger.first_slice",
            std::to_string(trigger.first_slice()) + " is above " +
                std::to_string(assignment::kSliceIdNamedMax.value) +
                " (2^62 - 2^32 - 1), the highest id that may be named");
    }
    std::set<std::uint32_t> types;
    for (int i = 0; i < trigger.types_size(); ++i) {
      const std::uint32_t type = trigger.types(i).type();
      if (!types.insert(type).second) {
        inconsistent("trigger.types[" + std::to_string(i) + "].type",
                     "type " + std::to_string(type) + " is listed twice");
      }
    }
  }

  // Reads the trigger file if it is readable. Called only if the order of its numbers matters.
  void require_ascending_triggers(const std::string& why) {
    if (farm_.trigger().mode() != v1::TriggerSettings::MODE_FILE) return;
    std::ifstream file(farm_.trigger().file());
    std::ostringstream text;
    text << file.rdbuf();
    const auto triggers = assignment::parse_trigger_file(text.str(), farm_.trigger().file());
    if (!triggers) return error(ProblemKind::unreadable, "trigger.file", triggers.error().message);
    const auto at = assignment::first_descending(*triggers);
    if (!at) return;
    inconsistent("trigger.file", in_quotes(farm_.trigger().file()) + ": slice " +
                                     std::to_string((*triggers)[*at].slice.value) + " follows slice " +
                                     std::to_string((*triggers)[*at - 1].slice.value) + ", and " + why);
  }

  void check_hits() {
    const v1::TriggerSettings& trigger = farm_.trigger();
    // A hit has 32 bits for its time in ns.
    constexpr double kHitsSliceMsMax = 4294;
    if (here().source().kind() == v1::SourceSettings::KIND_HITS && trigger.slice_ms() > kHitsSliceMsMax) {
      inconsistent("trigger.slice_ms", print_number(trigger.slice_ms()) + " is above " +
                                           print_number(kHitsSliceMsMax) +
                                           ", the longest slice of source.kind 'hits'");
    }
  }

  void check_texts() {
    if (farm_.run().out().empty()) error(ProblemKind::missing_key, "run.out", "needs a directory");
    check_folder("run.out", farm_.run().out());
    check_folder("control.out", farm_.control().out());
    for_kinds(Role::dcm, farm_.dcm().nodes_size(), [&] {
      if (here().filter().plugin().empty())
        error(ProblemKind::missing_key, "filter.plugin", "needs a plugin; 'accept-all' keeps everything");
    });
  }

  void check_folder(const std::string& key, const std::string& name) {
    if (std::string why = folder_name_problem(name); !why.empty())
      error(ProblemKind::bad_value, key, std::move(why));
  }

  void check_dummy_sizes() {
    using Source = v1::SourceSettings;
    const Source& source = here().source();
    if (source.kind() == Source::KIND_HITS || source.kind() == Source::KIND_REPLAY) return;
    check_sizes(source, "source");
    for (int i = 0; i < source.sizes_size(); ++i) check_sizes(source.sizes(i), list_entry("source.sizes", i));
  }

  // Checks the sizes of all sources, or of some, at the key `at`.
  template <class Sizes>
  void check_sizes(const Sizes& sizes, const std::string& at) {
    const std::uint64_t least = sizes.size_bytes_min();
    const std::uint64_t most = sizes.size_bytes_max();
    if (least > most) {
      return inconsistent(at + ".size_bytes_min",
                          print_size(least) + " is above " + at + ".size_bytes_max, " + print_size(most));
    }
    const bool mean_counts = sizes.distribution() != v1::SourceSettings::DISTRIBUTION_UNIFORM;
    if (mean_counts && (sizes.size_bytes() < least || sizes.size_bytes() > most)) {
      inconsistent(at + ".size_bytes", print_size(sizes.size_bytes()) + " is outside of " + at +
                                           ".size_bytes_min to " + at + ".size_bytes_max, " +
                                           print_size(least) + " to " + print_size(most));
    }
  }

  void check_faults() {
    const v1::SourceSettings& source = here().source();
    const bool front_end =
        source.kind() == v1::SourceSettings::KIND_PLUGIN || source.kind() == v1::SourceSettings::KIND_UDP;
    if (front_end && source.faults_size() > 0)
      inconsistent("source.faults",
                   "faults on purpose are for emulated and recorded sources: 'dummy', 'hits', 'replay'");
    for (int i = 0; i < source.faults_size(); ++i) {
      const v1::SourceFaultsSettings& faults = source.faults(i);
      const std::string at = list_entry("source.faults", i);
      if (faults.silent_every_s() > 0 && faults.silent_for_s() > faults.silent_every_s())
        inconsistent(at + ".silent_for_s", print_number(faults.silent_for_s()) + " is above " + at +
                                               ".silent_every_s, " + print_number(faults.silent_every_s()));
      if (faults.corrupt() > 0 && !farm_.run().checksums())
        warn(at + ".corrupt", "goes undetected without run.checksums");
    }
  }

  void check_front_end() {
    using Source = v1::SourceSettings;
    const Source& source = here().source();
    if (source.kind() != Source::KIND_PLUGIN && source.kind() != Source::KIND_UDP) return;
    if (source.kind() == Source::KIND_PLUGIN && source.plugin().empty()) {
      error(ProblemKind::missing_key, "source.plugin", "needed by source.kind 'plugin'");
    }
    if (source.kind() == Source::KIND_UDP && !source.plugin().empty()) {
      inconsistent("source.plugin",
                   "source.kind 'udp' names its plugin itself: leave this out, or set "
                   "source.kind to 'plugin'");
    }
    if (source.kind() == Source::KIND_UDP)
      require_ascending_triggers(
          "source.kind 'udp' needs ascending numbers: a mark in its packets ends all numbers below");
    if (source.wait_ms() == 0 || source.wait_ms() >= farm_.dcm().deadline_ms()) {
      warn("source.wait_ms", "a slice is given up after dcm.deadline_ms, " +
                                 std::to_string(farm_.dcm().deadline_ms()) +
                                 " ms: a shorter wait tells which fragments did not come");
    }
  }

  void check_dcm_limits() {
    const v1::DcmSettings& dcm = here().dcm();
    if (dcm.credits() > dcm.slices_max()) {
      inconsistent("dcm.slices_max", std::to_string(dcm.slices_max()) + " is below dcm.credits, " +
                                         std::to_string(dcm.credits()));
    }
    if (dcm.credits() < dcm.processing_units()) {
      warn("dcm.credits", std::to_string(dcm.credits()) + " is below dcm.processing_units, " +
                              std::to_string(dcm.processing_units()) + ": some of them never work");
    }
    if (dcm.fragment_bytes_max() > dcm.buffer_bytes()) {
      inconsistent("dcm.fragment_bytes_max", print_size(dcm.fragment_bytes_max()) +
                                                 " is above dcm.buffer_bytes, " +
                                                 print_size(dcm.buffer_bytes()));
    }
  }

  [[nodiscard]] std::uint64_t all_credits() const {
    const v1::DcmSettings& dcm = farm_.dcm();
    std::uint64_t credits = dcm.nodes().empty() ? std::uint64_t{dcm.count()} * dcm.credits() : 0;
    for (int entry = 0; entry < dcm.nodes_size(); ++entry)
      credits +=
          std::uint64_t{dcm.nodes(entry).count()} * node_farms_.of(Role::dcm, entry).farm.dcm().credits();
    return credits;
  }

  void check_supervisor() {
    const v1::SupervisorSettings& supervisor = farm_.supervisor();
    if (const std::uint64_t credits = all_credits(); supervisor.in_flight_max() < credits) {
      warn("supervisor.in_flight_max", std::to_string(supervisor.in_flight_max()) + " is below the DCMs' " +
                                           std::to_string(credits) + " credits: some of them are never used");
    }
    if (supervisor.in_flight_max() > farm_.readout().buffer_slices()) {
      warn("supervisor.in_flight_max",
           std::to_string(supervisor.in_flight_max()) + " is above readout.buffer_slices, " +
               std::to_string(farm_.readout().buffer_slices()) + ": the readouts are the limit");
    }
    if (supervisor.lease_ms() <= farm_.filter().step_deadline_ms()) {
      warn("supervisor.lease_ms",
           std::to_string(supervisor.lease_ms()) + " is not above filter.step_deadline_ms, " +
               std::to_string(farm_.filter().step_deadline_ms()) +
               ": a step that the filter takes long for is ended before it counts as stalled");
    }
    for_kinds(Role::dcm, farm_.dcm().nodes_size(), [&] { check_worker_lease(); });
  }

  // A slice that ends its worker is tried once more in another one.
  void check_worker_lease() {
    const v1::FilterSettings& filter = here().filter();
    if (filter.isolation() != v1::FilterSettings::ISOLATION_WORKER) return;
    const std::uint64_t two_tries =
        2 * (std::uint64_t{filter.timeout_ms()} + filter.workers().start_timeout_ms());
    if (two_tries < farm_.supervisor().lease_ms()) return;
    inconsistent("filter.timeout_ms", "2 x (filter.timeout_ms + filter.workers.start_timeout_ms) is " +
                                          std::to_string(two_tries) + ", not below supervisor.lease_ms, " +
                                          std::to_string(farm_.supervisor().lease_ms()) +
                                          ": the slice would be taken away before its second try");
  }

  [[nodiscard]] bool is_push() const { return farm_.run().mode() == v1::RunSettings::MODE_PUSH; }

  void check_overrun() {
    using Readout = v1::ReadoutSettings;
    using Trigger = v1::TriggerSettings;
    const Readout& readout = farm_.readout();
    if (!is_push()) return;
    require_ascending_triggers("run.mode 'push' needs ascending numbers: they say which DCM gets a slice");
    const bool cuts = readout.on_overrun() == Readout::ON_OVERRUN_TRUNCATE ||
                      readout.on_overrun() == Readout::ON_OVERRUN_DROP;
    if (cuts && readout.overrun_bytes() == 0) {
      error(ProblemKind::missing_key, "readout.overrun_bytes",
            "needed by readout.on_overrun 'truncate' and 'drop'");
    }
    const bool barrel = readout.shaper() == Readout::SHAPER_BARREL;
    if (readout.cut_off_bytes() > 0 && !barrel) {
      inconsistent("readout.cut_off_bytes",
                   "needs readout.shaper 'barrel': to know the end of a burst, slices have to be held back");
    }
    const auto mode = farm_.trigger().mode();
    const bool knows_slot =
        mode == Trigger::MODE_CLOCK || mode == Trigger::MODE_RATE || mode == Trigger::MODE_POISSON;
    if (barrel && !knows_slot && readout.slot_ms() == 0) {
      error(ProblemKind::missing_key, "readout.slot_ms",
            "needed by readout.shaper 'barrel' where trigger.mode is not 'clock', 'rate' or 'poisson'");
    }
  }

  // Checks that delays and waiting times fit the number of DCMs.
  void check_push(const FarmPlan& plan) {
    if (!is_push()) return;
    if (!farm_.filter().first_sources().empty())
      warn("filter.first_sources", "has no effect with run.mode 'push': slices come whole");
    if (farm_.readout().shaper() != v1::ReadoutSettings::SHAPER_BARREL) return;
    const std::size_t readouts = plan.of_role(Role::readout).size();
    const std::size_t dcms = std::max<std::size_t>(1, plan.of_role(Role::dcm).size());
    const std::size_t group = farm_.readout().barrel_group();
    const std::size_t delays = (readouts + group - 1) / group;
    if (delays > dcms) {
      warn("readout.barrel_group", std::to_string(group) + " makes " + std::to_string(delays) +
                                       " delays, more than there are DCMs, " + std::to_string(dcms) +
                                       ": readouts of two delays send to one DCM at a time; " +
                                       std::to_string((readouts + dcms - 1) / dcms) +
                                       " is the least that fits");
    }
    const std::size_t held_back = farm_.readout().cut_off_bytes() > 0 ? farm_.readout().cut_off_slices() : 0;
    // Slices from the first word of one to its last, plus the one that has just begun.
    const std::size_t active = (delays + held_back + dcms) / dcms + 1;
    if (farm_.dcm().push_active_slices() < active) {
      warn("dcm.push_active_slices", std::to_string(farm_.dcm().push_active_slices()) + " is below the " +
                                         std::to_string(active) +
                                         " slices that the delays keep under way: slices are pushed out");
    }
  }

  void check_known(const std::set<SourceId>& known,
                   const google::protobuf::RepeatedField<std::uint32_t>& sources, const std::string& key) {
    std::set<std::uint32_t> seen;
    for (int i = 0; i < sources.size(); ++i) {
      const std::string entry = key + "[" + std::to_string(i) + "]";
      const std::string number = std::to_string(sources[i]);
      if (known.count(SourceId(sources[i])) == 0) inconsistent(entry, "unknown source " + number);
      if (!seen.insert(sources[i]).second) warn(entry, "source " + number + " is listed twice");
    }
  }

  void check_source_groups(const FarmPlan& plan) {
    const auto add = [this](const Problems& found) {
      problems_.insert(problems_.end(), found.begin(), found.end());
    };
    if (const auto groups = source_groups(farm_, plan, locations_); !groups) add(groups.error());
    for_kinds(Role::dcm, farm_.dcm().nodes_size(), [&] {
      for (const Problem& problem : check_group_names(here())) error(problem.kind, problem.key, problem.what);
    });
    if (!is_push()) return;
    if (farm_.filter().first_groups_size() > 0)
      warn("filter.first_groups", "has no effect with run.mode 'push': slices come whole");
    if (farm_.filter().steps_size() > 0)
      warn("filter.steps", "has no effect with run.mode 'push': slices come whole");
  }

  // The processes read the farm as the run records it: one file, with its includes and all defaults.
  void check_length() {
    const std::size_t bytes = to_yaml(farm_).size();
    if (bytes <= kFarmFileBytesMax) return;
    error(ProblemKind::out_of_range, "farm",
          "the farm is " + std::to_string(bytes) + " bytes long with its included files, and above " +
              std::to_string(kFarmFileBytesMax) +
              ": give readouts a count and sources_per_readout instead of lists of sources");
  }

  void check_sources(const FarmPlan& plan) {
    const std::set<SourceId> known(plan.sources.begin(), plan.sources.end());
    check_known(known, farm_.readout().masked(), "readout.masked");
    for_kinds(Role::dcm, farm_.dcm().nodes_size(),
              [&] { check_known(known, here().filter().first_sources(), "filter.first_sources"); });
    for (int i = 0; i < farm_.trigger().types_size(); ++i) {
      check_known(known, farm_.trigger().types(i).sources(),
                  "trigger.types[" + std::to_string(i) + "].sources");
    }
    for (const NodeFarms::Kind& readouts : node_farms_.kinds(plan, Role::readout)) {
      look_at(readouts.shared, [&] {
        const v1::SourceSettings& source = here().source();
        for (int i = 0; i < source.sizes_size(); ++i)
          check_known(known, source.sizes(i).sources(), list_entry("source.sizes", i) + ".sources");
        for (int i = 0; i < source.faults_size(); ++i)
          check_known(known, source.faults(i).sources(), list_entry("source.faults", i) + ".sources");
      });
    }
    if (!plan.sources.empty() && plan.masked.size() >= plan.sources.size()) {
      inconsistent("readout.masked", "every source is masked: there is nothing to build");
    }
  }

  // Checks each kind of readout; returns the sizes of all sources together.
  ExpectedSizes check_readouts(const FarmPlan& plan, const ReplayReader& replay) {
    ExpectedSizes all;
    for (const NodeFarms::Kind& readouts : node_farms_.kinds(plan, Role::readout)) {
      look_at(readouts.shared, [&] {
        const ReplayContents recorded = recorded_by(replay);
        check_listed_sources(readouts, recorded);
        const ExpectedSizes part = expected_sizes(readouts, plan, recorded);
        check_readout_memory(readouts, part);
        all.fragment_max = std::max(all.fragment_max, part.fragment_max);
        all.slice += part.slice;
        all.placed += part.placed;
      });
    }
    return all;
  }

  ReplayContents recorded_by(const ReplayReader& replay) {
    if (here().source().kind() != v1::SourceSettings::KIND_REPLAY || !replay) return {};
    auto contents = replay(here().replay().path());
    if (contents) return std::move(*contents);
    error(ProblemKind::unreadable, "replay.path", contents.error());
    return {};
  }

  // Sources that are listed entry by entry have to exist in the detector or in the recorded data.
  void check_listed_sources(const NodeFarms::Kind& readouts, const ReplayContents& recorded) {
    using Source = v1::SourceSettings;
    const int entry = readouts.nodes.front()->entry;
    const bool replay = here().source().kind() == Source::KIND_REPLAY;
    if (entry == kNoEntry || (here().source().kind() != Source::KIND_HITS && !replay)) return;
    const std::set<SourceId> have(recorded.sources.begin(), recorded.sources.end());
    const v1::HitsSettings& hits = here().hits();
    const std::uint64_t modules =
        std::uint64_t{hits.strings()} * hits.floors_per_string() * hits.modules_per_floor();
    const std::uint64_t first = here().readout().first_source();
    const auto& sources = farm_.readout().nodes(entry).sources();
    for (int i = 0; i < sources.size(); ++i) {
      const bool there = replay ? have.count(SourceId(sources[i])) != 0
                                : sources[i] >= first && sources[i] - first < modules;
      if (there) continue;
      inconsistent(list_entry(list_entry("readout.nodes", entry) + ".sources", i),
                   replay
                       ? in_quotes(here().replay().path()) + " holds no source " + std::to_string(sources[i])
                       : "the detector has no source " + std::to_string(sources[i]) + ", only " +
                             std::to_string(first) + " to " + std::to_string(first + modules - 1));
    }
  }

  void check_readout_memory(const NodeFarms::Kind& readouts, const ExpectedSizes& sizes) {
    std::size_t sources_max = 0;
    for (const NodePlan* node : readouts.nodes) sources_max = std::max(sources_max, node->sources.size());
    check_slice_memory("readout.buffer_bytes", here().readout().buffer_bytes(), sizes.fragment * sources_max,
                       farm_.supervisor().in_flight_max(), "supervisor.in_flight_max");
  }

  void check_dcms(const FarmPlan& plan, const ExpectedSizes& sizes) {
    for (const NodeFarms::Kind& dcms : node_farms_.kinds(plan, Role::dcm))
      look_at(dcms.shared, [&] { check_dcm(sizes); });
    if (sizes.slice > wire::kRecordBytesMax) {
      inconsistent("readout", "one slice of about " + print_size(sizes.slice) +
                                  " is above the longest that is stored, " +
                                  print_size(wire::kRecordBytesMax));
    }
  }

  void check_dcm(const ExpectedSizes& sizes) {
    const v1::DcmSettings& dcm = here().dcm();
    if (sizes.fragment_max > dcm.fragment_bytes_max()) {
      inconsistent("dcm.fragment_bytes_max", print_size(dcm.fragment_bytes_max()) +
                                                 " is below the largest fragment, " +
                                                 print_size(sizes.fragment_max));
    }
    const bool window = dcm.shaper() == v1::DcmSettings::SHAPER_BYTE_CREDITS ||
                        dcm.shaper() == v1::DcmSettings::SHAPER_DIATCP;
    if (window && dcm.range_bytes() > dcm.window_bytes()) {
      warn("dcm.window_bytes", print_size(dcm.window_bytes()) + " is below one request of " +
                                   print_size(dcm.range_bytes()) +
                                   ": set a smaller dcm.range_bytes, or requests go one by one");
    }
    check_unused("dcm.window_bytes", dcm.has_window_bytes(), "byte-credits");
    check_unused("dcm.window_fragments", dcm.has_window_fragments(), "fragment-credits");
    check_unused("dcm.pace_bytes_per_s", dcm.has_pace_bytes_per_s(), "paced");
    check_dcm_memory(dcm, sizes);
  }

  void check_dcm_memory(const v1::DcmSettings& dcm, const ExpectedSizes& sizes) {
    const std::uint64_t bytes = dcm.buffer_bytes();
    const std::uint64_t block = BufferPool::block_bytes(sizes.placed);
    const std::uint64_t count = block == 0 ? dcm.credits() : dcm_buffer_planned(bytes) / block;
    if (bytes < dcm_buffer_min(sizes)) {
      inconsistent("dcm.buffer_bytes", print_size(bytes) + " is below " + print_size(dcm_buffer_min(sizes)) +
                                           ": one slice of about " + print_size(sizes.slice) +
                                           " and the gaps between its fragments");
    } else if (count < dcm.credits()) {
      warn("dcm.buffer_bytes",
           print_size(bytes) + " holds about " + std::to_string(std::max<std::uint64_t>(1, count)) +
               " slices in blocks of " + print_size(block) + ", and dcm.credits allows for " +
               std::to_string(dcm.credits()) + ": memory is the limit");
    }
  }

  // Warns of a setting for a shaper that is not selected.
  void check_unused(const std::string& key, bool given, const std::string& shaper) {
    if (given && !here().dcm().has_shaper())
      warn(key, "has no effect with dcm.shaper 'adaptive', the default: set dcm.shaper to '" + shaper + "'");
  }

  void check_writers(const FarmPlan& plan, const ExpectedSizes& sizes) {
    for (const NodeFarms::Kind& writers : node_farms_.kinds(plan, Role::writer)) {
      look_at(writers.shared, [&] {
        if (here().writer().buffer_bytes() >= sizes.slice) return;
        warn("writer.buffer_bytes", print_size(here().writer().buffer_bytes()) +
                                        " is below one slice of about " + print_size(sizes.slice) +
                                        ": a writer takes one at a time, and needs the memory for it");
      });
    }
  }

  // Checks that `bytes` holds one slice (an error if not) and `count` slices (a warning if not).
  void check_slice_memory(const std::string& key, std::uint64_t bytes, std::uint64_t slice,
                          std::uint64_t count, const std::string& count_key) {
    if (bytes < slice) {
      inconsistent(key, print_size(bytes) + " is below one slice of about " + print_size(slice));
    } else if (slice > 0 && bytes / slice < count) {
      warn(key, print_size(bytes) + " holds about " + std::to_string(bytes / slice) + " slices of " +
                    print_size(slice) + ", and " + count_key + " allows for " + std::to_string(count) +
                    ": memory is the limit");
    }
  }

  const v1::Farm& farm_;
  const Locations& locations_;
  const NodeFarms node_farms_;
  const NodeFarm* kind_ = nullptr;  // the nodes under validation; null: settings shared by all
  Problems problems_;
};

}  // namespace

bool is_loopback(std::string_view listen) {
  const std::string_view host = listen.substr(0, listen.rfind(':'));
  return listen.empty() || host == "localhost" || host == "::1" || host == "[::1]" ||
         host.starts_with("127.");
}

Problems validate(const v1::Farm& farm, const Locations& locations, const ReplayReader& replay) {
  return Validator(farm, locations).run(replay);
}

}  // namespace weir::config
