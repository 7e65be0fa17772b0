// The filter `coincidence`: README.md describes its algorithm, parameters and output.
#include "cluster_finder.hpp"
#include "window_hits.hpp"
#include <weir/emulation/detector.hpp>
#include <weir/filter.hpp>

#include <fstream>
#include <memory>
#include <span>
#include <vector>

namespace {

using coincidence::Cluster;
using coincidence::ClusterFinder;
using coincidence::FoundHit;

constexpr std::uint16_t kEventVersion = 1;
constexpr unsigned kIndexBits = 16;  // of an event's id: the cluster's number in its slice

coincidence::Geometry read_detector(weir::FilterSetup& setup) {
  weir::emulation::HitsSettings settings;
  const std::string file = setup.parameter("geometry", "");
  settings.first_source.value = setup.parameter("first_source", settings.first_source.value);
  settings.strings = setup.parameter("strings", settings.strings);
  settings.floors_per_string = setup.parameter("floors_per_string", settings.floors_per_string);
  settings.modules_per_floor = setup.parameter("modules_per_floor", settings.modules_per_floor);
  settings.floor_spacing_m = setup.parameter("floor_spacing_m", settings.floor_spacing_m);
  settings.string_spacing_m = setup.parameter("string_spacing_m", settings.string_spacing_m);
  settings.module_radius_m = setup.parameter("module_radius_m", settings.module_radius_m);
  if (file.empty()) {
    const std::string wrong = weir::emulation::Detector::check(settings);
    if (!wrong.empty()) throw std::invalid_argument(wrong);
    return coincidence::geometry_of(weir::emulation::Detector(settings));
  }
  std::ifstream in(file);
  if (!in) throw std::invalid_argument("parameter 'geometry': '" + file + "' cannot be read");
  return coincidence::read_geometry(in, file);
}

coincidence::FinderSettings read_finder(weir::FilterSetup& setup) {
  constexpr double kLongestNs = 1e6;
  coincidence::FinderSettings settings;
  settings.pair_window_ns = setup.parameter("pair_window_ns", settings.pair_window_ns, 0.0, kLongestNs);
  settings.extra_window_ns = setup.parameter("extra_window_ns", settings.extra_window_ns, 0.0, kLongestNs);
  settings.minimum = setup.parameter("minimum", settings.minimum);
  settings.background_hz = setup.parameter("background_hz", settings.background_hz, 0.0, 1e9);
  settings.search =
      static_cast<coincidence::Search>(setup.choice("search", {"vector", "scalar", "reference"}));
  return settings;
}

class Coincidence : public weir::Filter {
 public:
  explicit Coincidence(weir::FilterSetup& setup)
      : Filter(setup),
        keep_raw_(setup.choice("keep", {"none", "raw"}) == 1),
        finder_(read_detector(setup), read_finder(setup)),
        hits_(counter("coincidence_hits")),
        level1_(counter("coincidence_level1")),
        clusters_(counter("coincidence_clusters")),
        malformed_(counter("coincidence_malformed_fragments")),
        cluster_floors_(histogram("coincidence_cluster_floors")),
        hits_per_slice_(book_histogram("hits per slice", 100, 0, 20'000)),
        floors_per_cluster_(book_histogram("floors per cluster", 40, 0, 40)),
        cluster_shape_(
            book_histogram("floors and hits of clusters", weir::Axis{40, 0, 40}, weir::Axis{50, 0, 250})) {}

  weir::Decision process(const weir::Slice& slice) override {
    finder_.clear();
    window_.clear();
    for (const weir::Fragment fragment : slice) {
      finder_.add(fragment.source(), window_.of(fragment.bytes()));
    }
    const std::span<const Cluster> clusters = own_clusters();
    malformed_.add(finder_.malformed_count());
    hits_.add(finder_.hit_count());
    hits_per_slice_.fill(static_cast<double>(finder_.hit_count()));
    level1_.add(finder_.level1_count());
    if (clusters.empty()) return reject();

    clusters_.add(clusters.size());
    for (std::size_t i = 0; i < clusters.size(); ++i) write_event(slice, clusters[i], i);
    return keep_raw_ ? accept() : accept().keep_no_raw_data();
  }

 private:
  // Returns the clusters that begin in the slice itself: one in an overlap belongs to one of two slices.
  std::span<const Cluster> own_clusters() {
    const std::span<const Cluster> found = finder_.find();
    own_.clear();
    for (const Cluster& cluster : found) {
      if (window_.begins_here(finder_.hits()[cluster.first_hit].time_ns)) own_.push_back(cluster);
    }
    return own_;
  }

  void write_event(const weir::Slice& slice, const Cluster& cluster, std::size_t index) {
    const std::span<const FoundHit> hits = finder_.hits().subspan(cluster.first_hit, cluster.hit_count);
    event_.clear();
    event_.put(kEventVersion).put(static_cast<std::uint16_t>(cluster.floors)).put(cluster.hit_count);
    event_.put(static_cast<std::uint64_t>(slice.trigger_time_utc_ns() - window_.begin_ns()));
    for (const FoundHit& hit : hits) {
      event_.put(hit.source).put(hit.time_ns).put(hit.channel).put(hit.tot_ns).put(std::uint16_t{0});
    }
    add_event(slice.id() << kIndexBits | index, event_.bytes());
    cluster_floors_.record(cluster.floors);
    floors_per_cluster_.fill(cluster.floors);
    cluster_shape_.fill(cluster.floors, cluster.hit_count);
  }

  bool keep_raw_;
  ClusterFinder finder_;
  coincidence::WindowHits window_;
  std::vector<Cluster> own_;
  weir::Counter hits_;
  weir::Counter level1_;
  weir::Counter clusters_;
  weir::Counter malformed_;
  weir::Histogram cluster_floors_;
  weir::Histogram1D hits_per_slice_;
  weir::Histogram1D floors_per_cluster_;
  weir::Histogram2D cluster_shape_;
  weir::ByteWriter event_;
};

}  // namespace

WEIR_FILTER_PLUGIN(Coincidence, "coincidence", "1.0", "finds muon tracks: causally connected pairs of hits")
