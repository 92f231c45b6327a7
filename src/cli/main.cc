// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <iostream>
#include <string>
#include <vector>

#include "cli/context.h"

namespace pillarbox::cli {
namespace {

int run(const std::vector<std::string>& words) {
  if (words.size() == 1 && words.front() == "--version") return run({"version"});
  const Parsed parsed = parse(words);
  if (!parsed.group.empty()) {
    write_out(group_text(parsed.group));
    return kDone;
  }
  if (parsed.command == nullptr) {
    write_out(overview_text());
    return words.empty() ? kUsage : kDone;
  }
  if (parsed.wants_help) {
    write_out(usage_of(*parsed.command));
    return kDone;
  }
  Context context(parsed.arguments);
  return parsed.command->run(context, parsed.arguments);
}

int fail(std::string_view what, std::string_view our_code, int code) {
  std::cerr << "pillarbox: " << printable(what) << " (" << our_code << ")\n";
  return code;
}

}  // namespace
}  // namespace pillarbox::cli

int main(int argc, char** argv) {
  namespace cli = pillarbox::cli;
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return cli::run({argv + 1, argv + argc});
  } catch (const cli::UsageError& error) {
    return cli::fail(error.what(), "PBX-6008", cli::kUsage);
  } catch (const cli::ConfigurationRefused& error) {
    std::cerr << "pillarbox: " << error.what() << '\n';
    return cli::kConfiguration;
  } catch (const cli::Declined& error) {
    return cli::fail(error.what(), "PBX-6009", cli::kDeclined);
  } catch (const pillarbox::Error& error) {
    const std::string doubt =
        error.in_doubt() ? "; nobody knows whether it was done: look before you repeat it" : "";
    return cli::fail(error.what() + doubt, error.code(), cli::exit_code_for(error));
  } catch (const std::exception& error) {
    return cli::fail(std::string("this is a defect, please report it: ") + error.what(), "PBX-6099",
                     cli::kFailed);
  }
}
