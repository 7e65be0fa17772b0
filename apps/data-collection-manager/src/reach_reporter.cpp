#include "reach_reporter.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace weir::dcm {
namespace {

bool same(const google::protobuf::RepeatedField<std::uint32_t>& said,
          const google::protobuf::RepeatedField<std::uint32_t>& told) {
  return std::equal(said.begin(), said.end(), told.begin(), told.end());
}

}  // namespace

void ReachReporter::met(TimeNs now_ns) {
  since_ns_ = now_ns;
  has_told_ = false;
}

bool ReachReporter::is_news(const v1::Reach& reach, TimeNs now_ns) {
  if (!has_told_ && reach.readouts_size() > 0 && now_ns - since_ns_ < patience_ns_) return false;
  if (has_told_ && same(reach.readouts(), told_.readouts()) && same(reach.writers(), told_.writers()))
    return false;
  has_told_ = true;
  told_ = reach;
  return true;
}

void ReachReporter::judge(bool cut_off) {
  if (cut_off != cut_off_) {
    spdlog::log(cut_off ? spdlog::level::warn : spdlog::level::info,
                cut_off ? "cut off from readouts that other DCMs reach: returns slices that it cannot build"
                        : "again reaches all readouts that other DCMs reach");
  }
  cut_off_ = cut_off;
}

}  // namespace weir::dcm
