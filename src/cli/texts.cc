// SPDX-License-Identifier: Apache-2.0
// Help, reference and completion: all from the one table of commands.
#include <algorithm>
#include <sstream>

#include "cli/command.h"

namespace pillarbox::cli {
namespace {

std::string flag_usage(const Flag& flag) {
  std::string text = flag.short_name == 0 ? "    " : std::string("-") + flag.short_name + ", ";
  text += "--" + std::string(flag.name);
  if (!flag.value.empty()) text += " " + std::string(flag.value);
  return text;
}

void flag_lines(std::ostringstream& out, std::span<const Flag> flags) {
  std::size_t width = 0;
  for (const Flag& flag : flags) width = std::max(width, flag_usage(flag).size());
  for (const Flag& flag : flags) {
    const std::string usage = flag_usage(flag);
    out << "  " << usage << std::string(width - usage.size() + 2, ' ') << flag.help;
    if (!flag.choices.empty()) out << " (" << flag.choices << ")";
    out << '\n';
  }
}

std::string usage_line(const Command& command) {
  std::string text = "pillarbox " + std::string(command.path);
  if (!command.words.empty()) text += " " + std::string(command.words);
  if (!command.flags.empty()) text += " [flags]";
  return text;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::vector<std::string> words_after(std::string_view prefix) {
  std::vector<std::string> out;
  for (const Command& command : commands()) {
    std::string_view path = command.path;
    if (!prefix.empty()) {
      if (!path.starts_with(prefix) || path.size() <= prefix.size() || path[prefix.size()] != ' ')
        continue;
      path.remove_prefix(prefix.size() + 1);
    }
    std::string word(path.substr(0, path.find(' ')));
    if (std::find(out.begin(), out.end(), word) == out.end()) out.push_back(std::move(word));
  }
  return out;
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

std::string all_flags() {
  std::vector<std::string> names;
  const auto add = [&](const Flag& flag) {
    std::string name = "--" + std::string(flag.name);
    if (std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(std::move(name));
  };
  for (const Flag& flag : global_flags()) add(flag);
  for (const Command& command : commands()) {
    for (const Flag& flag : command.flags) add(flag);
  }
  return joined(names);
}

}  // namespace

std::string usage_of(const Command& command) {
  std::ostringstream out;
  out << command.summary << "\n\nUsage: " << usage_line(command) << '\n';
  if (!command.details.empty()) out << '\n' << command.details << '\n';
  if (!command.flags.empty()) {
    out << "\nFlags:\n";
    flag_lines(out, command.flags);
  }
  out << "\nFlags of every command:\n";
  flag_lines(out, global_flags());
  return out.str();
}

std::string group_text(std::string_view group) {
  std::ostringstream out;
  std::size_t width = 0;
  const auto below = [&](const Command& command) {
    return command.path.starts_with(group) &&
           (command.path.size() == group.size() || command.path[group.size()] == ' ');
  };
  for (const Command& command : commands()) {
    if (below(command)) width = std::max(width, command.path.size());
  }
  for (const Command& command : commands()) {
    if (!below(command)) continue;
    out << "  pillarbox " << command.path << std::string(width - command.path.size() + 2, ' ')
        << command.summary << '\n';
  }
  return out.str();
}

std::string overview_text() {
  std::ostringstream out;
  out << "Pillarbox: a transactional outbox. What must happen next is a row in your own database; "
         "the relay takes it\n"
         "to the engine that does the work. Nothing committed is lost, nothing rolled back is "
         "sent.\n\nCommands:\n";
  std::size_t width = 0;
  for (const Command& command : commands()) width = std::max(width, command.path.size());
  for (const Command& command : commands()) {
    out << "  " << command.path << std::string(width - command.path.size() + 2, ' ')
        << command.summary << '\n';
  }
  out << "\nHelp: pillarbox COMMAND --help, pillarbox help TOPIC\n"
         "Topics: filters, exit-codes, environment, config, urls, secrets, examples\n";
  return out.str();
}

std::string reference_markdown() {
  std::ostringstream out;
  out << "# Command line\n\nMade from the program's own table by `pillarbox help reference`.\n\n"
         "Results go to stdout, everything else to stderr. On a terminal: aligned tables, relative "
         "times, colour. Piped:\n"
         "tab-separated, full values, ISO times. `-o json` is stable. Flags may stand anywhere; "
         "`--` ends them.\n\n"
         "## Flags of every command\n\n| flag | what it does |\n| --- | --- |\n";
  for (const Flag& flag : global_flags()) {
    out << "| `" << escaped(flag_usage(flag).substr(flag.short_name == 0 ? 4 : 0)) << "` | "
        << flag.help;
    if (!flag.choices.empty()) out << ": " << escaped(flag.choices);
    out << " |\n";
  }
  for (const Command& command : commands()) {
    out << "\n## " << command.path << "\n\n"
        << command.summary << "\n\n    " << usage_line(command) << '\n';
    if (!command.details.empty()) out << '\n' << command.details << '\n';
    if (command.flags.empty()) continue;
    out << "\n| flag | what it does |\n| --- | --- |\n";
    for (const Flag& flag : command.flags) {
      out << "| `" << escaped(flag_usage(flag).substr(flag.short_name == 0 ? 4 : 0)) << "` | "
          << flag.help;
      if (!flag.choices.empty()) out << ": " << escaped(flag.choices);
      out << " |\n";
    }
  }
  out << "\n## Exit codes\n\n"
         "0 done · 1 failed · 2 wrong usage · 3 configuration refused · 4 store unreachable or "
         "login refused · 5 schema\n"
         "missing, too old or too new · 6 a check found problems · 7 not found · 8 stopped "
         "part-way, repeat to continue ·\n"
         "9 declined at the prompt · 130 interrupted. `run` ends with 0 after a clean drain.\n";
  return out.str();
}

std::string completion_script(std::string_view shell) {
  const std::string first = joined(words_after(""));
  std::ostringstream out;
  if (shell == "fish") {
    out << "complete -c pillarbox -f\n"
        << "complete -c pillarbox -n __fish_use_subcommand -a '" << first << "'\n";
    for (const std::string& word : words_after("")) {
      const auto second = words_after(word);
      if (!second.empty()) {
        out << "complete -c pillarbox -n '__fish_seen_subcommand_from " << word << "' -a '"
            << joined(second) << "'\n";
      }
    }
    for (const Flag& flag : global_flags()) {
      out << "complete -c pillarbox -l " << flag.name << (flag.value.empty() ? "" : " -r") << '\n';
    }
    return out.str();
  }
  if (shell == "zsh") out << "#compdef pillarbox\nautoload -U +X bashcompinit && bashcompinit\n";
  out << "_pillarbox() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} first=${COMP_WORDS[1]}\n"
         "  case $word in -*) COMPREPLY=($(compgen -W '"
      << all_flags()
      << "' -- \"$word\")); return;; esac\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then COMPREPLY=($(compgen -W '"
      << first << "' -- \"$word\")); return; fi\n  case $first in\n";
  for (const std::string& word : words_after("")) {
    const auto second = words_after(word);
    if (!second.empty()) {
      out << "    " << word << ") COMPREPLY=($(compgen -W '" << joined(second)
          << "' -- \"$word\")) ;;\n";
    }
  }
  out << "  esac\n}\ncomplete -o default -F _pillarbox pillarbox\n";
  return out.str();
}

}  // namespace pillarbox::cli
