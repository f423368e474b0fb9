// Routes about requests that are under way: DELETE /v1/requests/{id} and GET /debug/requests.
#include "api/request_status.h"
#include "base/json_writer.h"
#include "server/service.h"

namespace paternoster::server {
namespace {

Response json(std::string body) {
  Response response;
  response.body = std::move(body);
  return response;
}

// A request's id as it stands in X-Request-Id or, with its prefix, in an answer's `id`.
std::string_view bare_id(std::string_view id) {
  for (const std::string_view prefix : {"chatcmpl-", "cmpl-"}) {
    if (id.starts_with(prefix)) return id.substr(prefix.size());
  }
  return id;
}

}  // namespace

std::string Service::owner_of(const HttpRequest& request) const {
  const KeyTerms* terms = keys_.required() ? keys_.find(request.authorization, request.api_key) : nullptr;
  return terms == nullptr ? std::string() : terms->name;
}

void Service::cancel_request(const std::shared_ptr<Connection>& connection, HttpRequest&& request) {
  const std::string id = request.path.substr(request.path.find("requests/") + 9);
  const std::size_t stopped = exchanges_.stop(owner_of(request), bare_id(id));
  if (stopped == 0) {
    connection->respond(error_response(api::other_error(404, "not_found_error", "request_not_found",
                                                        "No request of yours with this id is under way.")));
    return;
  }
  std::string body;
  JsonObject(body).field("id", id).field("object", "request.cancelled").field("cancelled", true).end();
  connection->respond(json(std::move(body)));
}

void Service::debug_requests(const std::shared_ptr<Connection>& connection, HttpRequest&& request) {
  list_readers_.emplace_back(connection, owner_of(request));
  backend_.list_requests();
}

void Service::answer_debug(std::vector<api::RequestStatus>&& requests) {
  for (const auto& [connection, owner] : std::exchange(list_readers_, {})) {
    connection->respond(json(api::requests_body(requests, owner)));
  }
}

}  // namespace paternoster::server
