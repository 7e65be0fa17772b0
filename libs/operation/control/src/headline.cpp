#include <weir/control/headline.hpp>

#include <algorithm>

namespace weir::control {
namespace {

bool holds(const std::vector<Finding>& findings, const Finding& one) {
  return std::any_of(findings.begin(), findings.end(),
                     [&](const Finding& other) { return other.word == one.word; });
}

}  // namespace

void Headline::look(const std::vector<Finding>& findings, TimeNs now) {
  const Finding& first = findings.front();
  if (kept_ && first.word == kept_->finding.word) {
    kept_->finding = first;
    return;
  }
  const bool graver = !kept_ || first.gravity > kept_->finding.gravity;
  if (!graver && !holds(findings, kept_->finding) && now - kept_->since < kStays) return;
  if (first.gravity < Gravity::warning) return kept_.reset();
  kept_ = Kept{first, now};
}

std::vector<Finding> Headline::keep(std::vector<Finding> findings, TimeNs now) const {
  if (!kept_ || now - kept_->since >= kStays || holds(findings, kept_->finding)) return findings;
  if (findings.front().gravity > kept_->finding.gravity) return findings;
  if (findings.front().gravity == Gravity::good) findings.clear();
  findings.insert(findings.begin(), kept_->finding);
  return findings;
}

}  // namespace weir::control
