// A DCM with a supervisor's rule of blame, from process to process: filters that end or hang it at random.
#include "isolation.hpp"
#include "weir_catch.hpp"
#include <weir/assignment/blame.hpp>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <vector>

using namespace weir;
using namespace weir::dcm;
using assignment::Blame;
using assignment::SliceState;
using slice_rows::Lease;

namespace {

constexpr DurationNs kLease = 300;  // in ticks
constexpr std::size_t kCredits = 64;
const assignment::BlameRule kBlame(2, 16);  // as in the supervisor

enum class Does : std::uint8_t { returns, kills };

struct Slice {
  explicit Slice(std::uint64_t id) : built(static_cast<std::uint32_t>(id)) { entry.slice = SliceId(id); }
  [[nodiscard]] Lease lease() const { return {entry.slice, entry.attempt}; }
  [[nodiscard]] bool undecided() const { return !decided && !discarded && !kBlame.unfiltered(entry); }

  Does does = Does::returns;
  DurationNs after = 1;  // in the filter
  assembly::BuiltSlice built;
  assignment::SliceEntry entry;
  bool assigned = false;
  bool taken_away = false;  // its lease ran out while it was in the filter, where it still is
  bool decided = false;
  bool discarded = false;
};

class Farm {
 public:
  Farm(std::uint64_t seed, std::size_t units) : random_(seed), units_(units) {
    for (std::uint64_t id = 0; id < 300; ++id) {
      auto slice = std::make_unique<Slice>(id);
      const std::uint64_t kind = random_() % 30;
      if (kind == 0) slice->does = Does::kills;
      const bool takes_long = kind == 1 || (kind == 0 && random_() % 2 == 0);
      slice->after = takes_long ? static_cast<DurationNs>(random_() % (2 * kLease)) : 1;
      slices_.push_back(std::move(slice));
    }
  }

  // Returns false if slices are left undecided.
  bool run() {
    while (deaths < 1000 && any_undecided()) live();
    return !any_undecided();
  }
  [[nodiscard]] const std::vector<std::unique_ptr<Slice>>& slices() const { return slices_; }

  int deaths = 0;

 private:
  struct Job {
    Slice* slice;
    TimeNs end;
  };

  [[nodiscard]] bool any_undecided() const {
    return std::any_of(slices_.begin(), slices_.end(), [](const auto& slice) { return slice->undecided(); });
  }
  [[nodiscard]] std::size_t in_flight() const { return running_.size() + queued_.size(); }

  // A process of the DCM, until it dies or nothing is left.
  void live() {
    isolation_.emplace(kLease / 4, units_);
    note_ = {};
    running_.clear();
    queued_.clear();
    ordinary_.clear();
    suspects_.clear();
    for (auto& slice : slices_) slice->assigned = slice->taken_away = false;
    const TimeNs until = now_ + 100'000;
    for (; now_ < until && any_undecided(); ++now_) {
      if (answer_due_) isolation_->answered(serial_);
      answer_due_ = false;
      assign();
      if (finish_jobs()) return die();
      take_away();
      isolate();
      if (isolation_->is_open()) {
        queued_.insert(queued_.end(), ordinary_.begin(), ordinary_.end());
        ordinary_.clear();
      }
      start_jobs();
    }
    REQUIRE(now_ < until);
  }

  void assign() {
    std::size_t credits = kCredits;
    for (auto& slice : slices_) {
      if (credits == 0) return;
      if (!slice->undecided()) continue;
      --credits;
      if (slice->assigned || slice->taken_away) continue;
      slice->assigned = true;
      slice->entry.state = SliceState::assigned;
      slice->built.assignment.kills = slice->entry.kills;
      (slice->entry.suspect ? suspects_ : ordinary_).push_back(slice.get());
    }
  }

  // Returns true if one kills the process.
  bool finish_jobs() {
    for (std::size_t i = 0; i < running_.size();) {
      Slice& slice = *running_[i].slice;
      if (running_[i].end > now_) {
        ++i;
        continue;
      }
      if (slice.does == Does::kills) return true;
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
      isolation_->returned(slice.built);
      if (slice.taken_away) {
        slice.taken_away = false;
      } else {
        slice.decided = true;
      }
    }
    return false;
  }

  void start_jobs() {
    for (; running_.size() < units_ && !queued_.empty(); queued_.pop_front())
      running_.push_back({queued_.front(), now_ + queued_.front()->after});
  }

  void take_away() {
    for (const Job& job : running_) {
      Slice& slice = *job.slice;
      if (slice.taken_away || now_ < job.end - slice.after + kLease) continue;
      slice.taken_away = true;
      slice.assigned = false;
      again(slice, kBlame.of_expiry(slice.entry, true));
    }
  }

  void isolate() {
    while (true) {
      const auto waiting = [this]() -> assembly::BuiltSlice* {
        if (suspects_.empty()) return nullptr;
        assembly::BuiltSlice* next = &suspects_.front()->built;
        for (Slice* slice : suspects_)
          if (Isolation::goes_before(slice->built, *next)) next = &slice->built;
        return next;
      };
      const Isolation::Step step = isolation_->step(now_, in_flight(), waiting());
      if (step.tell) tell();
      if (step.job == nullptr) return;
      const auto found = std::find_if(suspects_.begin(), suspects_.end(),
                                      [&](const Slice* slice) { return &slice->built == step.job; });
      REQUIRE(found != suspects_.end());
      queued_.push_back(*found);
      suspects_.erase(found);
    }
  }

  void tell() {
    note_ = {};
    REQUIRE(queued_.empty());
    for (const auto& slice : slices_)
      if (&slice->built == isolation_->suspect()) note_.suspect = slice->lease();
    for (const Job& job : running_) note_.beside.push_back(job.slice->lease());
    serial_ = isolation_->next_serial();
    answer_due_ = true;
  }

  void die() {
    ++deaths;
    for (auto& slice : slices_)
      if (slice->assigned && slice->undecided()) again(*slice, kBlame.of_death(slice->entry, note_));
  }

  void again(Slice& slice, Blame blame) {
    slice.discarded = !kBlame.try_again(slice.entry, blame);
    slice.entry.attempt = slice.entry.attempt.next();
    slice.entry.state = SliceState::pending;
  }

  std::mt19937_64 random_;
  std::size_t units_;
  std::vector<std::unique_ptr<Slice>> slices_;
  TimeNs now_ = 0;
  std::optional<Isolation> isolation_;
  slice_rows::FilterNote note_;
  std::vector<Job> running_;
  std::deque<Slice*> queued_;  // with the units
  std::vector<Slice*> ordinary_;
  std::vector<Slice*> suspects_;
  std::uint64_t serial_ = 0;
  bool answer_due_ = false;
};

}  // namespace

TEST_CASE("whatever kills and hangs in a filter, no slice is lost, and all others are filtered") {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    for (const std::size_t units : {1U, 2U, 8U}) {
      CAPTURE(seed, units);
      Farm farm(seed, units);
      CHECK(farm.run());
      int own = 0;
      for (const auto& slice : farm.slices()) {
        CAPTURE(slice->entry.slice.value, slice->after, static_cast<int>(slice->does));
        CHECK_FALSE(slice->discarded);
        CHECK(slice->decided != kBlame.unfiltered(slice->entry));
        if (slice->does == Does::kills) {
          ++own;
          CHECK_FALSE(slice->decided);
        } else if (slice->after < kLease * 3 / 4) {
          CHECK(slice->decided);
        }
      }
      CHECK(farm.deaths <= 3 * own);
    }
  }
}
