#include "api/chat_messages.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

namespace paternoster::api {

namespace json = boost::json;

namespace {

constexpr std::array<std::string_view, 5> kRoles = {"system", "developer", "user", "assistant", "tool"};

void read_role(FieldReader& fields, Message& message) {
  fields.read("role", message.role);
  if (fields.failed()) return;
  if (std::ranges::find(kRoles, message.role) == kRoles.end()) {
    fields.fail_value("role", "must be one of system, developer, user, assistant, tool");
  }
  if (message.role == "developer") message.role = "system";
}

void add_part(FieldReader& fields, const json::value& value, std::string& content) {
  if (!value.is_object()) {
    fields.fail_value("content", "must be a string or a list of text parts");
    return;
  }
  FieldReader part(value.get_object());
  std::string type = "text";
  std::string text;
  part.read("type", type);
  if (type != "text") {
    fields.fail(unsupported_parameter(
        "messages", "Content parts of type `" + type + "` are not supported: only text is."));
    return;
  }
  if (!part.read("text", text)) {
    fields.fail_value("content", "has a text part without its `text`");
    return;
  }
  content += text;
}

void read_content(FieldReader& fields, bool may_be_absent, std::string& content) {
  const json::value* value = fields.find("content");
  if (value == nullptr) {
    if (!may_be_absent && !fields.failed()) fields.fail_value("content", "must be given");
  } else if (value->is_string()) {
    content.assign(value->get_string().data(), value->get_string().size());
  } else if (value->is_array()) {
    for (const json::value& part : value->get_array()) add_part(fields, part, content);
  } else {
    fields.fail_value("content", "must be a string or a list of text parts");
  }
}

// Members that some templates look at.
void read_extras(FieldReader& fields, Message& message) {
  json::object extras;
  for (const char* name : {"name", "tool_call_id", "reasoning_content"}) {
    std::string text;
    if (fields.read(name, text)) extras[name] = text;
  }
  if (const json::value* calls = fields.find("tool_calls")) {
    if (!calls->is_array()) fields.fail_value("tool_calls", "must be a list");
    extras["tool_calls"] = *calls;
  }
  if (!extras.empty()) message.extra_json = json::serialize(extras);
}

}  // namespace

void read_messages(FieldReader& fields, std::vector<Message>& messages) {
  const json::value* list = fields.find("messages");
  if (fields.failed()) return;
  if (list == nullptr || !list->is_array() || list->get_array().empty()) {
    fields.fail_value("messages", "must be a list of at least one message");
    return;
  }
  const json::array& array = list->get_array();
  messages.reserve(array.size());
  for (std::size_t i = 0; i < array.size(); ++i) {
    const std::string name = "messages[" + std::to_string(i) + "]";
    if (!array[i].is_object()) {
      fields.fail(invalid_value(name, "`" + name + "` must be an object."));
      return;
    }
    FieldReader inner(array[i].get_object(), name + ".");
    Message& message = messages.emplace_back();
    read_role(inner, message);
    read_content(inner, message.role == "assistant", message.content);
    read_extras(inner, message);
    if (inner.failed()) {
      fields.fail(inner.take_error());
      return;
    }
  }
}

}  // namespace paternoster::api
