// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <sstream>

#include "config/config.h"
#include "config/settings.h"
#include "sink/registry.h"

namespace pillarbox::config {
namespace {

std::string quoted_default(const Setting& setting) {
  if (setting.type == Type::integer) return std::string(setting.default_text);
  return "\"" + std::string(setting.default_text) + "\"";
}

void table_head(std::ostringstream& out) {
  out << "| key | type or range | default | what it is |\n| --- | --- | --- | --- |\n";
}

std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

void table_row(std::ostringstream& out, std::string_view key, std::string_view type,
               std::string_view value, std::string_view help) {
  out << "| `" << key << "` | " << cell(type) << " | "
      << (value.empty() ? "" : "`" + cell(value) + "`") << " | " << cell(help) << " |\n";
}

void own_keys(std::ostringstream& out, std::string_view title, std::span<const KeyHelp> keys) {
  out << "\n## " << title << "\n\n";
  table_head(out);
  for (const KeyHelp& key : keys) table_row(out, key.name, key.type, key.default_text, key.help);
}

void kinds(std::ostringstream& out, SinkSetting::Place place) {
  for (const auto& factory : sink_factories()) {
    bool any = false;
    for (const SinkSetting& setting : factory->settings()) {
      if (setting.place != place) continue;
      if (!any) {
        out << "\nFor sinks at";
        for (const std::string_view scheme : factory->schemes()) out << " `" << scheme << ":`";
        out << ":\n\n";
        table_head(out);
      }
      any = true;
      constexpr std::string_view kTypes[] = {
          "text", "duration", "size", "integer", "true or false", "", "secrets", "list of texts"};
      const std::string_view type = setting.type == SinkSetting::Type::choice
                                        ? setting.choices
                                        : kTypes[static_cast<std::size_t>(setting.type)];
      table_row(out, setting.name, type, setting.default_value, setting.help);
    }
  }
}

}  // namespace

std::string reference(std::string_view section) {
  std::ostringstream out;
  if (section.empty()) {
    out << "# Configuration\n\n"
           "Made from the program's own table by `pillarbox config keys`. Precedence: flag, "
           "environment, file, default;\n"
           "`pillarbox config show` prints each value with its origin. A key that is not known, a "
           "wrong type or a value out\n"
           "of range is refused with its line, and nothing is started.\n\n"
           "The file is the first of `--config`, `PILLARBOX_CONFIG`, `./pillarbox.toml`,\n"
           "`$XDG_CONFIG_HOME/pillarbox/pillarbox.toml`, `/etc/pillarbox/pillarbox.toml`. "
           "Environment:\n"
           "`PILLARBOX_RELAY__BATCH_SIZE` is `relay.batch_size`; `PILLARBOX_STORE` is the URL of a "
           "single outbox.\n"
           "Durations are `500ms`, `5s`, `2m`, `1h`, `7d`; sizes `64KiB`, `8MiB`.\n";
  }
  std::set<std::string_view> done;
  for (const Setting& first : settings()) {
    if (!done.insert(first.section).second || (!section.empty() && section != first.section))
      continue;
    out << "\n## [" << first.section << "]\n\n";
    table_head(out);
    for (const Setting& setting : settings()) {
      if (setting.section == first.section) {
        table_row(out, setting.name, setting.allowed, setting.default_text, setting.help);
      }
    }
  }
  if (section.empty() || section == "outbox") own_keys(out, "[[outbox]]", outbox_keys());
  if (section.empty() || section == "sink") {
    own_keys(out, "[sink.NAME]", sink_keys());
    kinds(out, SinkSetting::Place::sink);
  }
  if (section.empty() || section == "route") {
    own_keys(out, "[[route]]", route_keys());
    kinds(out, SinkSetting::Place::route);
  }
  return out.str();
}

std::string initial_file() {
  std::ostringstream out;
  out << "# Pillarbox. Every setting that is commented out has the value shown. Reference: "
         "pillarbox config keys\n\n"
         "[[outbox]]\n"
         "name = \"app\"\n"
         "store = \"sqlite:app.db\"            # or postgresql://user@host/db\n"
         "# password = { file = \"/run/secrets/app-db\" }\n\n"
         "[sink.out]\n"
         "url = \"stdout:\"                   # or https://partner.example/hooks, "
         "file:/var/spool/out.jsonl\n\n"
         "[[route]]                         # first match wins; a type that no route matches is "
         "held, never lost\n"
         "type = \"*\"\n"
         "sink = \"out\"\n";
  std::string_view section;
  for (const Setting& setting : settings()) {
    if (setting.section != section) {
      section = setting.section;
      out << "\n[" << section << "]\n";
    }
    out << "# " << setting.name << " = " << quoted_default(setting) << "  # " << setting.allowed
        << ". " << setting.help << '\n';
  }
  return out.str();
}

}  // namespace pillarbox::config
