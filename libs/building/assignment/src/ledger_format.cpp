#include <weir/assignment/ledger.hpp>

#include <algorithm>

namespace weir::assignment {
namespace {

std::string padded_right(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

std::string padded_left(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

}  // namespace

std::string format_ledger(const LedgerResult& result) {
  std::size_t name_width = 0;
  std::size_t left_width = 0;
  std::size_t right_width = 0;
  for (const Equation& equation : result.equations) {
    name_width = std::max(name_width, equation.name.size());
    left_width = std::max(left_width, std::to_string(equation.left.sum.count).size());
    right_width = std::max(right_width, std::to_string(equation.right.sum.count).size());
  }
  std::string text;
  for (const Equation& equation : result.equations) {
    const bool equal = equation.relation == Equation::Relation::equal;
    const bool hashed = equal && equation.left.hashed && equation.right.hashed;
    text += padded_right(equation.name, name_width) + "  ";
    text += padded_left(std::to_string(equation.left.sum.count), left_width);
    text += equal ? " =  " : " <= ";
    text += padded_left(std::to_string(equation.right.sum.count), right_width);
    text += equation.ok ? "  ok" : "  WRONG";
    if (hashed && equation.ok) text += ", same ids";
    if (!equation.note.empty()) text += "  (" + equation.note + ")";
    text += '\n';
  }
  switch (result.status()) {
    case LedgerStatus::balanced:
      return text + "The ledger balances.\n";
    case LedgerStatus::balanced_with_faults:
      return text + "The ledger balances, with faults survived.\n";
    case LedgerStatus::unbalanced:
      break;
  }
  return text + "THE LEDGER DOES NOT BALANCE.\n";
}

}  // namespace weir::assignment
