#include "run_queries.hpp"

#include "field_text.hpp"
#include <weir/base/assert.hpp>
#include <weir/run_record/records.hpp>

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace weir::run_database {
namespace {

constexpr std::string_view kColumns =
    "run, farm, begin_ns, end_ns, running_ns, triggered, stored, rejected, discarded, discarded_at_stop, "
    "balanced, "
    "outcome, reason, failure, fault, fault_count, fields";

RunRow row_of(const Statement& statement) {
  const auto count = [&](int column) { return static_cast<std::uint64_t>(statement.number(column)); };
  RunRow row;
  row.run = static_cast<std::uint32_t>(statement.number(0));
  row.farm = statement.text(1);
  row.begin_utc_ns = statement.number(2);
  row.end_utc_ns = statement.number(3);
  row.running_ns = statement.number(4);
  row.triggered = count(5);
  row.stored = count(6);
  row.rejected = count(7);
  row.discarded = count(8);
  row.discarded_at_stop = count(9);
  row.balanced = statement.number(10) != 0;
  row.outcome = statement.text(11);
  row.reason = statement.text(12);
  row.failure = statement.text(13);
  row.fault = statement.text(14);
  row.fault_count = static_cast<std::uint32_t>(statement.number(15));
  row.fields = fields_of(statement.text(16));
  return row;
}

// Words of a query, as patterns of LIKE.
std::vector<std::string> patterns_of(const std::string& text) {
  std::vector<std::string> patterns;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) patterns.push_back("%" + std::exchange(word, {}) + "%");
  };
  for (const char c : text) {
    if (c == ' ') {
      end_word();
      continue;
    }
    if (c == '%' || c == '_' || c == '\\') word += '\\';
    word += c;
  }
  end_word();
  return patterns;
}

// The condition of a query, and its values in order.
struct Condition {
  std::string text = " WHERE 1";
  std::vector<std::string> texts;
  std::vector<std::int64_t> numbers;  // before the texts
};

Condition condition_of(const RunQuery& query) {
  Condition condition;
  if (query.since) {
    condition.text += " AND begin_ns >= ?";
    condition.numbers.push_back(*query.since);
  }
  if (query.until) {
    condition.text += " AND begin_ns < ?";
    condition.numbers.push_back(*query.until);
  }
  std::string outcomes;
  for (const std::string& outcome : query.outcomes) {
    outcomes += outcomes.empty() ? "?" : ", ?";
    condition.texts.push_back(outcome);
  }
  if (!outcomes.empty()) condition.text += " AND outcome IN (" + outcomes + ")";
  for (const auto& [column, value] :
       {std::pair("type", &query.type), {"shifter", &query.shifter}, {"quality", &query.quality}}) {
    if (value->empty()) continue;
    condition.text += fmt::format(" AND {} = ? COLLATE NOCASE", column);
    condition.texts.push_back(*value);
  }
  for (std::string& pattern : patterns_of(query.text)) {
    condition.text +=
        " AND farm || ' ' || reason || ' ' || failure || ' ' || fault || ' ' || fields LIKE ? ESCAPE '\\'";
    condition.texts.push_back(std::move(pattern));
  }
  return condition;
}

void bind(const Condition& condition, Statement& statement) {
  int parameter = 0;
  for (const std::int64_t number : condition.numbers) statement.bind(++parameter, number);
  for (const std::string& text : condition.texts) statement.bind(++parameter, std::string_view(text));
}

}  // namespace

RunList find(const Sql& sql, const RunQuery& query) {
  const Condition condition = condition_of(query);
  RunList list;
  Statement all(sql, "SELECT count(*) FROM runs");
  if (all.step()) list.all = static_cast<std::uint64_t>(all.number(0));
  Statement matching(sql, "SELECT count(*) FROM runs" + condition.text);
  bind(condition, matching);
  if (matching.step()) list.matching = static_cast<std::uint64_t>(matching.number(0));
  Statement rows(sql,
                 fmt::format("SELECT {} FROM runs{} ORDER BY run DESC LIMIT {}", kColumns, condition.text,
                             query.limit == 0 ? -1 : static_cast<std::int64_t>(query.limit)));
  bind(condition, rows);
  while (rows.step()) list.runs.push_back(row_of(rows));
  return list;
}

std::optional<RunRow> find(const Sql& sql, std::uint32_t run) {
  Statement one(sql, fmt::format("SELECT {} FROM runs WHERE run=?", kColumns));
  if (!one.bind(1, run).step()) return std::nullopt;
  return row_of(one);
}

std::optional<std::uint32_t> good_before(const Sql& sql, const RunRow& row) {
  WEIR_ASSERT(row.run != 0);
  Statement last(
      sql,
      "SELECT run FROM runs WHERE run<? AND outcome=? AND quality<>? ORDER BY type=? DESC, run DESC "
      "LIMIT 1");
  last.bind(1, row.run)
      .bind(2, std::string_view(run_record::outcome::kGood))
      .bind(3, std::string_view("bad"));
  last.bind(4, std::string_view(value_of(row.fields, run_record::field::kType)));
  if (!last.step()) return std::nullopt;
  return static_cast<std::uint32_t>(last.number(0));
}

std::vector<run_record::Annotation> annotations(const Sql& sql, std::uint32_t run) {
  std::vector<run_record::Annotation> list;
  Statement all(sql, "SELECT utc_ns, author, fields FROM annotations WHERE run=? ORDER BY id");
  all.bind(1, run);
  while (all.step()) list.push_back({run, all.number(0), all.text(1), fields_of(all.text(2))});
  return list;
}

}  // namespace weir::run_database
