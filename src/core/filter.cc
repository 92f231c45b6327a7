// SPDX-License-Identifier: Apache-2.0
#include "core/filter.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/suggest.h"
#include "core/type_pattern.h"
#include "core/units.h"

namespace pillarbox::core {
namespace {

constexpr std::array<std::string_view, 12> kWords = {"status", "type",     "route",    "key",
                                                     "corr",   "id",       "reason",   "error",
                                                     "age",    "attempts", "occurred", "header"};
constexpr std::array<std::string_view, 9> kStatuses = {
    "pending", "claimed", "dispatched", "dead", "ready", "delayed", "retrying", "held", "braked"};
constexpr std::array<std::string_view, 6> kReasonWords = {"permanent", "attempts",  "poison",
                                                          "expired",   "malformed", "parked"};

struct Term {
  bool negated = false;
  std::string name;
  std::vector<std::string> values;
  std::size_t position = 0;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  ParsedFilter parse() {
    while (skip_spaces()) {
      Term term;
      if (read_term(term)) apply(term);
    }
    return std::move(out_);
  }

 private:
  void problem(std::size_t position, std::string text) {
    out_.problems.push_back(FilterProblem{position + 1, std::move(text)});
  }

  bool skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size();
  }

  bool read_term(Term& term) {
    term.position = at_;
    if (text_[at_] == '-') {
      term.negated = true;
      ++at_;
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != ':' && text_[at_] != ' ') ++at_;
    term.name = std::string(text_.substr(begin, at_ - begin));
    if (at_ >= text_.size() || text_[at_] != ':') {
      problem(term.position, "\"" + term.name + "\" must be WORD:VALUE, as in status:dead");
      return false;
    }
    ++at_;
    for (;;) {
      std::string value;
      if (!read_value(value)) return false;
      term.values.push_back(std::move(value));
      if (at_ >= text_.size() || text_[at_] != ',') break;
      ++at_;
    }
    return true;
  }

  bool read_value(std::string& value) {
    const std::size_t begin = at_;
    if (at_ < text_.size() && text_[at_] == '"') {
      ++at_;
      while (at_ < text_.size() && text_[at_] != '"') value += text_[at_++];
      if (at_ >= text_.size()) {
        problem(begin, "the quote is never closed");
        return false;
      }
      ++at_;
      return true;
    }
    while (at_ < text_.size() && text_[at_] != ' ' && text_[at_] != ',') value += text_[at_++];
    if (value.empty()) {
      problem(begin, "a value is missing here");
      return false;
    }
    return true;
  }

  void apply(const Term& term) {
    Filter& f = out_.filter;
    const bool may_be_negated = term.name == "type" || term.name == "reason";
    // Said twice, "and" would be meant; a list would be searched with "or", and a single value
    // would replace the first.
    const bool may_be_repeated = term.negated || term.name == "age" || term.name == "attempts" ||
                                 term.name.starts_with("header.");
    if (!may_be_repeated && std::count(seen_.begin(), seen_.end(), term.name) > 0) {
      problem(term.position,
              "\"" + term.name + "\" is given twice; join alternatives with a comma");
      return;
    }
    if (!term.negated) seen_.push_back(term.name);
    if (term.negated && !may_be_negated) {
      problem(term.position, "only type and reason can be negated with '-'");
      return;
    }
    if (term.name == "status") {
      for (const std::string& v : term.values) status(term, v);
    } else if (term.name == "type") {
      for (const std::string& v : term.values) {
        if (!is_type_pattern(v))
          problem(term.position, "type \"" + v + "\" may have one '*', at its end");
        (term.negated ? f.not_job_types : f.job_types).push_back(v);
      }
    } else if (term.name == "route") {
      out_.routes.insert(out_.routes.end(), term.values.begin(), term.values.end());
    } else if (term.name == "key") {
      f.ordering_keys.insert(f.ordering_keys.end(), term.values.begin(), term.values.end());
    } else if (term.name == "corr") {
      f.correlation_ids.insert(f.correlation_ids.end(), term.values.begin(), term.values.end());
    } else if (term.name == "id") {
      for (const std::string& v : term.values) id(term, v);
    } else if (term.name == "reason") {
      for (const std::string& v : term.values) {
        if (const auto reason = dead_reason_from(v)) {
          (term.negated ? f.not_reasons : f.reasons).push_back(*reason);
        } else {
          not_known(term, "reason", v, kReasonWords);
        }
      }
    } else if (term.name == "error") {
      if (term.values.size() != 1 || term.values.front().empty())
        problem(term.position, "error takes one text");
      f.error_contains = term.values.front();
    } else if (term.name == "age") {
      age(term);
    } else if (term.name == "attempts") {
      attempts(term);
    } else if (term.name == "occurred") {
      occurred(term);
    } else if (term.name.starts_with("header.") && term.name.size() > 7) {
      if (term.values.size() != 1) problem(term.position, "a header takes one value");
      f.headers.emplace_back(term.name.substr(7), term.values.front());
    } else {
      std::string text = "unknown word \"" + term.name + "\"";
      const std::string near = nearest_name(term.name, kWords);
      problem(term.position, text + (near.empty() ? "; see: pillarbox help filters"
                                                  : "; did you mean \"" + near + "\"?"));
    }
  }

  template <std::size_t N>
  void not_known(const Term& term, std::string_view what, const std::string& value,
                 const std::array<std::string_view, N>& known) {
    std::string text = "unknown " + std::string(what) + " \"" + value + "\"";
    const std::string near = nearest_name(value, known);
    if (!near.empty()) {
      text += "; did you mean \"" + near + "\"?";
    } else {
      text += "; known are:";
      for (const std::string_view word : known) text += " " + std::string(word);
    }
    problem(term.position, std::move(text));
  }

  void status(const Term& term, const std::string& value) {
    const auto found = std::find(kStatuses.begin(), kStatuses.end(), value);
    if (found == kStatuses.end()) {
      not_known(term, "status", value, kStatuses);
    } else if (const auto index = found - kStatuses.begin(); index < 4) {
      out_.filter.statuses.push_back(static_cast<Status>(index));
    } else {
      out_.filter.views.push_back(value);
    }
  }

  void id(const Term& term, const std::string& value) {
    if (const auto message_id = MessageId::parse(value)) {
      out_.filter.message_ids.push_back(*message_id);
      return;
    }
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error == std::errc{} && end == value.data() + value.size() && number > 0) {
      out_.filter.ids.push_back(RowId(number));
    } else {
      problem(term.position, "id \"" + value + "\" must be a number or a UUID");
    }
  }

  // ">5m" or "<5m"
  void age(const Term& term) {
    if (term.values.size() != 1) {
      problem(term.position,
              "a comma means or, and age takes one value; write age:>5m age:<1h for both");
      return;
    }
    for (const std::string& value : term.values) {
      const auto duration =
          value.size() > 1 ? parse_duration(std::string_view(value).substr(1)) : std::nullopt;
      if (!duration || (value[0] != '>' && value[0] != '<')) {
        problem(term.position,
                "age \"" + value + "\" must be >DURATION or <DURATION, as in age:>5m");
      } else {
        auto& bound = value[0] == '>' ? out_.filter.age_min : out_.filter.age_max;
        if (bound) problem(term.position, "this side of age is given twice");
        bound = *duration;
      }
    }
  }

  // "3", ">3", "<3"
  void attempts(const Term& term) {
    if (term.values.size() != 1) {
      problem(
          term.position,
          "a comma means or, and attempts takes one value; write attempts:>1 attempts:<9 for both");
      return;
    }
    for (const std::string& value : term.values) {
      const bool compares = value[0] == '>' || value[0] == '<';
      const std::string_view digits = std::string_view(value).substr(compares ? 1 : 0);
      std::int32_t number = 0;
      const auto [end, error] =
          std::from_chars(digits.data(), digits.data() + digits.size(), number);
      if (error != std::errc{} || end != digits.data() + digits.size() || number < 0 ||
          number == INT32_MAX) {
        problem(term.position, "attempts \"" + value + "\" must be a number, >NUMBER or <NUMBER");
        continue;
      }
      if ((value[0] != '<' && out_.filter.attempts_min) ||
          (value[0] != '>' && out_.filter.attempts_max)) {
        problem(term.position, "this side of attempts is given twice");
      }
      if (value[0] == '>') {
        out_.filter.attempts_min = number + 1;
      } else if (value[0] == '<') {
        out_.filter.attempts_max = number - 1;
      } else {
        out_.filter.attempts_min = number;
        out_.filter.attempts_max = number;
      }
    }
  }

  // "2026-12-01..2026-12-02", either side may be left out; a date alone is that day.
  void occurred(const Term& term) {
    const std::string& value = term.values.front();
    if (term.values.size() != 1)
      problem(term.position, "occurred takes one span, as in 2026-12-01..2026-12-02");
    const std::size_t dots = value.find("..");
    const auto from = parse_time(std::string_view(value).substr(0, dots));
    if (dots == std::string::npos) {
      if (!from || value.size() != 10) {
        problem(term.position,
                "occurred \"" + value +
                    "\" must be FROM..BEFORE or one date, as in 2026-12-01..2026-12-02");
        return;
      }
      out_.filter.occurred_from = from;
      out_.filter.occurred_before = DbTime(to_int(*from) + 86'400'000'000);
      return;
    }
    const std::string_view end = std::string_view(value).substr(dots + 2);
    const auto before = parse_time(end);
    if ((dots > 0 && !from) || (!end.empty() && !before) || value.size() == 2) {
      problem(term.position, "occurred \"" + value +
                                 "\" has a time that is not ISO 8601, as in 2026-12-01T10:00:00Z");
      return;
    }
    out_.filter.occurred_from = from;
    out_.filter.occurred_before = before;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::string> seen_;
  ParsedFilter out_;
};

}  // namespace

ParsedFilter parse_filter(std::string_view text) { return Parser(text).parse(); }

std::string_view filter_help() noexcept {
  return "Space is \"and\", comma is \"or\", '-' negates type and reason, quotes hold spaces.\n\n"
         "  status:dead,retrying     pending claimed dispatched dead, or ready delayed retrying "
         "held braked\n"
         "  type:email.*             exact, or a prefix with one '*' at its end; -type: for all "
         "others\n"
         "  route:partner            every type that goes to that route\n"
         "  key:order-17             ordering_key\n"
         "  corr:4711                correlation_id\n"
         "  id:0190…                 message_id, or the row's number\n"
         "  reason:expired           permanent attempts poison expired malformed parked; -reason: "
         "for all others\n"
         "  attempts:>3              a number, > or <\n"
         "  error:\"timed out\"        the last error contains it\n"
         "  age:>5m                  since it occurred, > or <\n"
         "  occurred:2026-12-01..2026-12-02   from, before; either may be left out; UTC unless "
         "said otherwise\n"
         "  header.tenant:acme       that header has that value\n\n"
         "id, key, type, status and corr narrow the search; the rest looks at the newest 10 000 "
         "rows that they leave.\n";
}

}  // namespace pillarbox::core
