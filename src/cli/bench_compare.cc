#include "cli/bench_compare.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "bench/compare.h"
#include "bench/run_json.h"
#include "base/json_writer.h"
#include "cli/failure.h"

namespace paternoster::cli {
namespace {

using bench::Comparison;
using bench::Difference;
using bench::Verdict;

void print(const bench::RecordedRun& before, const bench::RecordedRun& after, const Comparison& comparison) {
  fmt::print("{} -> {}\n", before.name, after.name);
  for (const std::string& line : comparison.unlike) fmt::print("Not the same work: {}\n", line);
  fmt::print("{:<20} {:>10} {:>10} {:>8}  {:>23}  {}\n", "", "before", "after", "change", "could be", "");
  int differ = 0;
  for (const Difference& one : comparison.differences) {
    const double relative = one.before != 0 ? 100 * (one.after - one.before) / one.before : 0;
    std::string range;
    if (one.interval) range = fmt::format("{:+.4g} .. {:+.4g}", one.interval->low, one.interval->high);
    fmt::print("{:<20} {:>10.4g} {:>10.4g} {:>+7.1f}%  {:>23}  {}\n", one.figure, one.before, one.after, relative,
               range, to_string(one.verdict));
    differ += one.verdict == Verdict::kBetter || one.verdict == Verdict::kWorse;
  }
  fmt::print("{}\n", differ == 0 ? "Nothing differs by more than chance."
                                 : fmt::format("{} of {} figures differ by more than chance within these runs. Another "
                                               "run of each would tell what changes from run to run.",
                                               differ, comparison.differences.size()));
}

std::string as_json(const Comparison& comparison) {
  std::string out;
  JsonObject object(out);
  std::string& list = object.key("differences");
  list += '[';
  for (const Difference& one : comparison.differences) {
    if (list.back() != '[') list += ',';
    JsonObject inner(list);
    inner.field("figure", one.figure).field("before", one.before).field("after", one.after);
    if (one.interval) inner.field("low", one.interval->low).field("high", one.interval->high);
    inner.field("verdict", to_string(one.verdict)).end();
  }
  list += ']';
  object.end();
  return out + "\n";
}

}  // namespace

int bench_compare(int argc, char** argv) {
  std::string before_path;
  std::string after_path;
  std::string json;
  CLI::App app("Tells what differs between two results of `paternoster bench --json` (or of vLLM's benchmark with "
               "--save-detailed) by more than chance.",
               "paternoster bench compare");
  app.add_option("before", before_path, "a result")->required();
  app.add_option("after", after_path, "another")->required();
  app.add_option("--json", json, "write the differences here");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return fail_call(app, error);
  }
  const auto before = bench::read_run(before_path);
  if (!before) return fail("bench compare", before.error());
  const auto after = bench::read_run(after_path);
  if (!after) return fail("bench compare", after.error());
  const Comparison comparison = bench::compare(*before, *after);
  print(*before, *after, comparison);
  if (json.empty()) return 0;
  const auto written = bench::write_file(json, as_json(comparison));
  return written ? 0 : fail("bench compare", written.error());
}

}  // namespace paternoster::cli
