#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// What a writer does with records and with what the supervisor tells it, small enough to be copied a million
// times. writer_model_test.cpp holds it against storage::RunStore.
namespace weir::protocol_test {

constexpr std::size_t kSlicesMax = 2;
constexpr std::uint8_t kNobody = 0xff;
constexpr std::uint8_t kEveryEpoch = 0xff;

struct Copy {
  std::uint8_t slice = 0;
  std::uint8_t attempt = 0;
  std::uint8_t epoch = 0;
  bool operator==(const Copy&) const = default;
};

// A copy that is on disk, to be told to who sent it.
struct Ack {
  Copy copy;
  std::uint8_t origin = kNobody;
  bool operator==(const Ack&) const = default;
};

struct SettledRow {
  Copy copy;  // that counts, when stored
  std::uint8_t writer = kNobody;
  bool stored = false;
};

struct Notice {
  Copy copy;
  bool live = false;
};

class WriterModel {
 public:
  enum class Result : std::uint8_t { accepted, duplicate, stale_epoch, epoch_conflict };

  // Acknowledgements that are due at once are appended.
  Result store(const Copy& copy, std::uint8_t origin, std::vector<Ack>& acks);
  [[nodiscard]] bool has_unsynced() const;
  [[nodiscard]] std::size_t unsynced() const;
  void sync(std::vector<Ack>& acks);
  // One message of the supervisor: fates, and notices about single copies.
  void take(std::span<const SettledRow> rows, std::span<const Notice> notices, std::uint8_t own_index);
  // The process dies, and with it what `survivors` does not count among the records that were not synced; it
  // is started again.
  void restart(std::size_t survivors);
  // Nobody waits at the other end any more.
  void forget_origin(std::uint8_t origin);

  [[nodiscard]] const std::vector<Ack>& waiting() const { return waiting_; }
  [[nodiscard]] std::vector<Copy> unsettled_on_disk() const;
  // Counts as stored, by the writer's own account.
  [[nodiscard]] bool is_live(std::uint8_t slice) const { return known_[slice].copy && known_[slice].durable; }
  // This copy is on disk, and would count after a restart as well.
  [[nodiscard]] bool holds(const Copy& copy) const;
  void append_state(std::vector<std::uint64_t>& out) const;

 private:
  struct Known {
    bool there = false;
    bool copy = false;
    bool durable = false;
    bool settled = false;
    std::uint8_t attempt = 0;
    std::uint8_t epoch = 0;
  };
  struct Record {
    Copy copy;
    bool durable = false;
  };

  void mark_dead(const Copy& copy);
  void settle(std::uint8_t slice);

  std::array<Known, kSlicesMax> known_{};
  std::vector<Record> file_;  // in the order they came
  std::vector<Ack> waiting_;  // for the next sync
};

}  // namespace weir::protocol_test
