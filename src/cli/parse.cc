// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>

#include "cli/command.h"
#include "core/suggest.h"
#include "core/units.h"

namespace pillarbox::cli {
namespace {

std::string did_you_mean(std::string_view word, std::vector<std::string_view> candidates,
                         std::string_view prefix) {
  const std::string near = core::nearest_name(word, candidates);
  return near.empty() ? std::string{} : "; did you mean " + std::string(prefix) + near + "?";
}

// Among all flags there are: the command may come after them.
const Flag* find_flag(std::string_view name) {
  for (const Flag& flag : global_flags()) {
    if (flag.name == name) return &flag;
  }
  for (const Command& command : commands()) {
    for (const Flag& flag : command.flags) {
      if (flag.name == name) return &flag;
    }
  }
  return nullptr;
}

const Flag* find_short(char name) {
  const auto has = [&](const Flag& flag) { return flag.short_name == name; };
  for (const Flag& flag : global_flags()) {
    if (has(flag)) return &flag;
  }
  for (const Command& command : commands()) {
    const auto found = std::find_if(command.flags.begin(), command.flags.end(), has);
    if (found != command.flags.end()) return &*found;
  }
  return nullptr;
}

bool takes(const Command& command, std::string_view name) {
  const auto named = [&](const Flag& flag) { return flag.name == name; };
  return std::any_of(global_flags().begin(), global_flags().end(), named) ||
         std::any_of(command.flags.begin(), command.flags.end(), named);
}

void check_choice(const Flag& flag, const std::string& value) {
  if (flag.choices.empty()) return;
  std::string_view rest = flag.choices;
  while (true) {
    const std::size_t bar = rest.find('|');
    if (rest.substr(0, bar) == value) return;
    if (bar == std::string_view::npos) break;
    rest.remove_prefix(bar + 1);
  }
  throw UsageError("--" + std::string(flag.name) + " is \"" + value + "\"; it must be one of " +
                   std::string(flag.choices));
}

const Command* take_command(std::vector<std::string>& words) {
  const Command* best = nullptr;
  std::size_t best_words = 0;
  for (const Command& command : commands()) {
    std::string_view rest = command.path;
    std::size_t count = 0;
    bool matches = true;
    while (!rest.empty()) {
      const std::size_t space = std::min(rest.find(' '), rest.size());
      if (count >= words.size() || words[count] != rest.substr(0, space)) {
        matches = false;
        break;
      }
      ++count;
      rest.remove_prefix(std::min(space + 1, rest.size()));
    }
    if (matches && count > best_words) {
      best = &command;
      best_words = count;
    }
  }
  if (best != nullptr)
    words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(best_words));
  return best;
}

// The words that may follow `group`, as in "list groups export" after "dead".
std::vector<std::string_view> words_below(std::string_view group) {
  std::vector<std::string_view> out;
  for (const Command& command : commands()) {
    const std::string_view path = command.path;
    if (path.size() > group.size() && path.starts_with(group) && path[group.size()] == ' ')
      out.push_back(path.substr(group.size() + 1));
  }
  return out;
}

// Among the flags that the command takes, or among all while none was named.
std::string nearest_flag(const std::string& name, const std::vector<std::string>& words) {
  std::vector<std::string> rest = words;
  const Command* named = take_command(rest);
  std::vector<std::string_view> names;
  for (const Flag& flag : global_flags()) names.push_back(flag.name);
  for (const Command& command : commands()) {
    if (named != nullptr && named != &command) continue;
    for (const Flag& flag : command.flags) names.push_back(flag.name);
  }
  return did_you_mean(name, names, "--");
}

[[noreturn]] void refuse_command(const std::vector<std::string>& words) {
  const std::string& first = words.front();
  const std::vector<std::string_view> below = words_below(first);
  if (!below.empty()) {
    std::string choices;
    for (const std::string_view word : below)
      choices += (choices.empty() ? "" : ", ") + std::string(word);
    if (words.size() == 1) throw UsageError("\"" + first + "\" what? One of " + choices);
    throw UsageError("\"" + first + "\" has no \"" + words[1] + "\"" +
                     did_you_mean(words[1], below, first + " ") + " There are " + choices);
  }
  std::vector<std::string_view> names;
  for (const Command& command : commands())
    names.push_back(command.path.substr(0, command.path.find(' ')));
  throw UsageError("unknown command \"" + first + "\"" + did_you_mean(first, names, "") +
                   " See: pillarbox help");
}

void check_words(const Command& command, const std::vector<std::string>& words) {
  const std::string usage =
      "pillarbox " + std::string(command.path) + " " + std::string(command.words);
  if (words.size() < command.words_min) throw UsageError("something is missing: " + usage);
  if (words.size() <= command.words_max) return;
  const std::string& word = words[command.words_max];
  const std::vector<std::string_view> below = words_below(command.path);
  if (!below.empty()) {
    throw UsageError("\"" + std::string(command.path) + "\" has no \"" + word + "\"" +
                     did_you_mean(word, below, std::string(command.path) + " ") +
                     " See: pillarbox " + std::string(command.path) + " --help");
  }
  throw UsageError("\"" + word + "\" is too much: " + usage);
}

}  // namespace

std::optional<std::string> Arguments::get(std::string_view flag) const {
  const auto [begin, end] = flags.equal_range(flag);
  return begin == end ? std::nullopt : std::optional(std::prev(end)->second);
}

std::vector<std::string> Arguments::all(std::string_view flag) const {
  std::vector<std::string> out;
  const auto [begin, end] = flags.equal_range(flag);
  for (auto it = begin; it != end; ++it) out.push_back(it->second);
  return out;
}

Parsed parse(std::span<const std::string> typed) {
  Parsed out;
  std::vector<std::string> words;
  std::vector<std::pair<const Flag*, std::string>> given;
  bool only_words = false;
  for (std::size_t i = 0; i < typed.size(); ++i) {
    const std::string& word = typed[i];
    if (only_words || word.size() < 2 || word[0] != '-') {
      words.push_back(word);
      continue;
    }
    if (word == "--") {
      only_words = true;
      continue;
    }
    const Flag* flag = nullptr;
    std::optional<std::string> value;
    if (word[1] == '-') {
      const std::size_t equals = word.find('=');
      const std::string name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
      if (equals != std::string::npos) value = word.substr(equals + 1);
      flag = find_flag(name);
      if (flag == nullptr) {
        throw UsageError("unknown flag --" + name + nearest_flag(name, words));
      }
    } else {
      flag = find_short(word[1]);
      if (flag == nullptr) throw UsageError("unknown flag " + word + "; see: pillarbox help");
      if (word.size() > 2) value = word.substr(2);
    }
    if (flag->value.empty()) {
      if (value) throw UsageError("--" + std::string(flag->name) + " takes no value");
      value.emplace();
    } else if (!value) {
      if (i + 1 == typed.size()) {
        throw UsageError("--" + std::string(flag->name) +
                         " needs a value: " + std::string(flag->value));
      }
      value = typed[++i];
    }
    check_choice(*flag, *value);
    given.emplace_back(flag, std::move(*value));
  }

  const std::vector<std::string> all_words = words;
  out.command = take_command(words);
  for (auto& [flag, value] : given) {
    if (flag->name == "help") out.wants_help = true;
    if (out.command != nullptr && !takes(*out.command, flag->name)) {
      throw UsageError("\"" + std::string(out.command->path) + "\" does not take --" +
                       std::string(flag->name) + "; see: pillarbox " +
                       std::string(out.command->path) + " --help");
    }
    out.arguments.flags.emplace(flag->name, std::move(value));
  }
  if (out.command == nullptr) {
    // "pillarbox relay --help": the group has no command of its own.
    if (all_words.empty()) return out;
    if (!out.wants_help || words_below(all_words.front()).empty()) refuse_command(all_words);
    out.group = all_words.front();
    return out;
  }
  if (!out.wants_help) check_words(*out.command, words);
  out.arguments.words = std::move(words);
  return out;
}

std::int64_t number_of(const Arguments& arguments, std::string_view flag, std::int64_t otherwise,
                       std::int64_t low, std::int64_t high) {
  const auto text = arguments.get(flag);
  if (!text) return otherwise;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc{} || end != text->data() + text->size() || value < low || value > high) {
    throw UsageError("--" + std::string(flag) + " is \"" + *text +
                     "\"; it must be a whole number from " + std::to_string(low) + " to " +
                     std::to_string(high));
  }
  return value;
}

std::int64_t duration_ms_of(const Arguments& arguments, std::string_view flag,
                            std::int64_t otherwise) {
  const auto text = arguments.get(flag);
  if (!text) return otherwise;
  const auto value = core::parse_duration(*text);
  if (!value) {
    throw UsageError("--" + std::string(flag) + " is \"" + *text +
                     "\"; it must be a duration, as in 500ms, 5s, 2m, 1h, 7d");
  }
  return value->count();
}

int exit_code_for(const Error& error) {
  if (error.code().starts_with("PBX-20")) return kConfiguration;
  switch (error.kind()) {
    case ErrorKind::unreachable:
    case ErrorKind::timeout:
      return kUnreachable;
    case ErrorKind::schema:
      return kSchema;
    case ErrorKind::not_found:
      return kNotFound;
    default:
      return kFailed;
  }
}

}  // namespace pillarbox::cli
