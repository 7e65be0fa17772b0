#pragma once

#include <weir/supervisor/journal_store.hpp>

#include <string>
#include <vector>

namespace weir::test {

// A supervisor's journal that outlives its process, and not the test.
class MemoryJournal final : public supervisor::JournalStore {
 public:
  [[nodiscard]] Expected<std::vector<std::byte>, std::string> read() override {
    if (abandoned_) return Unexpected<std::string>("the journal was abandoned");
    return bytes_;
  }
  [[nodiscard]] Expected<void, std::string> append(ConstBytes bytes) override {
    if (full) return Unexpected<std::string>("no room");
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return {};
  }
  [[nodiscard]] Expected<void, std::string> replace(ConstBytes bytes) override {
    if (full) return Unexpected<std::string>("no room");
    bytes_.assign(bytes.begin(), bytes.end());
    return {};
  }
  [[nodiscard]] bool no_room() const override { return full; }
  void remove() override { bytes_.clear(); }
  void abandon() override { abandoned_ = true; }

  [[nodiscard]] bool is_there() const { return !bytes_.empty(); }

  bool full = false;  // rejects every entry

 private:
  std::vector<std::byte> bytes_;
  bool abandoned_ = false;
};

}  // namespace weir::test
