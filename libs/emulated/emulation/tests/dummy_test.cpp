#include "weir_catch.hpp"
#include <weir/base/crc32c.hpp>
#include <weir/emulation/dummy_source.hpp>

#include <cmath>
#include <set>

using namespace weir;
using namespace weir::emulation;
using namespace weir::source;

namespace {

source::Trigger trigger(std::uint64_t slice) { return {SliceId(slice), 0, 0, TriggerType()}; }

double mean_size(const DummySizes& sizes, double* sigma_of_log = nullptr) {
  constexpr std::uint64_t kDraws = 40'000;
  double sum = 0;
  double logs = 0;
  double logs2 = 0;
  for (std::uint64_t slice = 0; slice < kDraws; ++slice) {
    const double size = sizes(SourceId(3), SliceId(slice));
    sum += size;
    logs += std::log(size);
    logs2 += std::log(size) * std::log(size);
  }
  if (sigma_of_log != nullptr) *sigma_of_log = std::sqrt(logs2 / kDraws - logs / kDraws * logs / kDraws);
  return sum / kDraws;
}

}  // namespace

TEST_CASE("a dummy fragment verifies at the far end, in size and in every byte", "[dummy]") {
  DummySettings settings;
  settings.distribution = SizeDistribution::log_normal;
  const auto group = std::make_shared<DummyGroup>(settings, true);
  DummySource source(SourceId(7), group);
  source.begin_run(RunNumber(12));
  DummyVerifier verifier;
  const DummySizes sizes(settings);
  for (std::uint64_t slice = 0; slice < 200; ++slice) {
    const SourceFragment fragment = source.produce(trigger(slice));
    CHECK(fragment.bytes.size() == sizes(SourceId(7), SliceId(slice)));
    CHECK(verifier.verify(RunNumber(12), SourceId(7), SliceId(slice), fragment.bytes));
    CHECK(fragment.crc32c == crc32c(fragment.bytes));
    CHECK_FALSE(fragment.owner);
  }
}

TEST_CASE("a wrong byte is found at its offset, also beyond the pattern's period", "[dummy]") {
  constexpr std::size_t kSize = 3 * DummyContent::kPeriod + 17;
  const DummyContent content(RunNumber(1), kSize);
  const ConstBytes bytes = content.fragment(SourceId(2), SliceId(3), kSize);
  std::vector<std::byte> copy(bytes.begin(), bytes.end());
  DummyVerifier verifier;
  REQUIRE(verifier.verify(RunNumber(1), SourceId(2), SliceId(3), copy));
  for (const std::size_t at : {std::size_t{0}, std::size_t{1}, DummyContent::kPeriod, kSize - 1}) {
    copy[at] ^= std::byte{1};
    const auto result = verifier.verify(RunNumber(1), SourceId(2), SliceId(3), copy);
    REQUIRE_FALSE(result);
    CHECK(result.error() == at);
    copy[at] ^= std::byte{1};
  }
}

TEST_CASE("a fragment of another run, source or slice does not verify", "[dummy]") {
  const DummyContent content(RunNumber(1), 1000);
  const ConstBytes bytes = content.fragment(SourceId(2), SliceId(3), 1000);
  DummyVerifier verifier;
  CHECK_FALSE(verifier.verify(RunNumber(2), SourceId(2), SliceId(3), bytes));
  CHECK_FALSE(verifier.verify(RunNumber(1), SourceId(3), SliceId(3), bytes));
  CHECK_FALSE(verifier.verify(RunNumber(1), SourceId(2), SliceId(4), bytes));
  CHECK(verifier.verify(RunNumber(1), SourceId(2), SliceId(3), bytes));
  CHECK(verifier.verify(RunNumber(1), SourceId(2), SliceId(3), {}));
}

TEST_CASE("fixed sizes are all the same, and clamped to the bounds", "[dummy]") {
  DummySettings settings;
  CHECK(DummySizes(settings)(SourceId(1), SliceId(99)) == 1024);
  settings.size_bytes_max = 500;
  CHECK(DummySizes(settings)(SourceId(1), SliceId(99)) == 500);
  settings.size_bytes = 10;
  settings.size_bytes_min = 64;
  CHECK(DummySizes(settings)(SourceId(1), SliceId(99)) == 64);
}

TEST_CASE("uniform sizes reach both bounds and nothing beyond", "[dummy]") {
  DummySettings settings;
  settings.distribution = SizeDistribution::uniform;
  settings.size_bytes_min = 10;
  settings.size_bytes_max = 20;
  const DummySizes sizes(settings);
  std::set<std::uint32_t> seen;
  for (std::uint64_t slice = 0; slice < 1000; ++slice) seen.insert(sizes(SourceId(1), SliceId(slice)));
  CHECK(seen.size() == 11);
  CHECK(*seen.begin() == 10);
  CHECK(*seen.rbegin() == 20);
  CHECK(sizes.size_max() == 20);
}

TEST_CASE("exponential and log-normal sizes have the mean and the width asked for", "[dummy]") {
  DummySettings settings;
  settings.size_bytes = 10'000;
  settings.distribution = SizeDistribution::exponential;
  CHECK(mean_size(DummySizes(settings)) == Approx(10'000).epsilon(0.02));
  settings.distribution = SizeDistribution::log_normal;
  settings.sigma = 0.4;
  double sigma = 0;
  CHECK(mean_size(DummySizes(settings), &sigma) == Approx(10'000).epsilon(0.02));
  CHECK(sigma == Approx(0.4).epsilon(0.02));
}

TEST_CASE("sizes depend on the seed and the source, and bounds hold in the tails", "[dummy]") {
  DummySettings settings;
  settings.distribution = SizeDistribution::exponential;
  settings.size_bytes_min = 100;
  settings.size_bytes_max = 3000;
  const DummySizes one(settings);
  settings.seed = 2;
  const DummySizes other(settings);
  int differ = 0;
  for (std::uint64_t slice = 0; slice < 1000; ++slice) {
    const std::uint32_t size = one(SourceId(1), SliceId(slice));
    CHECK((size >= 100 && size <= 3000 && size <= one.size_max()));
    differ += size != other(SourceId(1), SliceId(slice)) && size != one(SourceId(2), SliceId(slice));
  }
  CHECK(differ > 800);
}

TEST_CASE("settings that cannot be met are refused with the key's name", "[dummy]") {
  DummySettings settings;
  settings.size_bytes_min = 2;
  settings.size_bytes_max = 1;
  CHECK_THROWS_WITH(DummyGroup(settings, true), Catch::ContainsSubstring("size_bytes_min"));
}

TEST_CASE("fragments of the run before stay valid when the next run begins", "[dummy]") {
  DummyGroup group({}, false);
  group.begin_run(RunNumber(1));
  const SourceFragment fragment = group.produce(SourceId(1), SliceId(5));
  group.begin_run(RunNumber(2));
  DummyVerifier verifier;
  CHECK(verifier.verify(RunNumber(1), SourceId(1), SliceId(5), fragment.bytes));
  CHECK(fragment.crc32c == 0);
}
