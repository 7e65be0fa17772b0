#include "sim_scratch.hpp"

#include <weir/base/crc32c.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace weir::sim {

SimScratch::SimScratch(const Scenario& scenario, simnet::Timeline& timeline, simnet::Random random,
                       std::uint64_t bytes, std::function<void()> wake)
    : scenario_(scenario), timeline_(timeline), random_(random), bytes_(bytes), wake_(std::move(wake)) {}

SimScratch::~SimScratch() { *alive_ = false; }

void SimScratch::write(std::uint64_t offset, ConstBytes bytes, std::uint64_t token) {
  ask({offset, bytes.size(), token, bytes.data()});
}

void SimScratch::read(std::uint64_t offset, std::uint64_t length, std::uint64_t token) {
  ask({offset, length, token, nullptr});
}

std::vector<ports::ScratchResult> SimScratch::take_results() { return std::exchange(done_, {}); }

void SimScratch::ask(const Operation& operation) {
  if (operation.offset + operation.length > bytes_.size())
    throw std::logic_error("an operation ends outside the scratch disk");
  queue_.push_back(operation);
  if (queue_.size() == 1) begin();
}

void SimScratch::begin() {
  timeline_.after(random_.skewed(20 * kMicrosecond, scenario_.ring_disk_ns_max), [this, alive = alive_] {
    if (*alive) end();
  });
}

void SimScratch::end() {
  const Operation operation = queue_.front();
  queue_.pop_front();
  ports::ScratchResult result{operation.token, {}, 0, {}, {}};
  const bool disturbed = timeline_.now_ns() < scenario_.faults_end_ns;
  std::byte* at = bytes_.data() + operation.offset;
  if (disturbed && random_.chance(scenario_.ring_disk_fails_permille)) {
    result.error = "simulated disk: io";
  } else if (operation.from != nullptr) {
    std::copy_n(operation.from, operation.length, at);
    result.crc32c = crc32c(ConstBytes(at, operation.length));
  } else {
    auto copy = std::make_shared<std::vector<std::byte>>(at, at + operation.length);
    if (disturbed && !copy->empty() && random_.chance(scenario_.ring_disk_fails_permille))
      (*copy)[random_.below(copy->size())] ^= std::byte{1};
    result.bytes = ConstBytes(*copy);
    result.crc32c = crc32c(result.bytes);
    result.owner = std::move(copy);
  }
  done_.push_back(std::move(result));
  wake_();
  if (!queue_.empty()) begin();
}

}  // namespace weir::sim
