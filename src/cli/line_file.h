// Lines on their way to a file; whether all of them arrived is known at the end.
#pragma once

#include <fstream>
#include <string>

#include "base/result.h"

namespace paternoster::cli {

class LineFile {
 public:
  static Result<LineFile> create(const std::string& path) {
    LineFile file(path);
    if (!file.out_) return failure(ErrorCode::kUnavailable, "cannot write " + path);
    return file;
  }
  std::string& text() { return text_; }
  void flush(std::size_t above) {
    if (text_.size() < above) return;
    out_.write(text_.data(), static_cast<std::streamsize>(text_.size()));
    text_.clear();
  }
  Result<void> finish() {
    flush(0);
    out_.close();
    if (!out_) return failure(ErrorCode::kUnavailable, "cannot write all of " + path_);
    return {};
  }

 private:
  explicit LineFile(const std::string& path) : path_(path), out_(path, std::ios::binary) {}
  std::string path_;
  std::ofstream out_;
  std::string text_;
};

}  // namespace paternoster::cli
