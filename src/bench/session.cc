#include "bench/session.h"

#include <boost/json.hpp>
#include <csignal>

#include "base/json_writer.h"
#include "client/ask.h"

namespace paternoster::bench {

namespace json = boost::json;

namespace {

constexpr std::int32_t kWarmUpStreams = 4;

std::string first_model(const std::string& body) {
  boost::system::error_code failed;
  const json::value value = json::parse(body, failed);
  const json::value* id = failed ? nullptr : value.find_pointer("/data/0/id", failed);
  return id != nullptr && id->is_string() ? std::string(id->get_string()) : std::string();
}

// What each request up to `last` asked for, to tell short answers.
std::map<std::uint64_t, std::int32_t> asked_tokens(const workload::Description& work, const PromptMaker& prompts,
                                                   std::uint64_t last) {
  std::map<std::uint64_t, std::int32_t> asked;
  auto source = workload::Source::create(work);
  if (!source) return asked;
  const bool closed = work.arrivals && work.arrivals->kind == workload::Arrivals::Kind::kClosed;
  while (const workload::Arrival* arrival = source->next()) {
    if (arrival->number > last) break;
    asked[arrival->number] = prompts.max_tokens(*arrival);
    source->take();
    if (closed) source->ended(0);
  }
  return asked;
}

}  // namespace

Session::Session(SessionOptions options) : options_(std::move(options)), signals_(context_) {}

Result<std::unique_ptr<Session>> Session::open(SessionOptions options) {
  std::unique_ptr<Session> session(new Session(std::move(options)));
  auto caller = client::Caller::create(session->context_, session->options_.server);
  if (!caller) return std::unexpected(caller.error());
  session->caller_ = std::move(*caller);
  if (auto named = session->name_model(); !named) return std::unexpected(named.error());
  if (auto made = session->make_prompts(); !made) return std::unexpected(made.error());
  if (session->options_.stop_on_interrupt) {
    session->signals_.add(SIGINT);
    session->signals_.async_wait([raw = session.get()](const boost::system::error_code& failed, int) {
      if (failed) return;
      raw->interrupted_ = true;
      raw->signals_.clear();  // a second Ctrl-C ends the program
      if (raw->running_ != nullptr) raw->running_->request_stop();
    });
  }
  return session;
}

Result<void> Session::name_model() {
  if (!options_.load.body.model.empty()) return {};
  client::Call call;
  call.method = "GET";
  call.path = "/v1/models";
  const auto answer = client::ask(context_, *caller_, std::move(call));
  if (!answer) return std::unexpected(answer.error());
  options_.load.body.model = first_model(answer->body);
  if (answer->status == 200 && !options_.load.body.model.empty()) return {};
  return failure(ErrorCode::kInvalidArgument,
                 to_string(options_.server.url) + "/v1/models names no model (status " +
                     std::to_string(answer->status) + "): name it with --model, a key with --api-key");
}

Result<void> Session::make_prompts() {
  if (!options_.prompts_file.empty()) {
    auto prompts = read_prompts(options_.prompts_file);
    if (!prompts) return std::unexpected(prompts.error());
    prompts_.emplace(std::move(*prompts));
    prompt_source_ = "file";
    return {};
  }
  const auto scale = ask_word_scale(context_, *caller_, options_.load.body);
  if (!scale) return std::unexpected(scale.error());
  prompts_.emplace(*scale);
  prompt_source_ = scale->source;
  return {};
}

Result<LoadResult> Session::play(const workload::Description& work, LoadOptions options,
                                 const std::function<void(const Progress&)>& report) {
  auto source = workload::Source::create(work);
  if (!source) return std::unexpected(source.error());
  Load load(context_, *caller_, *source, *prompts_, std::move(options));
  running_ = &load;
  LoadResult result = load.run(report);
  running_ = nullptr;
  return result;
}

Result<void> Session::warm_up(const workload::Description& work) {
  if (options_.warm_up == 0 || interrupted_) return {};
  workload::Description few = work;
  few.count = static_cast<std::size_t>(options_.warm_up);
  few.seed = work.seed + 0x5eed;  // other prompts: what it leaves in a cache helps nobody
  few.arrivals.emplace();
  few.arrivals->kind = workload::Arrivals::Kind::kClosed;
  few.arrivals->streams = std::min(kWarmUpStreams, options_.warm_up);
  LoadOptions options = options_.load;
  options.stop_sending_ns = 0;
  const auto result = play(few, options, {});
  if (!result) return std::unexpected(result.error());
  if (interrupted_) return failure(ErrorCode::kUnavailable, "stopped in the warm-up");
  for (const Sighting& sighting : result->sightings) {
    if (sighting.record.completed()) return {};
  }
  return failure(ErrorCode::kUnavailable, "no request of the warm-up was answered: " +
                                              result->sightings.front().record.error);
}

std::optional<std::int32_t> Session::count_tokens(const std::string& text) {
  client::Call call;
  call.path = "/tokenize";
  JsonObject object(call.body);
  object.field("model", model()).field("prompt", text).field("add_special_tokens", false);
  object.end();
  const auto answer = client::ask(context_, *caller_, std::move(call));
  if (!answer || answer->status != 200) return std::nullopt;
  boost::system::error_code failed;
  const json::value value = json::parse(answer->body, failed);
  const json::value* tokens = failed ? nullptr : value.find_pointer("/tokens", failed);
  if (tokens == nullptr || !tokens->is_array()) return std::nullopt;
  return static_cast<std::int32_t>(tokens->get_array().size());
}

std::string Session::metrics_text() {
  client::Call call;
  call.method = "GET";
  call.path = "/metrics";
  const auto answer = client::ask(context_, *caller_, std::move(call));
  return answer && answer->status == 200 ? answer->body : std::string();
}

Result<BenchRun> Session::run(const workload::Description& work, const std::string& label,
                              const std::function<void(const Progress&)>& report) {
  LoadOptions load = options_.load;
  load.keep_text = load.keep_text || options_.check_counts;
  MetricsWatch watch(context_, *caller_, options_.watch_period);
  if (options_.watch_period.count() > 0) watch.start();
  auto result = play(work, load, report);
  if (!result) return std::unexpected(result.error());
  ServerWatch server = watch.stop(options_.watch_period.count() > 0 ? metrics_text() : "");
  const std::uint64_t last = result->sightings.empty() ? 0 : result->sightings.back().record.id;
  const auto asked = asked_tokens(work, *prompts_, last);
  AnalysisOptions analysis;
  analysis.objectives = options_.objectives;
  analysis.seed = work.seed;
  analysis.exact_length = load.body.exact_length;
  analysis.asked_tokens = [&](const measure::RequestRecord& record) {
    const auto found = asked.find(record.id);
    return found == asked.end() ? 0 : found->second;
  };
  if (options_.check_counts) {
    analysis.count_tokens = [this](const std::string& text) { return count_tokens(text); };
  }
  BenchRun run = analyse(std::move(*result), analysis);
  run.label = label;
  run.server = std::move(server);
  const bool open = !work.arrivals || work.arrivals->kind != workload::Arrivals::Kind::kClosed;
  const bool timed = work.arrivals ? work.arrivals->kind != workload::Arrivals::Kind::kAtOnce : true;
  if (open && timed) run.offered_rate = work.arrivals ? work.rate : work.trace->rate() * work.speed;
  return run;
}

}  // namespace paternoster::bench
