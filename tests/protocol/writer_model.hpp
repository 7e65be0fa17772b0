#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// Models a writer's handling of records and of the supervisor's messages, small enough to be copied a million
// times. writer_model_test.cpp compares it with storage::RunStore.
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

// A copy on disk, to be acknowledged to its sender.
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

  // Stores a copy and appends the acknowledgements that are due.
  Result store(const Copy& copy, std::uint8_t origin, std::vector<Ack>& acks);
  [[nodiscard]] bool has_unsynced() const;
  [[nodiscard]] std::size_t unsynced() const;
  void sync(std::vector<Ack>& acks);
  // One message of the supervisor: fates, and notices about single copies.
  void take(std::span<const SettledRow> rows, std::span<const Notice> notices, std::uint8_t own_index);
  // The process dies and is restarted; of the unsynced records only `survivors` are kept.
  void restart(std::size_t survivors);
  // Drops acknowledgements to an origin that has disconnected.
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
  std::vector<Record> file_;  // in order of arrival
  std::vector<Ack> waiting_;  // acknowledged at the next sync
};

}  // namespace weir::protocol_test
