// The paths and what each of them answers.
#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/post.hpp>
#include <chrono>

#include "api/model_reply.h"
#include "base/json_writer.h"
#include "server/caller.h"
#include "server/page_files.h"
#include "server/service.h"

namespace paternoster::server {

using ConnectionRef = const std::shared_ptr<Connection>&;

struct Service::Route {
  std::string_view path;
  std::string_view methods;  // as in Allow
  Answer answer;
  bool open = false;  // needs no key
  bool prefix = false;
};

namespace {

constexpr std::string_view kGet = "GET, HEAD, OPTIONS";
constexpr std::string_view kPost = "POST, OPTIONS";
constexpr std::string_view kDelete = "DELETE, OPTIONS";
constexpr std::size_t kMostIdBytes = 128;

bool lists(std::string_view methods, std::string_view method) {
  for (std::size_t at = 0; at < methods.size();) {
    const std::size_t end = std::min(methods.find(", ", at), methods.size());
    if (methods.substr(at, end - at) == method) return true;
    at = end + 2;
  }
  return false;
}

bool is_json(std::string_view content_type) {
  const std::string_view type = content_type.substr(0, content_type.find(';'));
  constexpr std::string_view kJson = "application/json";
  return std::ranges::equal(type.substr(0, std::min(type.size(), type.find_last_not_of(' ') + 1)), kJson,
                            [](char a, char b) { return (a | 0x20) == (b | 0x20); });
}

// Fit for a header, a log line and a page.
bool is_good_id(std::string_view id) {
  return !id.empty() && id.size() <= kMostIdBytes && std::ranges::all_of(id, [](unsigned char c) {
    return c > 0x20 && c < 0x7F && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&';
  });
}

std::string hexadecimal(std::uint64_t value) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text(16, '0');
  for (std::size_t i = 16; i-- > 0; value >>= 4) text[i] = kDigits[value & 15];
  return text;
}

std::int64_t now_s() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

api::ApiError not_found(const std::string& path) {
  return api::other_error(404, "not_found_error", "not_found", "There is nothing at " + path + ".");
}

Response ok(std::string body) {
  Response response;
  response.body = std::move(body);
  return response;
}

}  // namespace

const Service::Route* Service::find_route(std::string_view path) {
  static constexpr Route kRoutes[] = {
      {"/v1/chat/completions", kPost, &Service::chat},
      {"/chat/completions", kPost, &Service::chat},
      {"/v1/completions", kPost, &Service::completions},
      {"/completions", kPost, &Service::completions},
      {"/v1/models", kGet, &Service::models},
      {"/models", kGet, &Service::models},
      {"/v1/models/", kGet, &Service::model, false, true},
      {"/models/", kGet, &Service::model, false, true},
      {"/v1/requests/", kDelete, &Service::cancel_request, false, true},
      {"/debug/requests", kGet, &Service::debug_requests},
      {"/tokenize", kPost, &Service::tokenize},
      {"/detokenize", kPost, &Service::detokenize},
      {"/health", kGet, &Service::health, true},
      {"/v1/health", kGet, &Service::health, true},
      {"/health/ready", kGet, &Service::health, true},
      {"/health/live", kGet, &Service::live_health, true},
      {"/metrics", kGet, &Service::metrics, true},
      {"/props", kGet, &Service::props},
      {"/live", kGet, &Service::live},
  };
  static constexpr Route kPage = {"", kGet, &Service::page, true};
  for (const Route& route : kRoutes) {
    if (route.path == path || (route.prefix && path.starts_with(route.path))) return &route;
  }
  return find_page_file(path) != nullptr ? &kPage : nullptr;
}

// What is wrong with a request that its head alone shows.
std::optional<api::ApiError> Service::fault_of(const HttpRequest& request) const {
  if (!guard_.allows(request.host, request.origin)) {
    return api::other_error(403, "permission_error", "forbidden",
                            "This Host or Origin may not use this server (see --allow-host).");
  }
  const Route* route = find_route(request.path);
  if (route == nullptr) return not_found(request.path);
  if (!lists(route->methods, request.method)) {
    return api::invalid_request(405, "method_not_allowed",
                   request.path + " takes " + std::string(route->methods) + " only.");
  }
  if (request.method == "OPTIONS") return {};
  if (!route->open && keys_.required() && keys_.find(request.authorization, request.api_key) == nullptr) {
    return api::other_error(401, "authentication_error", "invalid_api_key",
                            "A valid API key is needed: Authorization: Bearer KEY.");
  }
  if (request.method != "POST") return {};
  if (!is_json(request.content_type)) {
    return api::invalid_request(415, "unsupported_media_type",
                   "The body must be JSON: send Content-Type: application/json.");
  }
  if (draining_) return api::draining();
  return {};
}

void Service::name_request(Connection& connection, const HttpRequest& request) {
  static const std::uint64_t kStart = static_cast<std::uint64_t>(
      std::chrono::system_clock::now().time_since_epoch().count());
  // Odd multiples of consecutive numbers: all different, and not to be guessed at a glance.
  const std::uint64_t made = (kStart + ++named_) * 0x9E3779B97F4A7C15u;
  connection.record().request_id =
      is_good_id(request.request_id) ? request.request_id : hexadecimal(made);
}

std::optional<Response> Service::refuse_early(Connection& connection, const HttpRequest& request) {
  name_request(connection, request);
  const auto fault = fault_of(request);
  if (!fault) return {};
  connection.record().note = fault->code;
  Response response = error_response(*fault);
  if (fault->status == 405) {
    response.headers.emplace_back("Allow", std::string(find_route(request.path)->methods));
  }
  return response;
}

void Service::handle(ConnectionRef connection, HttpRequest&& request) {
  if (auto refusal = refuse_early(*connection, request)) {
    connection->respond(std::move(*refusal));
    return;
  }
  const Route* route = find_route(request.path);
  if (request.method == "OPTIONS") {
    Response response;
    response.status = 204;
    response.headers.emplace_back("Allow", std::string(route->methods));
    connection->respond(std::move(response));
    return;
  }
  (this->*route->answer)(connection, std::move(request));
}

void Service::chat(ConnectionRef connection, HttpRequest&& request) {
  generate(connection, request, api::parse_chat(request.body));
}

void Service::completions(ConnectionRef connection, HttpRequest&& request) {
  generate(connection, request, api::parse_completion(request.body));
}

void Service::generate(ConnectionRef connection, const HttpRequest& request, api::ApiResult<api::Ask> ask) {
  const auto refuse = [&](const api::ApiError& error) {
    connection->record().note = error.code;
    connection->respond(error_response(error));
  };
  if (!ask) return refuse(ask.error());
  counters_.unknown_fields.add(ask->unknown_fields);
  if (!is_served(card_, ask->model)) return refuse(api::model_not_found(ask->model));
  if (backend_.health().readiness == api::Readiness::kLoading) return refuse(api::loading());
  const KeyTerms* terms = keys_.required() ? keys_.find(request.authorization, request.api_key) : nullptr;
  auto standing = standing_of(ask->wish, request.caller, terms);
  if (!standing) return refuse(standing.error());
  if (terms != nullptr) {
    const auto now = Clock::now().time_since_epoch();
    const auto limit = limits_.begin(*terms, std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
    if (limit) return refuse(*limit);
  }
  for (api::Generation& generation : ask->generations) generation.standing = *standing;
  const std::string& id = connection->record().request_id;
  api::ReplyHeading heading;
  heading.route = ask->route;
  heading.id = (ask->route == api::Route::kChat ? "chatcmpl-" : "cmpl-") + id;
  heading.created_s = now_s();
  heading.model = ask->model.empty() ? card_.id : ask->model;
  exchanges_.begin(std::move(*ask), std::move(heading), connection, id);
}

void Service::models(ConnectionRef connection, HttpRequest&&) {
  connection->respond(ok(api::models_body(card_)));
}

void Service::model(ConnectionRef connection, HttpRequest&& request) {
  const std::string name = request.path.substr(request.path.find("models/") + 7);
  if (name.empty() || !is_served(card_, name)) {
    connection->respond(error_response(api::model_not_found(name)));
  } else {
    connection->respond(ok(api::model_body(card_, name)));
  }
}

// Runs `work` on the clerk's thread and answers with what it returns.
void Service::ask_clerk(ConnectionRef connection, std::function<api::ApiResult<std::string>()> work) {
  boost::asio::post(clerk_, [this, connection, work = std::move(work)] {
    auto result = work();
    boost::asio::post(context_, [connection, result = std::move(result)] {
      connection->respond(result ? ok(*result) : error_response(result.error()));
    });
  });
}

void Service::tokenize(ConnectionRef connection, HttpRequest&& request) {
  ask_clerk(connection, [this, body = std::move(request.body)]() -> api::ApiResult<std::string> {
    const auto ask = api::parse_tokenize(body);
    if (!ask) return std::unexpected(ask.error());
    const auto tokenized = backend_.tokenize(ask->prompt, ask->add_special_tokens,
                                             ask->with_pieces || ask->return_token_strs);
    if (!tokenized) return std::unexpected(tokenized.error());
    return api::tokenize_body(*ask, *tokenized, card_);
  });
}

void Service::detokenize(ConnectionRef connection, HttpRequest&& request) {
  ask_clerk(connection, [this, body = std::move(request.body)]() -> api::ApiResult<std::string> {
    const auto tokens = api::parse_detokenize(body);
    if (!tokens) return std::unexpected(tokens.error());
    const auto text = backend_.detokenize(*tokens);
    if (!text) return std::unexpected(text.error());
    return api::detokenize_body(*text);
  });
}

void Service::health(ConnectionRef connection, HttpRequest&&) {
  const api::Health state = backend_.health();
  if (draining_ || state.readiness == api::Readiness::kDraining) {
    connection->respond(error_response(api::draining()));
  } else if (state.readiness == api::Readiness::kLoading) {
    connection->respond(error_response(api::loading()));
  } else if (state.readiness == api::Readiness::kFailed) {
    connection->respond(error_response(
        api::other_error(503, "unavailable_error", "failed", "The engine has stopped working.")));
  } else if (state.readiness == api::Readiness::kStalled) {
    connection->respond(error_response(api::other_error(
        503, "unavailable_error", "stalled",
        "There is work, but no step has ended for " + std::to_string(state.last_step_age_ns / 1'000'000) + " ms.")));
  } else {
    std::string body;
    JsonObject object(body);
    object.field("status", "ok").field("running", state.running).field("waiting", state.waiting);
    if (state.last_step_age_ns < 0) {
      object.null("last_step_age_ms");
    } else {
      object.field("last_step_age_ms", state.last_step_age_ns / 1'000'000);
    }
    object.end();
    connection->respond(ok(std::move(body)));
  }
}

void Service::live_health(ConnectionRef connection, HttpRequest&&) {
  if (backend_.health().readiness == api::Readiness::kFailed) {
    connection->respond(error_response(
        api::other_error(503, "unavailable_error", "failed", "The engine has stopped working.")));
  } else {
    connection->respond(ok("{\"status\":\"ok\"}"));
  }
}

void Service::metrics(ConnectionRef connection, HttpRequest&&) {
  Response response;
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  response.body = metrics_.render();
  connection->respond(std::move(response));
}

void Service::props(ConnectionRef connection, HttpRequest&&) {
  connection->respond(ok(api::props_body(card_, backend_.health(), options_.version)));
}

void Service::live(ConnectionRef connection, HttpRequest&& request) {
  const Headers headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}};
  if (request.is_head()) {
    Response response;
    response.content_type = "text/event-stream";
    response.headers = headers;
    connection->respond(std::move(response));
    return;
  }
  connection->begin_stream("text/event-stream", headers);
  connection->stream(": the lift\n\n");
  connection->flush();
  watchers_.insert(connection.get());
  counters_.live_watchers.set(static_cast<double>(watchers_.size()));
  backend_.watch_live(true);
}

void Service::page(ConnectionRef connection, HttpRequest&& request) {
  const PageFile& file = *find_page_file(request.path);
  Response response;
  response.content_type = file.content_type;
  response.headers = {{"Cache-Control", "no-cache"},
                      {"ETag", std::string(file.etag)},
                      {"Content-Security-Policy",
                       "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'"}};
  if (request.if_none_match == file.etag) {
    response.status = 304;
  } else {
    response.body = std::string(file.bytes);
  }
  connection->respond(std::move(response));
}

}  // namespace paternoster::server
