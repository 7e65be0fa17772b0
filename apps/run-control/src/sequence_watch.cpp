#include "sequence_watch.hpp"

#include <weir/base/text.hpp>

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace weir::run_control {
namespace {

constexpr std::size_t kTextMax = 200;
constexpr std::size_t kIdMax = 32;
constexpr double kLeftMax = 1e9;  // s

std::string progress(const v1::Sequence& one) {
  return fmt::format("{} of {} runs done{}", one.good() + one.failed(), one.runs(),
                     one.failed() == 0 ? "" : fmt::format(", {} failed", one.failed()));
}

}  // namespace

std::string SequenceWatch::take(v1::Sequence told, const std::string& by, TimeNs now, UtcNs utc) {
  const bool fits = std::uint64_t{told.good()} + told.failed() <= told.runs();
  if (told.id().empty() || told.id().size() > kIdMax || !fits || !std::isfinite(told.left_s()) ||
      told.left_s() < 0 || told.left_s() > kLeftMax)
    return "a sequence needs an id, and numbers that fit each other";
  if (is_alive(now) && last_->id() != told.id())
    return fmt::format("{} by {} is in progress, {}: end it first", last_->name(), last_->by(),
                       progress(*last_));
  for (std::string* text :
       {told.mutable_id(), told.mutable_name(), told.mutable_point(), told.mutable_waits_for()})
    *text = clean_text(*text, kTextMax);
  told.set_by(clean_text(by, kTextMax));
  told.set_utc_ns(utc);
  last_ = std::move(told);
  at_ = now;
  return {};
}

std::optional<control::Finding> SequenceWatch::finding(TimeNs now) const {
  if (!last_ || last_->over() || now - at_ < kSilence || now - at_ > kShown) return std::nullopt;
  return control::Finding{control::Gravity::warning, "scan silent",
                          fmt::format("{} by {} has stopped, {}: the same command continues it",
                                      last_->name(), last_->by(), progress(*last_))};
}

void SequenceWatch::add_to(v1::FarmView& view, TimeNs now) const {
  if (last_ && now - at_ <= kShown) *view.mutable_sequence() = *last_;
}

}  // namespace weir::run_control
