// Figures of a network trace: link use, idle gaps, queues, and the collection of a slice. Pure.
#include <weir/bench/trace_view.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>

namespace weir::bench {
namespace {

constexpr double kUsPerSecond = 1e6;
constexpr double kUsPerMilli = 1e3;
constexpr double kBytesPerKilo = 1e3;
constexpr double kBits = 8;
constexpr double kBinUs = 10'000;
// The rest of the slice, up to 20 ms long, arrives while TCP's timeout of 200 ms runs; samples are 1 ms
// apart.
constexpr double kGapUs = 175'000;
constexpr double kIdleUse = 0.03;  // heartbeats and acknowledgements stay below
constexpr double kPauseUs = 900;   // an idle time that separates two slices
constexpr double kEarlyPart = 0.25;
constexpr std::size_t kQueuesMax = 3;
constexpr double kQueueShown = 0.1;  // of the longest; shorter ones are left out

// From the first sample to the last one, both included.
struct Collection {
  std::size_t first = 0;
  std::size_t last = 0;
  double us = 0;
  double bytes = 0;
};

class Reader {
 public:
  Reader(const lab::NetworkTrace& trace, std::size_t port, std::size_t requester, double settle_s)
      : trace_(trace),
        port_(port),
        requester_(requester),
        bytes_per_us_(static_cast<double>(trace.ports()[port].rate_bits_per_s) / kBits / kUsPerSecond) {
    while (from_ < trace.size() && at(from_) < settle_s * kUsPerSecond) ++from_;
    from_ = std::max<std::size_t>(from_, 1);  // the first one has no interval
  }

  [[nodiscard]] Series use() const {
    std::map<std::uint64_t, double> bins;
    for (std::size_t i = from_; i < trace_.size(); ++i)
      bins[static_cast<std::uint64_t>(at(i) / kBinUs)] += sent(i);
    Series series;
    if (bins.empty()) return series;
    for (std::uint64_t bin = bins.begin()->first; bin <= bins.rbegin()->first; ++bin) {
      const auto found = bins.find(bin);
      const double bytes = found == bins.end() ? 0 : found->second;
      series.emplace_back(static_cast<double>(bin) * kBinUs / kUsPerSecond, bytes / (bytes_per_us_ * kBinUs));
    }
    return series;
  }

  [[nodiscard]] double idle_gaps() const {
    double gaps = 0;
    double idle_us = 0;
    for (std::size_t i = from_; i < trace_.size(); ++i) {
      const double before = idle_us;
      idle_us = idle(i) ? idle_us + interval(i) : 0;
      if (before < kGapUs && idle_us >= kGapUs) ++gaps;
    }
    return gaps;
  }

  [[nodiscard]] std::optional<Collection> median(double slice_bytes) const {
    std::vector<Collection> all = collections();
    std::erase_if(
        all, [&](const Collection& one) { return one.bytes < slice_bytes || one.bytes >= 2 * slice_bytes; });
    if (all.empty()) return std::nullopt;
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::ranges::nth_element(all, middle, {}, &Collection::us);
    return *middle;
  }

  void fill(const Collection& one, TraceView& view) const {
    const double begin_us = at(one.first - 1);
    double requests = 0;
    double responses = 0;
    double early = 0;
    for (std::size_t i = one.first; i <= one.last; ++i) {
      const double ms = (at(i) - begin_us) / kUsPerMilli;
      requests += request(i);
      responses += sent(i);
      if (at(i - 1) - begin_us <= kEarlyPart * one.us) early = requests;  // sent after the previous sample
      view.requests.emplace_back(ms, requests / kBytesPerKilo);
      view.responses.emplace_back(ms, responses / kBytesPerKilo);
    }
    view.collection_ms = one.us / kUsPerMilli;
    view.early_requests = requests > 0 ? early / requests : 0;
  }

  // Over the collection, or without one over all samples.
  [[nodiscard]] std::vector<TraceView::Queue> queues(const std::optional<Collection>& one) const {
    const std::size_t first = one ? one->first : from_;
    const std::size_t end = one ? one->last + 1 : trace_.size();
    std::vector<TraceView::Queue> queues;
    for (std::size_t port = 0; port < trace_.ports().size(); ++port) {
      TraceView::Queue& queue = queues.emplace_back();
      queue.port = trace_.ports()[port].name;
      for (std::size_t i = from_; i < trace_.size(); ++i)
        queue.most_kb = std::max(queue.most_kb, trace_.sample(i).queue_bytes[port] / kBytesPerKilo);
      for (std::size_t i = first; i < end; ++i)
        queue.kb.emplace_back((at(i) - at(first - 1)) / kUsPerMilli,
                              trace_.sample(i).queue_bytes[port] / kBytesPerKilo);
    }
    std::ranges::stable_sort(queues, std::greater<>(), &TraceView::Queue::most_kb);
    const double least = queues.empty() ? 0 : kQueueShown * queues.front().most_kb;
    std::erase_if(queues, [&](const TraceView::Queue& queue) { return queue.most_kb <= least; });
    if (queues.size() > kQueuesMax) queues.resize(kQueuesMax);
    return queues;
  }

 private:
  [[nodiscard]] double at(std::size_t i) const { return trace_.sample(i).at_us; }
  [[nodiscard]] double interval(std::size_t i) const { return at(i) - at(i - 1); }
  [[nodiscard]] double sent(std::size_t i) const { return trace_.sample(i).sent_bytes[port_]; }
  [[nodiscard]] double request(std::size_t i) const { return trace_.sample(i).request_bytes[requester_]; }
  [[nodiscard]] bool idle(std::size_t i) const {
    return sent(i) <= kIdleUse * bytes_per_us_ * std::max(interval(i), kUsPerMilli);
  }

  // A collection begins with requests after a pause, and ends with the last busy sample before the next
  // pause.
  [[nodiscard]] std::vector<Collection> collections() const {
    std::vector<Collection> all;
    std::optional<Collection> now;
    double idle_us = 0;
    for (std::size_t i = from_; i < trace_.size(); ++i) {
      if (idle(i) && request(i) == 0) {
        idle_us += interval(i);
        if (now && idle_us >= kPauseUs) {
          all.push_back(*now);
          now.reset();
        }
        continue;
      }
      if (!now && idle_us >= kPauseUs && request(i) > 0) now = Collection{i, i, 0, 0};
      idle_us = 0;
      if (!now) continue;
      if (!idle(i)) now->last = i;
      now->us = at(now->last) - at(now->first - 1);
      now->bytes += sent(i);
    }
    return all;
  }

  const lab::NetworkTrace& trace_;
  std::size_t port_;
  std::size_t requester_;
  double bytes_per_us_;
  std::size_t from_ = 0;
};

}  // namespace

TraceView view_of(const lab::NetworkTrace& trace, const std::string& host, double settle_s,
                  double slice_bytes) {
  TraceView view;
  const auto port = std::ranges::find_if(trace.ports(), [&](const lab::NetworkTrace::TracedPort& one) {
    return one.name.ends_with(">" + host);
  });
  const auto requester = std::ranges::find(trace.requesters(), host);
  if (port == trace.ports().end() || requester == trace.requesters().end()) return view;
  const Reader reader(trace, static_cast<std::size_t>(port - trace.ports().begin()),
                      static_cast<std::size_t>(requester - trace.requesters().begin()), settle_s);
  view.use = reader.use();
  view.idle_gaps = reader.idle_gaps();
  const auto collection = reader.median(slice_bytes);
  if (collection) reader.fill(*collection, view);
  view.queues = reader.queues(collection);
  for (const TraceView::Queue& queue : view.queues)
    view.most_queue_kb = std::max(view.most_queue_kb, queue.most_kb);
  return view;
}

}  // namespace weir::bench
