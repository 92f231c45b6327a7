// SPDX-License-Identifier: Apache-2.0
// enqueue, list, show, dead
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>

#include "cli/actions.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "core/utf8.h"
#include "json/json.h"

namespace pillarbox::cli {
namespace {

std::string payload_of(const std::string& word) {
  if (word == "-")
    return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  if (word.starts_with('@')) {
    errno = 0;
    std::ifstream file(word.substr(1), std::ios::binary);
    if (!file) throw UsageError("payload file " + word.substr(1) + ": " + std::strerror(errno));
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  return word;
}

NewMessage message_of(const Arguments& arguments) {
  NewMessage message;
  message.job_type = arguments.words.front();
  message.content_type = arguments.get("content-type").value_or(message.content_type);
  message.ordering_key = arguments.get("key").value_or("");
  message.correlation_id = arguments.get("corr").value_or("");
  message.delay = Millis(duration_ms_of(arguments, "delay", 0));
  if (arguments.has("expires-in"))
    message.expires_in = Millis(duration_ms_of(arguments, "expires-in", 0));
  if (const auto id = arguments.get("id")) {
    message.message_id = MessageId::parse(*id);
    if (!message.message_id) throw UsageError("--id is \"" + *id + "\"; it must be a UUID");
  }
  for (const std::string& header : arguments.all("header")) {
    const std::size_t colon = header.find(':');
    if (colon == std::string::npos || colon == 0) {
      throw UsageError("--header is \"" + header + "\"; it must be NAME:VALUE");
    }
    std::size_t value = colon + 1;
    while (value < header.size() && header[value] == ' ') ++value;
    message.headers.emplace_back(header.substr(0, colon), header.substr(value));
  }
  return message;
}

// Guarantee 15: payloads are for ids.
void warn_of_secrets(const Context& context, const std::string& payload) {
  const auto found = json::find_keys(payload, json::secret_key_patterns(), 3);
  for (const std::string& key : found) {
    context.say("warning: the payload's key \"" + printable(key) +
                "\" looks like a secret; rows are readable by many: send an id and look it up when "
                "the job runs");
  }
}

std::vector<Cell> message_cells(const MessageRow& row) {
  const auto time = [](const std::optional<DbTime>& t) { return t ? Cell(*t) : Cell(); };
  return {IdCell{to_int(row.id)},
          row.message_id.to_string(),
          row.job_type,
          row.view,
          Cell(row.occurred_at),
          std::int64_t{row.attempts},
          row.status == Status::pending ? Cell(row.available_at) : Cell(),
          row.ordering_key,
          row.correlation_id,
          row.payload_bytes,
          row.content_type,
          Cell(row.headers),
          row.claimed_by,
          time(row.locked_until),
          time(row.expires_at),
          time(row.dispatched_at),
          std::int64_t{row.life},
          row.claim_no,
          row.last_error};
}

const std::vector<Column> kMessageColumns = {{"id"},
                                             {"message_id"},
                                             {"job_type"},
                                             {"status"},
                                             {"occurred_at"},
                                             {"attempts"},
                                             {"available_at"},
                                             {"ordering_key"},
                                             {"correlation_id", true},
                                             {"payload_bytes", true},
                                             {"content_type", true},
                                             {"headers", true},
                                             {"claimed_by", true},
                                             {"locked_until", true},
                                             {"expires_at", true},
                                             {"dispatched_at", true},
                                             {"life", true},
                                             {"claim_no", true},
                                             {"last_error", true}};

Page page_of(const Arguments& arguments) {
  Page page;
  page.limit = static_cast<std::size_t>(number_of(arguments, "limit", 50, 1, 500));
  page.before = RowId(number_of(arguments, "before", INT64_MAX, 1, INT64_MAX));
  return page;
}

std::string next_members(const MessageList& list) {
  return "\"next\":" + (list.next ? "\"" + std::to_string(to_int(*list.next)) + "\"" : "null") +
         ",\"truncated\":" + (list.truncated ? "true" : "false");
}

std::string payload_member(const std::string& payload) {
  return core::utf8_length(payload) ? json::quoted(payload) : "null";
}

}  // namespace

std::string message_json(const MessageRow& row) {
  const std::vector<Cell> cells = message_cells(row);
  json::Writer writer;
  writer.begin_object();
  for (std::size_t i = 0; i < cells.size(); ++i)
    writer.key(kMessageColumns[i].key).raw(cell_json(cells[i]));
  writer.end_object();
  return writer.take();
}

int enqueue(Context& context, const Arguments& arguments) {
  NewMessage message = message_of(arguments);
  if (!arguments.has("ndjson")) {
    if (arguments.words.size() > 1) message.payload = payload_of(arguments.words[1]);
    warn_of_secrets(context, message.payload);
    write_out(context.admin().enqueue(message).to_string() + "\n");
    return kDone;
  }
  if (message.message_id) throw UsageError("--id and --ndjson: one id cannot serve many messages");
  if (arguments.words.size() > 1)
    throw UsageError("--ndjson reads payloads from standard input; leave out the payload");
  std::int64_t count = 0;
  std::int64_t number = 0;
  const Interrupt interrupt;
  Progress progress(context, "enqueued", 0);
  for (std::string line; !interrupt.asked() && std::getline(std::cin, line);) {
    ++number;
    if (line.empty()) continue;
    message.payload = std::move(line);
    try {
      static_cast<void>(context.admin().enqueue(message));
    } catch (const Error&) {
      context.say("stopped at line " + std::to_string(number) +
                  "; the lines before it were enqueued");
      throw;
    }
    progress.at(++count);
  }
  if (interrupt.asked()) {
    context.say("stopped after line " + std::to_string(number) +
                "; the lines up to it were enqueued");
    return kStoppedPartWay;
  }
  context.say("enqueued " + std::to_string(count));
  return kDone;
}

int list_messages(Context& context, const Arguments& arguments) {
  const MessageList list = context.admin().list(context.filter_of(arguments), page_of(arguments));
  Table table(kMessageColumns);
  for (const MessageRow& row : list.rows) table.add(message_cells(row));
  const DbTime now = context.style().terminal ? context.admin().overview().now : DbTime{};
  table.write(context.style(), now, next_members(list));
  if (list.truncated)
    context.say(
        "the search ended after the newest 10 000 rows; narrow it by id, key, type or status");
  if (list.next && context.style().format == Format::table) {
    context.say("more: --before " + std::to_string(to_int(*list.next)));
  }
  return kDone;
}

int show_message(Context& context, const Arguments& arguments) {
  const RowId id = context.resolve(arguments.words.front());
  const auto detail = context.admin().show(id, arguments.has("payload"));
  if (!detail)
    throw Error(ErrorKind::not_found, "PBX-6001", "there is no message " + arguments.words.front());
  if (arguments.has("payload") && context.style().format == Format::id) {
    write_out(detail->payload);
    return kDone;
  }
  const DbTime now = context.admin().overview().now;
  const std::vector<Cell> cells = message_cells(detail->row);
  Record record;
  for (std::size_t i = 0; i < cells.size(); ++i) record.add(kMessageColumns[i].key, cells[i]);
  Table attempts({{"life"},
                  {"attempt"},
                  {"outcome"},
                  {"ended_at"},
                  {"took_ms"},
                  {"code"},
                  {"error"},
                  {"claimed_by", true}});
  std::string attempts_json = "[";
  for (const AttemptRow& a : detail->attempts) {
    attempts.add({std::int64_t{a.life}, std::int64_t{a.attempt}, a.outcome, Cell(a.ended_at),
                  a.took_ms, a.code, a.error, a.claimed_by});
    json::Writer writer;
    writer.begin_object()
        .field("life", std::int64_t{a.life})
        .field("attempt", std::int64_t{a.attempt})
        .field("claim_no", a.claim_no)
        .field("claimed_by", a.claimed_by)
        .field("outcome", a.outcome)
        .key("started_at")
        .raw(a.started_at ? cell_json(Cell(*a.started_at)) : "null")
        .key("ended_at")
        .raw(cell_json(Cell(a.ended_at)))
        .field("took_ms", a.took_ms)
        .field("code", a.code)
        .field("error", a.error)
        .end_object();
    attempts_json += (attempts_json.size() > 1 ? "," : "") + writer.text();
  }
  record.add_json("attempts_history", attempts_json + "]");
  if (arguments.has("payload")) record.add_json("payload", payload_member(detail->payload));
  record.write(context.style(), now);
  if (context.style().format == Format::table || context.style().format == Format::tsv) {
    if (attempts.size() > 0) {
      write_out("\n");
      attempts.write(context.style(), now);
    }
    if (arguments.has("payload")) write_out("\n" + printable(detail->payload) + "\n");
  }
  return kDone;
}

int dead_list(Context& context, const Arguments& arguments) {
  const std::vector<DeadLetter> letters =
      context.admin().dead_letters(context.filter_of(arguments), page_of(arguments));
  Table table({{"id"},
               {"message_id", true},
               {"job_type"},
               {"reason"},
               {"attempts"},
               {"dead_at"},
               {"ordering_key"},
               {"holds_key", true},
               {"life", true},
               {"code", true},
               {"error"}});
  for (const DeadLetter& d : letters) {
    table.add({IdCell{to_int(d.id)}, d.message_id.to_string(), d.job_type,
               std::string(to_string(d.reason)), std::int64_t{d.attempts}, Cell(d.dead_at),
               d.ordering_key, d.holds_key, std::int64_t{d.life}, d.code, d.error});
  }
  table.write(context.style(),
              context.style().terminal ? context.admin().overview().now : DbTime{});
  if (!letters.empty() && context.style().format == Format::table) {
    context.say("What happened:  pillarbox show " + std::to_string(to_int(letters.front().id)) +
                "    By cause:  pillarbox dead groups");
  }
  return kDone;
}

int dead_groups(Context& context, const Arguments&) {
  Table table(
      {{"count"}, {"job_type"}, {"reason"}, {"error"}, {"first_at"}, {"last_at"}, {"sample"}});
  for (const DeadGroup& g : context.admin().dead_groups()) {
    table.add({g.count, g.job_type, std::string(to_string(g.reason)), g.error, Cell(g.first_at),
               Cell(g.last_at), IdCell{to_int(g.sample)}});
  }
  table.write(context.style(),
              context.style().terminal ? context.admin().overview().now : DbTime{});
  return kDone;
}

int dead_export(Context& context, const Arguments& arguments) {
  Filter filter = context.filter_of(arguments);
  filter.statuses = {Status::dead};
  Page page = page_of(arguments);
  page.limit = static_cast<std::size_t>(number_of(arguments, "limit", 500, 1, 500));
  for (;;) {
    const MessageList list = context.admin().list(filter, page);
    for (const MessageRow& row : list.rows) {
      const auto detail = context.admin().show(row.id, true);
      if (!detail) continue;
      std::string line = message_json(detail->row);
      line.pop_back();
      write_out(line + ",\"payload\":" + payload_member(detail->payload) + "}\n");
    }
    if (!list.next || arguments.has("limit")) return kDone;
    page.before = *list.next;
  }
}

}  // namespace pillarbox::cli
