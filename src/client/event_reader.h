// Server-sent events out of a byte stream that comes in any pieces (WHATWG HTML, section 9.2.6): lines
// end with LF, CRLF or CR, fields are `data` and comments (the others mean nothing here), an empty line
// ends an event, data lines are joined with LF.
//
// Holds at most kMostEventBytes of one event; more than that is an error that `overflowed` tells, and
// nothing is read any more. An event that the stream's end cuts off is told by `finish`: servers forget
// the last empty line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace paternoster::client {

inline constexpr std::size_t kMostEventBytes = std::size_t{8} << 20;

class EventReader {
 public:
  // Takes bytes; calls on_data(std::string_view) with the data of each event that ends in them. The
  // view is good for the call. on_data must not call back into the reader.
  template <typename OnData>
  void push(std::string_view bytes, OnData&& on_data) {
    while (!bytes.empty() && !overflowed_) {
      if (take_line(bytes) && take_event()) {
        on_data(std::string_view(data_));
        data_.clear();
      }
    }
  }

  // The stream is over.
  template <typename OnData>
  void finish(OnData&& on_data) {
    if (overflowed_) return;
    if (!line_.empty()) end_line();
    if (has_data_) {
      has_data_ = false;
      on_data(std::string_view(data_));
    }
    data_.clear();
  }

  bool overflowed() const { return overflowed_; }
  std::int64_t comments() const { return comments_; }

 private:
  // Moves one line, or what there is of it, from `bytes`. True: a line has ended.
  bool take_line(std::string_view& bytes);
  // The line in `line_` has ended. True: so has an event, whose data is in `data_`.
  bool take_event();
  void end_line();

  std::string line_;
  std::string data_;
  bool has_data_ = false;
  bool after_return_ = false;  // a LF that comes now belongs to the line before
  bool at_start_ = true;       // a byte order mark may come
  bool overflowed_ = false;
  std::int64_t comments_ = 0;
};

}  // namespace paternoster::client
