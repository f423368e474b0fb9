#include "client/event_reader.h"

namespace paternoster::client {

bool EventReader::take_line(std::string_view& bytes) {
  if (after_return_) {
    after_return_ = false;
    if (bytes.front() == '\n') {
      bytes.remove_prefix(1);
      return false;
    }
  }
  const std::size_t end = bytes.find_first_of("\r\n");
  const std::string_view piece = bytes.substr(0, end);
  if (line_.size() + data_.size() + piece.size() > kMostEventBytes) {
    overflowed_ = true;
    return false;
  }
  line_ += piece;
  if (end == std::string_view::npos) {
    bytes = {};
    return false;
  }
  after_return_ = bytes[end] == '\r';
  bytes.remove_prefix(end + 1);
  return true;
}

bool EventReader::take_event() {
  if (!line_.empty()) {
    end_line();
    return false;
  }
  const bool ended = has_data_;
  has_data_ = false;
  if (!ended) data_.clear();
  return ended;
}

void EventReader::end_line() {
  std::string_view line = line_;
  if (at_start_ && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
  at_start_ = false;
  if (line.starts_with(':')) {
    ++comments_;
  } else if (line == "data" || line.starts_with("data:")) {
    line.remove_prefix(line.size() > 4 ? 5 : 4);
    if (line.starts_with(' ')) line.remove_prefix(1);
    if (has_data_) data_ += '\n';
    data_ += line;
    has_data_ = true;
  }
  line_.clear();
}

}  // namespace paternoster::client
