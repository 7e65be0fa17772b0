#pragma once

#include <weir/base/expected.hpp>
#include <weir/histograms/contents.hpp>
#include <weir/v1/control.pb.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

// Histograms of filters in reports, accounts and documents.
namespace weir::reports {

using FilterHistogramList = google::protobuf::RepeatedPtrField<v1::FilterHistogram>;

constexpr std::size_t kHistogramBytesPerReport = std::size_t{64} << 10;

void put(const histograms::Booking& booking, std::span<const double> cells, v1::FilterHistogram& out);
// Checks a histogram from outside. Errors: a sentence.
[[nodiscard]] Expected<histograms::Booking, std::string> booking_of(const v1::FilterHistogram& from);

// Reports contents in turn: changed histograms only, and about `kHistogramBytesPerReport` at once.
class HistogramReporter {
 public:
  // `all`: every histogram, changed or not.
  void add_to(v1::Report& report, histograms::Contents& contents, bool all);

 private:
  std::uint32_t next_ = 0;
};

// The last contents of each histogram of a run, as the supervisor reports them.
class RunHistograms {
 public:
  // Forgets the contents of another run. Damaged histograms, and more than `kNamesMax`, are left out.
  void take(std::uint32_t run, const FilterHistogramList& list);
  [[nodiscard]] std::string document() const;
  [[nodiscard]] std::uint64_t version() const { return version_; }  // grows with each change

  static constexpr std::size_t kNamesMax = 1024;

 private:
  std::uint32_t run_ = 0;
  std::uint64_t version_ = 0;
  std::map<std::string, v1::FilterHistogram> by_name_;
};

// Returns the JSON document of a run's histograms: {"run", "incomplete", "histograms"}, a line per histogram.
[[nodiscard]] std::string histograms_document(std::uint32_t run, const FilterHistogramList& list);

}  // namespace weir::reports
