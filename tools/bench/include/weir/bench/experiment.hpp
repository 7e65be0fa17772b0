#pragma once

#include <weir/base/expected.hpp>
#include <weir/bench/conditions.hpp>
#include <weir/bench/figure.hpp>
#include <weir/bench/trace_view.hpp>

#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace weir::run_record {
struct Summary;
}

// Experiments of the papers as data: a network with its traffic, cures, the quantity that varies, and the
// paper's values. `weir bench thesis`, `weir bench antares` and `weir bench mixed` run them with whole farms
// in virtual networks. A new figure is an entry of a table.
namespace weir::bench {

enum class Tcp : std::uint8_t {
  old_tcp,  // without SACK, RACK and tail-loss probes
  new_tcp,  // the kernel's own
  thesis    // as old_tcp, with a static window that losses do not reduce, except for a cure that is Cubic
};
[[nodiscard]] const char* name_of(Tcp tcp);

enum class NetworkLayout : std::uint8_t {
  one_switch,  // readouts and DCMs, each with a host of its own, at one switch (figure 5.9)
  one_dcm,     // readouts in racks, a core switch, one DCM in a rack of its own (Jereczek 2017, figure 4.1)
  all_to_all,  // each host has a readout and DCMs (figure 4.12)
  behind_uplink,  // readouts at one switch, DCMs at another, an uplink between them (figure 4.14)
  cascade,        // readouts fill switches one by one, linked to the switch of the DCMs (mixed traffic)
  leaf_spine,     // each leaf has its part of the readouts and of the DCMs (figure 6.7a)
  planes          // two planes of leaves and spines; all DCMs are on two hosts at the last leaf
};

enum class Vary : std::uint8_t {
  nothing,
  quota,
  readouts,
  core_buffer,
  load,
  segments,
  ring,
  ring_rate,
  fragment,
  dcms
};

// Contents of lines and plots besides the table: of a network trace (use, collection, queues), the delay of
// each fragment, or the mean and longest delays as bars. `bursts`: the source's bursts, without a farm.
// `failover`: the rate over time around a cut.
enum class Show : std::uint8_t { none, use, collection, queues, delays, bars, bursts, failover };
[[nodiscard]] constexpr bool needs_trace(Show show) {
  return show == Show::use || show == Show::collection || show == Show::queues;
}

// Network and traffic. Of a paper, or scaled down for this machine.
struct ExperimentSetting {
  NetworkLayout layout = NetworkLayout::one_dcm;
  double readouts = 200;
  std::uint32_t readouts_per_rack = 10;
  std::uint32_t sources = 12;  // fragments of a readout in a slice
  std::uint32_t fragment_bytes = 1000;
  std::uint32_t dcms = 1;   // with all_to_all: of each host
  std::uint32_t units = 1;  // slices that a DCM builds at a time
  double port_mbit = 1000;  // through which a DCM, or a host with DCMs, receives
  double host_mbit = 1000;  // at which a readout's host sends
  double uplink_mbit = 10'000;
  // With leaf_spine; uplink_mbit and core_kb are those of each link between a leaf and a spine.
  std::uint32_t spines = 1;
  std::uint32_t stands_for = 1;  // DCMs of the paper for each one here
  double nic_mbit = 0;           // at which the host of a DCM takes frames from its port; 0: as they come
  // With planes: what fails in the first one. 0: all of it; else the link from this spine to the DCMs' leaf.
  std::uint32_t cut_spine = 0;
  bool cut_whole_spine = false;  // all of its links
  double cut_at_s = 0;           // after the run's begin
  double cut_for_s = 0;
  std::uint32_t cuts = 1;
  double cut_every_s = 0;  // from the begin of a cut to that of the next
  double hold_s = 0;       // between two moves of a DCM
  // Of every layout.
  double port_kb = 600;
  double core_kb = 10'000;     // of the ports between switches
  double delay_ms = 0;         // of the link of each host with a readout, in each direction
  double rto_ms = 0;           // TCP's shortest retransmission timeout; 0: the kernel's, 200 ms
  double rate_hz = 50;         // of triggers; 0: as fast as slices are built
  bool push = false;           // readouts send by themselves, a time slice for each trigger of a clock
  double load = 0;             // above 0: triggers at this share of theory
  double slow_mbit = 0;        // the port of the last DCM, with one_switch; 0: as the others
  std::uint32_t hosts = 0;     // that share the DCMs, with one_switch; 0: a host for each
  bool one_card = false;       // the DCMs' hosts share an interface card of their switch
  std::uint32_t spinners = 0;  // processes beside the farm that only compute
  // Continuous TCP flows beside the farm, from the host of a readout to the host of a DCM, by number.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> flows = {};
};

// Which numbers of a setting, of quotas and windows are multiplied by the scale.
struct Scaling {
  bool rates = true;    // and delays by its inverse
  bool buffers = true;  // and quotas and windows
  bool readouts = true;
  bool triggers = false;  // the rate of triggers as well: all times become longer
  double rings = 0;       // another factor for the packets of rings; 0: as buffers
};

// A way to avoid the collapse; plain TCP if nothing is set.
struct Cure {
  std::string label;
  std::string shaper = "none";
  std::uint32_t units = 0;     // slices that a DCM builds at a time; 0: the setting's
  bool flows = true;           // with the setting's flows; else slices as fast as they are built
  double quota = 0;            // of fragment-credits, strict
  double window_kb = 0;        // of byte-credits and diatcp
  bool cubic = false;          // plain TCP, also where the others have a static window
  std::uint32_t segments = 0;  // static congestion window
  bool kept = false;           // through losses, too (lab.static_window)
  std::uint32_t group = 0;     // of pushing readouts: at most so many send to one DCM at a time; 0: all
  bool bursts = false;         // the sources are LCMs with bioluminescence
  bool cut_off = false;        // of the bursts only the first and last slices are sent
  double bit_errors = 0;       // rate on the links of all hosts
  double pace = 0;             // of `paced`, as a share of what a port can carry
  double ring_packets = 0;     // above 0: a ring for each DCM at the ports
  double ring_mbit = 0;        // its rate; 0: the port's
  bool own_rings = false;      // DCMs of a host have a ring each instead of one together
  // Queues of software switches, as lab.port_queue; their memory is that of the rings. Empty: bridges.
  std::string software = {};
  std::string back_pressure = {};  // "pause" or "credits": of the switches
  std::uint32_t spines = 0;        // 0: the setting's
  double port_kb = 0;              // likewise
  // Rate at which the DCMs' hosts take frames, with software switches; 0: as they come. Their cards have
  // nic_kb, and drop further frames or send pauses.
  double nic_mbit = 0;
  double nic_kb = 64;
  bool nic_pauses = false;
};

// Measured quantities of a point.
enum class Quantity : std::uint8_t {
  share,      // goodput, of theory
  sustained,  // slices built, of those offered
  max_ms,
  mean_ms,  // latency: first request to last fragment
  min_ms,
  p50_ms,
  p99_ms,
  over_serialisation,  // mean latency, over the time that a slice alone takes through its port or ring
  fragment_mean_ms,    // of pushed fragments, each from its sending to its last byte
  fragment_p99_ms,
  fragment_max_ms,
  slow,  // share of slices that took 200 ms or longer
  drops,
  retransmitted,   // share of the full frames of payload that TCP sent again
  rate,            // slices built per second
  source_least,    // use of the link of the readout that sent least
  source_most,     // and of the one that sent most
  idle_gaps,       // of 175 ms or more at the DCM's port
  early_requests,  // share of the request bytes in the first quarter of a slice's collection
  queue_kb,        // the longest queue of any port
  // Around a cut (failover.hpp).
  before_cut,     // goodput, of theory
  unaffected,     // lowest rate of the DCMs that the cut does not affect, of that before
  in_cut,         // goodput once the affected DCMs have moved, of that before
  after_cut,      // once they have returned, likewise
  gap_s,          // the longest time without data of a readout
  wrong_moves,    // DCMs that moved without need, or did not move and return
  resent_before,  // segments that TCP sent again before the cut
  lost,           // fragments that are missing, and slices that were discarded
  apart_s         // the shortest time between two moves of a DCM
};

// A statement of the paper, with a criterion for all matching points; or without one, where `cannot` or
// `open` has the reason.
struct Expectation {
  std::string cure = {};  // empty: all
  Tcp tcp = Tcp::old_tcp;
  double x_from = -std::numeric_limits<double>::infinity();  // in the paper's unit
  double x_to = std::numeric_limits<double>::infinity();
  Quantity quantity = Quantity::share;
  std::string over = {};  // a cure: the quantity is divided by that of this cure at the same x
  double over_x = std::numeric_limits<double>::quiet_NaN();  // by that of the same cure at this x
  // In the paper's unit and speed: where slices come slower by the scale, times are longer by its inverse.
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  // Of bounds that are a value of the paper divided and multiplied by a factor: both, for the page. 0:
  // others.
  double paper_value = 0;
  double within = 0;
  std::string at = {};      // section, figure or table
  std::string paper = {};   // a clause, with its number and unit
  std::string cannot = {};  // a clause: why the statement cannot appear here
  std::string open = {};    // a clause: what the paper leaves open about it
};

struct ExperimentTimes {
  double settle_s = 2;
  double measure_s = 6;
};

struct Experiment {
  std::string id;  // "4.5"
  std::string title;
  ExperimentSetting setting;  // the paper's
  Scaling scaling;
  double scale = 0.1;
  ExperimentTimes times;
  std::vector<Tcp> tcps = {Tcp::old_tcp, Tcp::new_tcp};
  Vary vary = Vary::nothing;
  std::vector<double> x = {0};  // the paper's values
  Show show = Show::none;
  bool cores_limit = false;  // on purpose: full cores are no sign of other programs
  std::vector<Cure> cures = {{"TCP"}};
  std::vector<Expectation> expectations;
  std::string differs;  // why ours differ: a sentence
};

// One run of an experiment.
struct ExperimentPoint {
  Cure cure;
  Tcp tcp = Tcp::old_tcp;
  double x = 0;               // the paper's
  ExperimentSetting setting;  // scaled, with x applied
  Show show = Show::none;
  bool cores_limit = false;
  std::string farm = "experiment";  // its name
};
[[nodiscard]] std::vector<ExperimentPoint> expand(const Experiment& experiment, const std::vector<Tcp>& tcps,
                                                  double scale);
[[nodiscard]] std::string label_of(const ExperimentPoint& point);
// Returns the label of x with its unit, in the paper's and in our numbers.
[[nodiscard]] const char* name_of(Vary vary);

[[nodiscard]] std::string farm_text(const ExperimentPoint& point, const ExperimentTimes& times,
                                    double rate_hz);
[[nodiscard]] std::string lab_text(const ExperimentPoint& point);

struct ExperimentResult {
  ExperimentPoint point;
  std::uint32_t run = 1;  // of the runs of the whole figure
  Line figures;  // of the run after its settling time, in full precision; keys as in docs/benchmarks.md
};
// `push`: latencies leave out the readouts' slots, as ANTARES' delays do. Requires: after_1s.
[[nodiscard]] Line figures_of(const run_record::Summary& summary, double offered_hz, bool push);
[[nodiscard]] double value_of(Quantity quantity, const Line& figures);
// Adds quantities that follow from the figures and the point.
void add_derived(const ExperimentPoint& point, Line& figures);
// Returns whether no frame was dropped. In a lab retransmissions do not count, because TCP also retransmits
// late segments. Outside of one they are the only sign of a loss.
[[nodiscard]] bool is_loss_free(const Line& figures);

// Measured values of a statement in one run of the figure.
struct ExpectationRun {
  std::uint32_t run = 0;
  bool met = false;
  double least = 0;  // of the matching points
  double most = 0;
};
struct ExpectationVerdict {
  const Expectation* expectation = nullptr;
  double times_factor = 1;           // of bounds in ms
  std::vector<ExpectationRun> runs;  // in which a point matches
  [[nodiscard]] bool measured() const { return !runs.empty(); }
  [[nodiscard]] bool met() const;      // in each run
  [[nodiscard]] bool differs() const;  // one run meets the criterion, another does not
};
// `scale`: of the experiment's run, for bounds in ms.
[[nodiscard]] std::vector<ExpectationVerdict> verdicts_of(const Experiment& experiment,
                                                          const std::vector<ExperimentResult>& results,
                                                          double scale);

struct ExperimentOptions {
  std::string bench;  // "thesis"
  std::string figure;
  std::string tcp = "both";  // "old", "new", "thesis"; "both": the figure's
  bool loss_free = false;    // find the largest loss-free goodput (G_mlf) by bisection of the load
  std::uint32_t rounds = 2;  // runs of the whole figure
  bool spinners = false;     // one on every core beside each run
  std::string judge = {};    // file of earlier lines: a page of them, with today's criteria, and no run
  double scale = 0;          // 0: the figure's own
  double settle_s = 0;       // 0: the figure's own
  double measure_s = 0;      // likewise
  Output output;             // its name is the figure's
};

// Bisects the load for the largest one without losses. Pure: the caller measures.
class LossFreeSearch {
 public:
  explicit LossFreeSearch(double most = 1.02) : high_(most), next_(most) {}
  // Returns the load to measure next. Requires: not done().
  [[nodiscard]] double load() const { return next_; }
  // Returns true if this load is the one to report so far: the largest without losses, or the least one while
  // all had some.
  bool measured(bool loss_free);
  [[nodiscard]] bool done() const { return steps_ >= kSteps || low_ == high_; }
  [[nodiscard]] double best() const { return low_; }  // 0: every load had losses
  static constexpr int kSteps = 6;                    // the last two loads are 3 % of theory apart

 private:
  double low_ = 0;
  double high_;
  double next_;
  int steps_ = 0;
};

// Returns whether a largest load without losses can be searched for: not with pushed slices or with flows.
[[nodiscard]] bool has_loss_free_load(const Experiment& experiment);
// Returns the figure with the load that is searched for instead of loads that vary.
[[nodiscard]] Experiment loss_free_of(Experiment experiment);
// Returns the name of the figure's files: "thesis-4.13", "thesis-4.13-loss-free".
[[nodiscard]] std::string output_name(const Experiment& experiment, const ExperimentOptions& options);

// Returns the TCPs that the options or else the figure give.
[[nodiscard]] std::vector<Tcp> tcps_of(const Experiment& experiment, const ExperimentOptions& options);
// Returns the scale and the times that the options or else the figure give.
[[nodiscard]] double scale_of(const Experiment& experiment, const ExperimentOptions& options);
[[nodiscard]] ExperimentTimes times_of(const Experiment& experiment, const ExperimentOptions& options);

[[nodiscard]] Line line_of(const Experiment& experiment, const ExperimentResult& result,
                           const ExperimentOptions& options);
[[nodiscard]] std::string experiment_page(const Experiment& experiment,
                                          const std::vector<ExperimentResult>& results,
                                          const ExperimentOptions& options, const RunConditions& conditions,
                                          const std::string& left_out = {});
// Returns the results in lines of an earlier run. Errors: a message with the line at fault.
[[nodiscard]] Expected<std::vector<ExperimentResult>, std::string> results_of(const Experiment& experiment,
                                                                              const std::string& lines);

[[nodiscard]] const std::vector<Experiment>& thesis_experiments();
[[nodiscard]] const std::vector<Experiment>& antares_experiments();
[[nodiscard]] const std::vector<Experiment>& mixed_experiments();
// The figures of the RCNP emulation that need a network: event building (section VI.F).
[[nodiscard]] const std::vector<Experiment>& rcnp_experiments();

// 0: every run of the figure was measured. 1: some failed. 2: no such figure.
[[nodiscard]] int run_experiment(const std::vector<Experiment>& experiments, const ExperimentOptions& options,
                                 std::FILE* out, std::FILE* err);

}  // namespace weir::bench
