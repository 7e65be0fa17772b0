// Front-ends that count events themselves (build.by: number). Their data are those of the kind `dummy` with
// uniform sizes from 0.
//   rate_hz         events a second (default 400)
//   size_bytes_max  (default 3000)
//   jump_of         the source with a counter that jumps (default 0: none)
//   jump_at         the event at which it does (default 100)
//   ahead           events that they send beyond the latest announced slice; then they are busy (default 200)
#include <weir/emulation/dummy_content.hpp>
#include <weir/source.hpp>

#include <algorithm>
#include <memory>
#include <vector>

namespace {

class Counts : public weir::AsyncSource {
 public:
  explicit Counts(weir::SourceSetup& setup)
      : AsyncSource(setup),
        rate_hz_(setup.parameter("rate_hz", 400U, 1U, 1'000'000U)),
        ahead_(setup.parameter("ahead", 200U)),
        jump_of_(setup.parameter("jump_of", 0U)),
        jump_at_(setup.parameter("jump_at", 100U)),
        size_max_(setup.parameter("size_bytes_max", 3000U)),
        sizes_({.distribution = weir::emulation::SizeDistribution::uniform, .size_bytes_max = size_max_}) {}

  void begin_run(const weir_source_run& run) override {
    // Those of earlier runs stay as long as the source.
    contents_.push_back(std::make_unique<weir::emulation::DummyContent>(weir::RunNumber(run.run), size_max_));
    next_ = run.first_slice;
    busy_from_ = next_ + ahead_;
    due_ns_ = 0;
  }
  void announced(const weir_source_trigger& trigger) override {
    busy_from_ = std::max(busy_from_, trigger.slice + ahead_);
  }
  void poll(std::int64_t now_ns) override {
    constexpr std::int64_t kSecond = 1'000'000'000;
    if (due_ns_ == 0) due_ns_ = now_ns;
    // Time in which they are busy does not count.
    for (; due_ns_ <= now_ns && next_ < busy_from_; ++next_, due_ns_ += kSecond / rate_hz_) {
      const weir::SliceId event(next_);
      for (const std::uint32_t id : source_ids()) {
        const weir::SourceId source(id);
        const std::uint64_t counter = next_ + (id == jump_of_ && next_ >= jump_at_ ? kJump : 0);
        (void)deliver(id, counter,
                      weir::SourceBytes(contents_.back()->fragment(source, event, sizes_(source, event))));
      }
    }
    if (next_ >= busy_from_) due_ns_ = now_ns;
  }

 private:
  static constexpr std::uint64_t kJump = 1U << 20U;  // one bit
  std::uint32_t rate_hz_;
  std::uint32_t ahead_;
  std::uint32_t jump_of_;
  std::uint32_t jump_at_;
  std::uint32_t size_max_;
  weir::emulation::DummySizes sizes_;
  std::vector<std::unique_ptr<weir::emulation::DummyContent>> contents_;
  std::uint64_t next_ = 0;
  std::uint64_t busy_from_ = 0;
  std::int64_t due_ns_ = 0;  // when the next event happens
};

}  // namespace

WEIR_SOURCE_PLUGIN(Counts, "counts", "1.0", "front-ends that count events themselves")
