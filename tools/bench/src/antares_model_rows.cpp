// Tables 4.2 and 4.3 of van Rantwijk's thesis (ANTARES, 2002) as data.
#include <weir/base/time.hpp>
#include <weir/bench/antares_model.hpp>

#include <algorithm>
#include <utility>

namespace weir::bench {
namespace {

constexpr std::uint32_t kSector = 5;
constexpr std::uint32_t kTwoStrings = 60;
constexpr std::uint32_t kTenStrings = 300;
constexpr std::uint32_t kLcmsPerPc = 3;
constexpr double kBurstShare = 0.05;
constexpr std::uint32_t kBesideBursts = 25'000;  // bytes of a fragment outside of bursts
constexpr std::uint32_t kCutOffSlices = 4;
constexpr double kBitErrorRate = 1e-8;

constexpr const char* kCounted =
    "The thesis' share of retransmitted segments is a tenth of ours beside nearly the same delays. With 10 "
    "strings it "
    "cannot be a share of all segments: LCMs that begin together put 600 packets (300 with an initial window "
    "of 1) into "
    "a queue of 100 within 0.5 ms, in which the port sends 21, so that at least 180 of a slice's 6,300 "
    "segments (2.9 %) "
    "are lost and sent again. The thesis leaves open which segments it counts.";
constexpr const char* kSimultaneous =
    "Here 3 of a slice's fragments arrive whole, there 4.5: packets of all LCMs come at the same times, and "
    "the order in "
    "which simultaneous ones enter the queue decides which fragments are damaged. In the thesis' simulator "
    "it depends on "
    "how times were rounded.";
constexpr const char* kFewBursts =
    "Table 4.3 loses 22 fragments for each burst that 4.3.3 begins (0.77 % of 1.7 million, 600 bursts in a "
    "run), and in "
    "table 4.2 more than 1 % of the fragments are late; but a burst with cut-off sends 8 fragments, 0.28 % "
    "of all. With "
    "bursts of 0 to 1 s instead of 0 to 3 s, three times as many, these rows are the thesis' (\"bursts of at "
    "most 1 s\" "
    "in the tables); its rows without cut-off agree with 3 s, as table 4.1 has it.";

ModelRow row(std::string name, std::string label, std::uint32_t lcms, std::uint32_t group, ModelPaper paper) {
  ModelRow made;
  made.name = std::move(name);
  made.label = std::move(label);
  made.network.readouts = lcms;
  // A third of 5 is not whole: 2.
  made.network.dcms = (lcms + kLcmsPerPc - 1) / kLcmsPerPc;
  made.traffic.group = group;
  made.paper = std::move(paper);
  return made;
}
ModelRow tcp(const char* name, const char* label, std::uint32_t lcms, std::uint32_t group, ModelPaper paper) {
  return row(std::string("tcp-") + name, label, lcms, group, std::move(paper));
}
ModelRow udp(const char* name, const char* label, std::uint32_t lcms, std::uint32_t group, double max_s,
             double lost_percent) {
  ModelRow made = row(std::string("udp-") + name, label, lcms, group,
                      {.max_s = max_s, .lossy = lost_percent > 0, .lost_percent = lost_percent});
  made.traffic.transport = packet_model::PushTransport::udp;
  return made;
}

ModelRow with_bytes(ModelRow row, std::uint32_t bytes) {
  row.traffic.fragment_bytes = bytes;
  return row;
}
ModelRow with_bursts(ModelRow row) {
  row.traffic.fragment_bytes = kBesideBursts;
  row.traffic.bursts.share = kBurstShare;
  return row;
}
ModelRow with_cut_off(ModelRow row) {
  row = with_bursts(std::move(row));
  row.traffic.bursts.cut_off_slices = kCutOffSlices;
  row.obstacle = kFewBursts;
  return row;
}
ModelRow with_errors(ModelRow row) {
  row = with_cut_off(std::move(row));
  row.network.bit_error_rate = kBitErrorRate;
  return row;
}
ModelRow with_obstacle(ModelRow row, const std::string& obstacle) {
  row.obstacle = obstacle;
  return row;
}

// The same with bursts of at most a second.
ModelRow with_short_bursts(ModelRow row) {
  row.name += "-1s";
  row.label += ", bursts of at most 1 s";
  row.traffic.bursts.longest_ns = kSecond;
  row.obstacle.clear();
  row.judged = false;
  return row;
}

std::vector<ModelRow> tcp_rows() {
  const auto no_loss = [](double mean_s, double p99_s, double max_s) {
    return ModelPaper{.mean_s = mean_s, .p99_s = p99_s, .max_s = max_s};
  };
  const auto loss = [](double mean_s, double p99_s, double max_s, const char* text, double percent = 0) {
    return ModelPaper{mean_s, p99_s, max_s, text, true, percent};
  };
  return {
      tcp("direct-sector", "direct, sector", kSector, 0, no_loss(0.005, 0.005, 0.006)),
      with_obstacle(
          tcp("direct-2-strings", "direct, 2-string", kTwoStrings, 0, loss(0.248, 0.924, 6.021, "1.2", 1.2)),
          kCounted),
      with_obstacle(tcp("direct-10-strings", "direct, 10-string", kTenStrings, 0,
                        loss(2.597, 35.069, 49.724, "0.8", 0.8)),
                    kCounted),
      tcp("k8-sector", "sector, k = 8", kSector, 8, no_loss(0.005, 0.005, 0.006)),
      tcp("k8-2-strings", "2-string, k = 8", kTwoStrings, 8, no_loss(0.005, 0.005, 0.007)),
      tcp("k8-10-strings", "10-string, k = 8", kTenStrings, 8, no_loss(0.006, 0.007, 0.007)),
      tcp("k15", "10-string, k = 15", kTenStrings, 15, no_loss(0.008, 0.009, 0.009)),
      with_obstacle(tcp("k20", "10-string, k = 20", kTenStrings, 20, loss(0.015, 0.310, 0.319, "<< 0.1")),
                    "The thesis' \"<< 0.1\" has no number; its 1 % of fragments with a delay of a timeout is "
                    "0.05 % of the "
                    "segments if each lost one."),
      with_bursts(
          tcp("bio", "10-string, k = 8, bio", kTenStrings, 8, loss(0.292, 5.213, 23.661, "0.9", 0.9))),
      with_cut_off(tcp("cut-off", "10-string, k = 8, bio-cutoff", kTenStrings, 8,
                       loss(0.006, 0.051, 0.492, "<< 0.1"))),
      with_bytes(tcp("50k", "10-string, k = 8, 50k", kTenStrings, 8, no_loss(0.009, 0.010, 0.010)), 50'000),
      with_bytes(tcp("60k", "10-string, k = 8, 60k", kTenStrings, 8, no_loss(0.015, 0.018, 0.022)), 60'000),
      with_bytes(tcp("65k", "10-string, k = 8, 65k", kTenStrings, 8, loss(2.550, 13.614, 57.313, "~ 13", 13)),
                 65'000),
      with_obstacle(with_errors(tcp("errors", "10-string, k = 8, bio-cutoff, errors", kTenStrings, 8,
                                    loss(0.006, 0.051, 6.007, "<< 0.1"))),
                    "As for tcp-cut-off. The longest delay in the thesis looks like the first timeout, 6 s, "
                    "of a lost packet that "
                    "opened its connection. Of 40 bytes, 1e-8 damages 3 in a million: 0.1 of 30,000 "
                    "openings. With the probability "
                    "of a full frame for every packet it would be 4.")};
}

std::vector<ModelRow> udp_rows() {
  return {
      udp("direct-sector", "UDP, direct, sector", kSector, 0, 0.005, 0),
      with_obstacle(udp("direct-2-strings", "UDP, direct, 2-string", kTwoStrings, 0, 0.007, 92.51),
                    kSimultaneous),
      with_obstacle(udp("direct-10-strings", "UDP, direct, 10-string", kTenStrings, 0, 0.007, 98.50),
                    kSimultaneous),
      udp("k8-sector", "UDP, sector, k = 8", kSector, 8, 0.005, 0),
      udp("k8-2-strings", "UDP, 2-string, k = 8", kTwoStrings, 8, 0.005, 0),
      udp("k8-10-strings", "UDP, 10-string, k = 8", kTenStrings, 8, 0.005, 0),
      with_bursts(udp("bio", "UDP, 10-string, k = 8, bio", kTenStrings, 8, 0.019, 5.00)),
      with_cut_off(udp("cut-off", "UDP, 10-string, k = 8, bio-cutoff", kTenStrings, 8, 0.019, 0.77)),
      with_errors(udp("errors", "UDP, 10-string, k = 8, bio-cutoff, errors", kTenStrings, 8, 0.019, 0.98))};
}

}  // namespace

const std::vector<ModelRow>& model_rows() {
  static const std::vector<ModelRow> rows = [] {
    std::vector<ModelRow> all = tcp_rows();
    for (ModelRow& row : udp_rows()) all.push_back(std::move(row));
    for (const char* name : {"tcp-cut-off", "udp-cut-off", "udp-errors"})
      all.push_back(with_short_bursts(*std::ranges::find(all, name, &ModelRow::name)));
    return all;
  }();
  return rows;
}

const char* name_of(ModelSender sender) {
  switch (sender) {
    case ModelSender::reno:
      return "Reno";
    case ModelSender::new_reno:
      return "NewReno";
    case ModelSender::barrel:
      return "Weir's barrel, Reno";
    case ModelSender::udp:
      return "UDP";
  }
  return "";
}

}  // namespace weir::bench
